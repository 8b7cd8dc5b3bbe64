"""A small change to weights."""

from pathlib import Path

import numpy as np
import pytest

from portico.adapters.embeddings.low_rank import DoesNotFit, adapted, write_change

RANDOM = np.random.default_rng(5)
UP = RANDOM.normal(0, 0.1, (6, 2)).astype(np.float32)
DOWN = RANDOM.normal(0, 0.1, (2, 4)).astype(np.float32)
WEIGHTS = {"a": RANDOM.normal(0, 1, (6, 4)).astype(np.float32), "b": np.ones(3, np.float32)}


def written(folder: Path, name: str = "a") -> Path:
    write_change(folder / "change.npz", {name: (UP, DOWN)})
    return folder / "change.npz"


def test_the_product_is_added_to_the_weight_of_its_name(tmp_path: Path) -> None:
    found = adapted(WEIGHTS, written(tmp_path))

    np.testing.assert_allclose(found["a"] - WEIGHTS["a"], UP @ DOWN, atol=5e-4)
    assert found["b"] is WEIGHTS["b"]


def test_what_was_given_stays_as_it_was(tmp_path: Path) -> None:
    before = WEIGHTS["a"].copy()

    adapted(WEIGHTS, written(tmp_path))

    np.testing.assert_array_equal(WEIGHTS["a"], before)


def test_a_change_of_nothing_is_nothing(tmp_path: Path) -> None:
    write_change(tmp_path / "c.npz", {"a": (np.zeros_like(UP), DOWN)})

    np.testing.assert_array_equal(adapted(WEIGHTS, tmp_path / "c.npz")["a"], WEIGHTS["a"])


@pytest.mark.parametrize("name", ["b", "elsewhere"])
def test_a_change_for_other_weights_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DoesNotFit, match=name):
        adapted(WEIGHTS, written(tmp_path, name))
