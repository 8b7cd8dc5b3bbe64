"""A BERT encoder as an ONNX model with weights of eight bits: tokens in, vectors of length one out.

Weights are rounded by output channel and to seven bits, so that processors whose eight-bit products
saturate compute the same as others; the table of words is rounded row by row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from portico.adapters.embeddings.encoder_folder import Pooling
from portico.adapters.embeddings.onnx_file import FLOAT, Graph

Weights = Mapping[str, NDArray[Any]]
INPUTS: Final = ("input_ids", "attention_mask")
OUTPUT: Final = "embedding"
_SEVEN_BITS, _EIGHT_BITS = 63, 127
_FAR_BELOW: Final = -1e9


@dataclass(frozen=True, slots=True)
class Shape:
    """What `config.json` says of a model."""

    layers: int
    heads: int
    width: int
    epsilon: float


def bert_model(weights: Weights, shape: Shape, pooling: Pooling) -> bytes:
    """Raises `KeyError` if a weight is missing."""
    return _Builder(weights, shape).model(pooling)


class _Builder:
    def __init__(self, weights: Weights, shape: Shape) -> None:
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
