"""A BERT of a few thousand random numbers, laid out as its makers would publish it."""

import json
from collections.abc import Mapping
from math import erf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH, HEADS, LAYERS, INNER, PLACES = 32, 4, 2, 64, 24
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "book", "a", "flight", "to", "rome", "send", "mail")
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": WIDTH,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": PLACES,
}
MEAN = {"pooling_mode_mean_tokens": True}
FIRST = {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}

Weights = dict[str, NDArray[np.float32]]


def weights(seed: int = 0) -> Weights:
    random = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    for layer in range(LAYERS):
        here = f"encoder.layer.{layer}"
        for name in ("query", "key", "value"):
            shapes[f"{here}.attention.self.{name}.weight"] = (WIDTH, WIDTH)
        shapes[f"{here}.attention.output.dense.weight"] = (WIDTH, WIDTH)
        shapes[f"{here}.intermediate.dense.weight"] = (INNER, WIDTH)
        shapes[f"{here}.output.dense.weight"] = (WIDTH, INNER)
    found = {
        name: random.normal(0, 0.2, shape).astype(np.float32) for name, shape in shapes.items()
    }
    for name in [name for name in shapes if not name.startswith("embeddings")]:
        bias = random.normal(0, 0.1, shapes[name][0]).astype(np.float32)
        found[name.replace(".weight", ".bias")] = bias
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        here = f"encoder.layer.{layer}"
        norms += [f"{here}.attention.output.LayerNorm", f"{here}.output.LayerNorm"]
    for norm in norms:
        found[f"{norm}.weight"] = random.normal(1, 0.1, WIDTH).astype(np.float32)
        found[f"{norm}.bias"] = random.normal(0, 0.1, WIDTH).astype(np.float32)
    return found


def expected(given: Weights, ids: list[int], *, first: bool = False) -> NDArray[np.float32]:
    """What the model makes of these tokens, computed plainly and exactly."""
    words = given["embeddings.word_embeddings.weight"][ids]
    places = given["embeddings.position_embeddings.weight"][: len(ids)]
    hidden = _normed(
        words + places + given["embeddings.token_type_embeddings.weight"][0],
        given,
        "embeddings.LayerNorm",
    )
    for layer in range(LAYERS):
        here = f"encoder.layer.{layer}"
        query, key, value = (
            _linear(hidden, given, f"{here}.attention.self.{name}")
            .reshape(len(ids), HEADS, -1)
            .transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        near = query @ key.transpose(0, 2, 1) / sqrt(WIDTH / HEADS)
        shares = np.exp(near - near.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        mixed = (shares @ value).transpose(1, 0, 2).reshape(len(ids), WIDTH)
        attended = _linear(mixed, given, f"{here}.attention.output.dense") + hidden
        middle = _normed(attended, given, f"{here}.attention.output.LayerNorm")
        inner = _gelu(_linear(middle, given, f"{here}.intermediate.dense"))
        outer = _linear(inner, given, f"{here}.output.dense") + middle
        hidden = _normed(outer, given, f"{here}.output.LayerNorm")
    vector: NDArray[np.float32] = hidden[0] if first else hidden.mean(0)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def publish(
    folder: Path,
    given: Mapping[str, NDArray[Any]] | None = None,
    *,
    pooling: Mapping[str, object] | None = MEAN,
    config: Mapping[str, object] | None = None,
) -> Path:
    """A folder as sentence-transformers writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **(config or {})}))
    (folder / "tokenizer.json").write_text(tokenizer())
    (folder / "model.safetensors").write_bytes(safetensors(given or weights()))
    (folder / "README.md").write_text("---\nlicense: mit\n---\nA tiny model.\n")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 16}))
    modules = [
        {"type": f"sentence_transformers.models.{kind}"} for kind in ("Transformer", "Pooling")
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    if pooling is not None:
        (folder / "1_Pooling").mkdir(exist_ok=True)
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder


def safetensors(given: Mapping[str, NDArray[Any]]) -> bytes:
    kinds = {"float32": "F32", "float16": "F16", "int64": "I64", "uint8": "U8"}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, array in given.items():
        raw = array.tobytes()
        header[name] = {
            "dtype": kinds[array.dtype.name],
            "shape": array.shape,
            "data_offsets": [len(body), len(body) + len(raw)],
        }
        body += raw
    told = json.dumps(header).encode()
    return len(told).to_bytes(8, "little") + told + body


def tokenizer(words: tuple[str, ...] = WORDS, *, special: bool = True) -> str:
    """Whole words; each text between [CLS] and [SEP]."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    made = Tokenizer(WordLevel({word: place for place, word in enumerate(words)}, "[UNK]"))
    made.normalizer = Lowercase()
    made.pre_tokenizer = Whitespace()
    if special:
        made.post_processor = TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    return made.to_str()


def _linear(values: NDArray[np.float32], given: Weights, name: str) -> NDArray[np.float32]:
    return values @ given[f"{name}.weight"].T + given[f"{name}.bias"]


def _normed(values: NDArray[np.float32], given: Weights, name: str) -> NDArray[np.float32]:
    centred = values - values.mean(-1, keepdims=True)
    return np.asarray(
        centred / np.sqrt(centred.var(-1, keepdims=True) + 1e-12) * given[f"{name}.weight"]
        + given[f"{name}.bias"],
        np.float32,
    )


def _gelu(values: NDArray[np.float32]) -> NDArray[np.float32]:
    bend = np.vectorize(lambda value: value * (1 + erf(value / sqrt(2))) / 2)
    return np.asarray(bend(values), np.float32)
