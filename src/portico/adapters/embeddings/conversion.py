"""Convert a published encoder to an ONNX model with weights of eight bits."""

import json
import shutil
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from portico.adapters.embeddings.encoders import MODEL, TOKENIZER, NotTensors, Pooling, read_tensors

# Write an ONNX model, without the library for it: nodes, numbers, and where they go in and out.
#
# The format is protobuf, of which only two forms occur here: a whole number, and a length with
# bytes after it. Field numbers are those of onnx.proto3.

FLOAT: Final = 1
INT64: Final = 7
_KINDS: Final = {"float32": FLOAT, "uint8": 2, "int8": 3, "int64": INT64}
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE, _INTS_ATTRIBUTE = 1, 2, 7
_OPERATORS: Final = 20
"""The set of operators; the first that has Gelu."""
_FORMAT: Final = 10

Attribute = int | float | Sequence[int]


@dataclass(slots=True)
class Graph:
    """Grows node by node; what adds to it gives back the name of what it made."""

    _nodes: list[bytes] = field(default_factory=list)
    _numbers: dict[str, bytes] = field(default_factory=dict)

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """Once, however often it is asked for."""
        if name not in self._numbers:
            self._numbers[name] = _tensor(name, array)
        return name

    def node(
        self, operator: str, inputs: Sequence[str], output: str, **attributes: Attribute
    ) -> str:
        self.nodes(operator, inputs, [output], **attributes)
        return output

    def nodes(
        self, operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Attribute
    ) -> None:
        told = [_text(1, name) for name in inputs] + [_text(2, name) for name in outputs]
        told += [_text(3, outputs[0]), _text(4, operator)]
        told += [_part(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join(told))

    def model(self, inputs: Iterable[str], output: str, dimensions: int) -> bytes:
        """`inputs` are whole numbers by text and place, `output` is a vector a text."""
        told = [_part(1, node) for node in self._nodes] + [_text(2, "encoder")]
        told += [_part(5, tensor) for tensor in self._numbers.values()]
        told += [_part(11, _value(name, INT64, ["texts", "places"])) for name in inputs]
        told.append(_part(12, _value(output, FLOAT, ["texts", dimensions])))
        operators = _text(1, "") + _number(2, _OPERATORS)
        return (
            _number(1, _FORMAT)
            + _text(2, "portico")
            + _part(7, b"".join(told))
            + _part(8, operators)
        )


def _tensor(name: str, array: NDArray[Any]) -> bytes:
    dimensions = b"".join(_number(1, size) for size in array.shape)
    kind = _number(2, _KINDS[array.dtype.name])
    return dimensions + kind + _text(8, name) + _part(9, np.ascontiguousarray(array).tobytes())


def _attribute(name: str, value: Attribute) -> bytes:
    match value:
        case int():
            return _text(1, name) + _number(3, value) + _number(20, _INT_ATTRIBUTE)
        case float():
            return _text(1, name) + _float(2, value) + _number(20, _FLOAT_ATTRIBUTE)
        case _:
            several = b"".join(_number(8, each) for each in value)
            return _text(1, name) + several + _number(20, _INTS_ATTRIBUTE)


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = [_number(1, size) if isinstance(size, int) else _text(2, size) for size in shape]
    tensor = _number(1, kind) + _part(2, b"".join(_part(1, size) for size in sizes))
    return _text(1, name) + _part(2, _part(1, tensor))


def _text(number: int, value: str) -> bytes:
    return _part(number, value.encode())


def _part(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value & (1 << 64) - 1)


def _float(number: int, value: float) -> bytes:
    return _varint(number << 3 | 5) + struct.pack("<f", value)


def _varint(value: int) -> bytes:
    told = bytearray()
    while value > 0x7F:
        told.append(value & 0x7F | 0x80)
        value >>= 7
    told.append(value)
    return bytes(told)


# A BERT encoder as an ONNX model with weights of eight bits: tokens in, vectors of length one out.
#
# Weights are rounded by output channel and to seven bits, so that processors whose eight-bit
# products saturate compute the same as others; the table of words is rounded row by row.

Weights = Mapping[str, NDArray[Any]]
INPUTS: Final = ("input_ids", "attention_mask")
OUTPUT: Final = "embedding"
_SEVEN_BITS, _EIGHT_BITS = 63, 127
_FAR_BELOW: Final = -1e9


@dataclass(frozen=True, slots=True)
class ModelDimensions:
    """What `config.json` says of a model."""

    layers: int
    heads: int
    width: int
    epsilon: float


def bert_model(weights: Weights, shape: ModelDimensions, pooling: Pooling) -> bytes:
    """Raises `KeyError` if a weight is missing."""
    return _Builder(weights, shape).model(pooling)


class _Builder:
    def __init__(self, weights: Weights, shape: ModelDimensions) -> None:
        self._weights = weights
        self._shape = shape
        self._graph = Graph()

    def model(self, pooling: Pooling) -> bytes:
        mask = self._graph.node("Cast", ["attention_mask"], "mask", to=FLOAT)
        hidden = self._words()
        hidden_mask = self._hidden_mask(mask)
        for layer in range(self._shape.layers):
            hidden = self._layer(layer, hidden, hidden_mask)
        one = self._first(hidden) if pooling == "first" else self._mean(hidden, mask)
        self._graph.node("LpNormalization", [one], OUTPUT, axis=-1, p=2)
        return self._graph.model(INPUTS, OUTPUT, self._shape.width)

    def _words(self) -> str:
        graph, whole = self._graph, self._float
        table, scales = _rounded(whole("embeddings.word_embeddings.weight"), 1, _EIGHT_BITS)
        coarse = graph.node("Gather", [graph.constant("words", table), "input_ids"], "word_bits")
        fine = graph.node(
            "Gather", [graph.constant("word_scales", scales), "input_ids"], "word_scale"
        )
        wide = graph.node("Cast", [coarse], "word_wide", to=FLOAT)
        words = graph.node("Mul", [wide, fine], "word")
        shape = graph.node("Shape", ["input_ids"], "shape")
        count = graph.node("Gather", [shape, self._whole("second", [1])], "count", axis=0)
        places = whole("embeddings.position_embeddings.weight")
        places = places + whole("embeddings.token_type_embeddings.weight")[0]
        zero = self._whole("zero", [0])
        used = graph.node("Slice", [graph.constant("places", places), zero, count, zero], "place")
        return self._normed(graph.node("Add", [words, used], "start"), "embeddings.LayerNorm")

    def _hidden_mask(self, mask: str) -> str:
        """Added to attention: nothing where there is a token, far below zero elsewhere."""
        graph = self._graph
        one = graph.constant("one", np.array(1, np.float32))
        far = graph.constant("far", np.array(_FAR_BELOW, np.float32))
        spread = graph.node("Unsqueeze", [mask, self._whole("middle", [1, 2])], "mask_spread")
        absent = graph.node("Sub", [one, spread], "mask_absent")
        return graph.node("Mul", [absent, far], "mask_added")

    def _layer(self, layer: int, hidden: str, mask: str) -> str:
        graph, here, own = self._graph, f"encoder.layer.{layer}", f"layer{layer}_"
        attended = self._attention(here, own, hidden, mask)
        summed = graph.node("Add", [attended, hidden], f"{own}attended")
        middle = self._normed(summed, f"{here}.attention.output.LayerNorm")
        inner = self._linear(middle, [f"{here}.intermediate.dense"], f"{own}inner")
        bent = graph.node("Gelu", [inner], f"{own}bent")
        outer = self._linear(bent, [f"{here}.output.dense"], f"{own}outer")
        return self._normed(
            graph.node("Add", [outer, middle], f"{own}sum"), f"{here}.output.LayerNorm"
        )

    def _attention(self, here: str, own: str, hidden: str, mask: str) -> str:
        graph, names = self._graph, ("query", "key", "value")
        all_three = self._linear(
            hidden, [f"{here}.attention.self.{name}" for name in names], f"{own}three"
        )
        parts = [f"{own}{name}" for name in names]
        graph.nodes("Split", [all_three], parts, axis=2, num_outputs=3)
        query, key, value = (
            self._heads(part, order)
            for part, order in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True)
        )
        scale = np.array(1 / sqrt(self._shape.width / self._shape.heads), np.float32)
        near = graph.node("MatMul", [query, key], f"{own}near")
        scaled = graph.node("Mul", [near, graph.constant("scale", scale)], f"{own}scaled")
        masked = graph.node("Add", [scaled, mask], f"{own}masked")
        shares = graph.node("Softmax", [masked], f"{own}shares", axis=-1)
        mixed = graph.node("MatMul", [shares, value], f"{own}mixed")
        turned = graph.node("Transpose", [mixed], f"{own}turned", perm=[0, 2, 1, 3])
        together = self._whole("together", [0, 0, self._shape.width])
        joined = graph.node("Reshape", [turned, together], f"{own}joined")
        return self._linear(joined, [f"{here}.attention.output.dense"], f"{own}output")

    def _heads(self, part: str, order: list[int]) -> str:
        shape = self._shape
        split = self._whole("by_head", [0, 0, shape.heads, shape.width // shape.heads])
        reshaped = self._graph.node("Reshape", [part, split], f"{part}_heads")
        return self._graph.node("Transpose", [reshaped], f"{part}_turned", perm=order)

    def _linear(self, source: str, names: list[str], output: str) -> str:
        """The linear maps of these names side by side, as one product of whole numbers."""
        graph = self._graph
        matrix = np.concatenate([self._float(f"{name}.weight") for name in names]).T
        bias = np.concatenate([self._float(f"{name}.bias") for name in names])
        bits, scales = _rounded(matrix, 0, _SEVEN_BITS)
        coarse, step, zero = (f"{output}_{part}" for part in ("bits", "step", "zero"))
        graph.nodes("DynamicQuantizeLinear", [source], [coarse, step, zero])
        held = graph.constant(f"{output}_weight", bits)
        product = graph.node("MatMulInteger", [coarse, held, zero], f"{output}_product")
        wide = graph.node("Cast", [product], f"{output}_wide", to=FLOAT)
        scale = graph.node(
            "Mul", [step, graph.constant(f"{output}_scales", scales[0])], f"{output}_scale"
        )
        scaled = graph.node("Mul", [wide, scale], f"{output}_scaled")
        return graph.node("Add", [scaled, graph.constant(f"{output}_bias", bias)], output)

    def _normed(self, source: str, name: str) -> str:
        graph = self._graph
        gain = graph.constant(f"{name}.gain", self._float(f"{name}.weight"))
        shift = graph.constant(f"{name}.shift", self._float(f"{name}.bias"))
        return graph.node(
            "LayerNormalization",
            [source, gain, shift],
            f"{source}_normed",
            axis=-1,
            epsilon=self._shape.epsilon,
        )

    def _first(self, hidden: str) -> str:
        nothing = self._graph.constant("first", np.array(0, np.int64))
        return self._graph.node("Gather", [hidden, nothing], "pool_first", axis=1)

    def _mean(self, hidden: str, mask: str) -> str:
        graph, along = self._graph, self._whole("along", [1])
        weight = graph.node("Unsqueeze", [mask, self._whole("last", [2])], "pool_mask")
        kept = graph.node("Mul", [hidden, weight], "pool_kept")
        total = graph.node("ReduceSum", [kept, along], "pool_total", keepdims=0)
        count = graph.node("ReduceSum", [weight, along], "pool_count", keepdims=0)
        return graph.node("Div", [total, count], "pool_mean")

    def _float(self, name: str) -> NDArray[np.float32]:
        return np.asarray(self._weights[name], np.float32)

    def _whole(self, name: str, values: list[int]) -> str:
        return self._graph.constant(name, np.array(values, np.int64))


def _rounded(
    matrix: NDArray[np.float32], axis: int, most: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Whole numbers up to `most`, and what each line along `axis` is to be multiplied with."""
    largest = np.abs(matrix).max(axis=axis, keepdims=True)
    scales = np.where(largest > 0, largest / most, 1).astype(np.float32)
    return np.rint(matrix / scales).astype(np.int8), scales


# A small change to an encoder's weights, learnt: for each matrix two narrow ones to add to it.
#
# The file is numpy's `.npz`: `NAME.down` and `NAME.up` of eight bits, and `NAME.scale`, what their
# product is multiplied with, a number for each of the narrow lines between them.


class DoesNotFit(Exception):
    """The change was learnt for other weights than these."""


def adapted(weights: Weights, change: Path) -> dict[str, NDArray[Any]]:
    """`weights` with the change added to them. Raises `DoesNotFit`."""
    found = dict(weights)
    with np.load(change, allow_pickle=False) as parts:
        for name in {key.rpartition(".")[0] for key in parts.files}:
            down, up, scale = (parts[f"{name}.{part}"] for part in ("down", "up", "scale"))
            added = (up.astype(np.float32) * scale.astype(np.float32)) @ down.astype(np.float32)
            if name not in found or found[name].shape != added.shape:
                raise DoesNotFit(f"there is no matrix {name} of {added.shape}")
            found[name] = found[name].astype(np.float32) + added
    return found


def write_change(
    file: Path, changes: Mapping[str, tuple[NDArray[np.float32], NDArray[np.float32]]]
) -> None:
    """Of pairs (up, down), by the name of the weight that their product is added to."""
    parts: dict[str, Any] = {}
    for name, (up, down) in changes.items():
        up_scale = np.abs(up).max(axis=0) / 127
        down_scale = np.abs(down).max(axis=1) / 127
        parts[f"{name}.up"] = _bits(up, up_scale[None, :])
        parts[f"{name}.down"] = _bits(down, down_scale[:, None])
        parts[f"{name}.scale"] = (up_scale * down_scale).astype(np.float32)
    np.savez_compressed(file, **parts)


def _bits(matrix: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.int8]:
    return np.rint(matrix / np.where(scale > 0, scale, 1)).astype(np.int8)


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
        shape = ModelDimensions(
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
