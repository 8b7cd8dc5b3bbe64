"""What ships to adapt MiniLM with: the one that users get, and those that the benchmark needs."""

from pathlib import Path

import numpy as np
import pytest

import portico.bench
from portico.adapters.embeddings.pull import ADAPTER

LAYERS, WIDTH, INNER, RANK = 6, 384, 1536, 8
SHAPES = {
    "attention.self.query": (WIDTH, WIDTH),
    "attention.self.key": (WIDTH, WIDTH),
    "attention.self.value": (WIDTH, WIDTH),
    "attention.output.dense": (WIDTH, WIDTH),
    "intermediate.dense": (INNER, WIDTH),
    "output.dense": (WIDTH, INNER),
}
HELD_OUT = sorted((Path(portico.bench.__file__).parent / "adapters").glob("*.npz"))


def test_there_is_one_for_each_set_that_was_held_out() -> None:
    assert [file.stem for file in HELD_OUT] == ["live", "meta", "seal"]


@pytest.mark.parametrize("file", [ADAPTER, *HELD_OUT], ids=lambda file: file.stem)
def test_it_changes_every_linear_map_a_little_and_is_small(file: Path) -> None:
    expected = {
        f"encoder.layer.{layer}.{name}.weight": shape
        for layer in range(LAYERS)
        for name, shape in SHAPES.items()
    }

    with np.load(file, allow_pickle=False) as parts:
        names = {key.rpartition(".")[0] for key in parts.files}
        found = {
            name: (parts[f"{name}.up"].astype(np.float32) * parts[f"{name}.scale"])
            @ parts[f"{name}.down"].astype(np.float32)
            for name in names
        }

    assert {name: change.shape for name, change in found.items()} == expected
    assert all(0 < np.abs(change).max() < 0.5 for change in found.values())
    assert file.stat().st_size < 400_000


def test_no_two_of_them_are_the_same() -> None:
    assert len({file.read_bytes() for file in (ADAPTER, *HELD_OUT)}) == 4
