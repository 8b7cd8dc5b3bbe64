"""The model that we write, run by onnxruntime, beside the same computed plainly."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from portico.adapters.embeddings.bert_graph import Shape, bert_model
from portico.adapters.embeddings.encoder_folder import Pooling
from tests.adapters.embeddings import tiny

SHAPE = Shape(layers=tiny.LAYERS, heads=tiny.HEADS, width=tiny.WIDTH, epsilon=1e-12)


def run(weights: tiny.Weights, rows: list[list[int]], pooling: Pooling) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(bert_model(weights, SHAPE, pooling))
    longest = max(map(len, rows))
    ids = np.array([row + [0] * (longest - len(row)) for row in rows], np.int64)
    mask = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in rows], np.int64)
    found = session.run(None, {"input_ids": ids, "attention_mask": mask})
    return np.asarray(found[0], np.float32)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_rounded_weights_point_where_the_exact_ones_do(seed: int, pooling: Pooling) -> None:
    weights, ids = tiny.weights(seed), [2, 4, 5, 6, 7, 8, 3]

    [found] = run(weights, [ids], pooling)

    exact = tiny.expected(weights, ids, first=pooling == "first")
    assert found @ exact > 0.995
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)


def test_another_text_points_elsewhere() -> None:
    weights = tiny.weights()

    one, other = run(weights, [[2, 4, 5, 6, 3], [2, 9, 5, 10, 3]], "mean")

    assert one @ other < 0.99


def test_what_fills_up_a_row_does_not_count() -> None:
    weights, short, long = tiny.weights(), [2, 4, 3], [2, 4, 5, 6, 7, 8, 9, 3]

    [alone] = run(weights, [short], "mean")
    beside, _ = run(weights, [short, long], "mean")

    assert alone @ beside > 0.998


def test_a_weight_that_is_missing_is_named() -> None:
    weights = tiny.weights()
    del weights["encoder.layer.1.output.dense.bias"]

    with pytest.raises(KeyError, match=r"encoder\.layer\.1\.output\.dense\.bias"):
        bert_model(weights, SHAPE, "mean")


def test_weights_take_a_byte_each(tmp_path: Path) -> None:
    model = bert_model(tiny.weights(), SHAPE, "mean")

    numbers = sum(each.size for each in tiny.weights().values())
    assert len(model) < 2 * numbers + 20_000
