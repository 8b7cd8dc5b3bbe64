"""The files that weights come in, and small changes to weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import portico.bench
from portico.adapters.embeddings.low_rank import DoesNotFit, adapted, write_change
from portico.adapters.embeddings.pull import ADAPTER
from portico.adapters.embeddings.tensors import NotTensors, read_tensors
from tests.adapters.embeddings.tiny import safetensors

GIVEN: dict[str, NDArray[Any]] = {
    "half": np.arange(6, dtype=np.float16).reshape(2, 3),
    "single": np.array([1.5, -2.5], np.float32),
    "whole": np.array([[7]], np.int64),
    "nothing": np.zeros((0, 3), np.float32),
}


def test_what_was_written_is_read_by_name_with_its_shape_and_kind(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(safetensors(GIVEN))

    found = read_tensors(tmp_path / "w")

    assert found.keys() == GIVEN.keys()
    for name, array in GIVEN.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"PK\x03\x04 an archive, not tensors",
        (4).to_bytes(8, "little") + b"{{{{",
        (2).to_bytes(8, "little") + b"[]",
        (20).to_bytes(8, "little") + b'{"x": {"dtype": "F"}}'[:20],
        safetensors({"x": np.zeros(3, np.uint8)}),
        safetensors({"x": np.zeros(3, np.float32)})[:-1],
    ],
)
def test_what_is_not_whole_or_not_known_is_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "w").write_bytes(raw)

    with pytest.raises(NotTensors):
        read_tensors(tmp_path / "w")


@pytest.mark.parametrize("offsets", [[-4, 0], [0, 8], [4, 8], [0]])
def test_a_header_cannot_point_outside_of_the_file(tmp_path: Path, offsets: list[int]) -> None:
    header = f'{{"x": {{"dtype": "F32", "shape": [1], "data_offsets": {offsets}}}}}'.encode()
    (tmp_path / "w").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))

    with pytest.raises(NotTensors):
        read_tensors(tmp_path / "w")


RANDOM = np.random.default_rng(5)
UP = RANDOM.normal(0, 0.1, (6, 2)).astype(np.float32)
DOWN = RANDOM.normal(0, 0.1, (2, 4)).astype(np.float32)
WEIGHTS = {"a": RANDOM.normal(0, 1, (6, 4)).astype(np.float32), "b": np.ones(3, np.float32)}


def written(folder: Path, name: str = "a") -> Path:
    write_change(folder / "change.npz", {name: (UP, DOWN)})
    return folder / "change.npz"


def test_the_product_is_added_to_the_weight_of_its_name(tmp_path: Path) -> None:
    before = WEIGHTS["a"].copy()
    change = written(tmp_path)

    found = adapted(WEIGHTS, change)
    write_change(change, {"a": (np.zeros_like(UP), DOWN)})

    np.testing.assert_allclose(found["a"] - before, UP @ DOWN, atol=5e-4)
    assert found["b"] is WEIGHTS["b"]
    np.testing.assert_array_equal(adapted(WEIGHTS, change)["a"], before)


@pytest.mark.parametrize("name", ["b", "elsewhere"])
def test_a_change_for_other_weights_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DoesNotFit, match=name):
        adapted(WEIGHTS, written(tmp_path, name))


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
