"""From a model as its makers publish it to a folder that can be run here."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from portico.adapters.embeddings.bert_graph import Shape, bert_model
from portico.adapters.embeddings.encoder_folder import MODEL, TOKENIZER, Pooling
from portico.adapters.embeddings.low_rank import DoesNotFit, adapted
from portico.adapters.embeddings.tensors import NotTensors, read_tensors

WEIGHTS: Final = "model.safetensors"
MODELS: Final = ("model.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx")
"""Where a published model may lie that can be run as it is."""
PAPERS: Final = (
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "README.md",
)
"""What says more of a model than its `config.json`, if it is there."""
_PARTS: Final = frozenset({"Transformer", "Pooling", "Normalize"})
_LONGEST: Final = 512


class NotConvertible(Exception):
    """Not a model that we can run; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    dimensions: int
    max_tokens: int
    pooling: Pooling
    licence: str


def convert(source: Path, target: Path, change: Path | None = None) -> Facts:
    """Write `target`'s model and tokenizer. Raises `NotConvertible`."""
    config = read_config(source)
    _has_only_known_parts(source)
    facts = Facts(
        dimensions=int(config.get("hidden_size", 0)),
        max_tokens=_max_tokens(source, config),
        pooling=_pooling(source),
        licence=_licence(source),
    )
    if not (source / TOKENIZER).is_file():
        raise NotConvertible(f"it has no {TOKENIZER}")
    shutil.copyfile(source / TOKENIZER, target / TOKENIZER)
    if is_bert(config) and (source / WEIGHTS).is_file():
        model = _converted(source / WEIGHTS, config, facts.pooling, change)
        (target / MODEL).write_bytes(model)
        return Facts(
            dimensions=facts.dimensions,
            max_tokens=facts.max_tokens,
            pooling="graph",
            licence=facts.licence,
        )
    ready = next((source / name for name in MODELS if (source / name).is_file()), None)
    if ready is None:
        raise NotConvertible("it is no BERT, and has no ONNX model")
    shutil.copyfile(ready, target / MODEL)
    return facts


def read_config(source: Path) -> Mapping[str, Any]:
    """Raises `NotConvertible`."""
    config = _read(source / "config.json")
    if not isinstance(config, dict):
        raise NotConvertible("its config.json is no object")
    return config


def is_bert(config: Mapping[str, Any]) -> bool:
    return config.get("model_type") == "bert" and config.get("hidden_act") == "gelu"


def _converted(
    file: Path, config: Mapping[str, Any], pooling: Pooling, change: Path | None
) -> bytes:
    try:
        shape = Shape(
            layers=int(config["num_hidden_layers"]),
            heads=int(config["num_attention_heads"]),
            width=int(config["hidden_size"]),
            epsilon=float(config["layer_norm_eps"]),
        )
        weights = {name.removeprefix("bert."): each for name, each in read_tensors(file).items()}
        return bert_model(adapted(weights, change) if change else weights, shape, pooling)
    except KeyError as error:
        raise NotConvertible(f"{error} is missing") from error
    except (NotTensors, DoesNotFit) as error:
        raise NotConvertible(str(error)) from error


def _has_only_known_parts(source: Path) -> None:
    modules = _read(source / "modules.json", [])
    kinds = {str(each.get("type", "")).rpartition(".")[2] for each in modules}
    if strange := kinds - _PARTS:
        raise NotConvertible(f"it has parts that are not run here: {', '.join(sorted(strange))}")


def _max_tokens(source: Path, config: Mapping[str, Any]) -> int:
    own = _read(source / "sentence_bert_config.json", {}).get("max_seq_length")
    return int(own or min(int(config.get("max_position_embeddings", _LONGEST)), _LONGEST))


def _pooling(source: Path) -> Pooling:
    told = _read(source / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    if told.get("pooling_mode_mean_tokens") or told.get("pooling_mode") == "mean":
        return "mean"
    if told.get("pooling_mode_cls_token") or told.get("pooling_mode") == "cls":
        return "first"
    raise NotConvertible("it makes one vector of many in a way that is not known here")


def _licence(source: Path) -> str:
    """As the model's card says it at its head."""
    card = source / "README.md"
    head = card.read_text(encoding="utf-8", errors="replace")[:5000] if card.is_file() else ""
    lines = (line.partition(":") for line in head.splitlines())
    found = (value.strip() for key, _, value in lines if key.strip() == "license")
    return next(found, "unknown")


def _read(file: Path, default: Any = None) -> Any:  # noqa: ANN401 # JSON
    try:
        return json.loads(file.read_bytes())
    except FileNotFoundError:
        if default is not None:
            return default
        raise NotConvertible(f"it has no {file.name}") from None
    except ValueError as error:
        raise NotConvertible(f"its {file.name} is not JSON") from error
