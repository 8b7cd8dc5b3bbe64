"""Reading the files that weights come in."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

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
