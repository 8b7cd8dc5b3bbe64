"""Read a safetensors file: a length, a JSON header, and the numbers, looked at where they lie."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_KINDS: Final[Mapping[str, str]] = {"F16": "<f2", "F32": "<f4", "I64": "<i8"}
_LONGEST_HEADER: Final = 10_000_000


class NotTensors(Exception):
    """The file is not of this format, or holds a kind of number that we have no use for."""


def read_tensors(file: Path) -> dict[str, NDArray[Any]]:
    """By name; nothing is read from the disk before it is used. Raises `NotTensors`."""
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= _LONGEST_HEADER:
            raise NotTensors(f"{file.name} has no header")
        header = _header(stream.read(length), file)
    start = 8 + length
    size = file.stat().st_size
    return {
        name: _tensor(file, start, size, name, entry)
        for name, entry in header.items()
        if name != "__metadata__"
    }


def _header(raw: bytes, file: Path) -> dict[str, Any]:
    try:
        header = json.loads(raw)
    except ValueError as error:
        raise NotTensors(f"{file.name} has no header") from error
    if not isinstance(header, dict):
        raise NotTensors(f"{file.name} has no header")
    return header


def _tensor(file: Path, start: int, size: int, name: str, entry: Any) -> NDArray[Any]:  # noqa: ANN401 # JSON
    try:
        kind, shape = _KINDS[entry["dtype"]], tuple(map(int, entry["shape"]))
        first, last = map(int, entry["data_offsets"])
    except (KeyError, TypeError, ValueError) as error:
        raise NotTensors(f"{file.name}: {name} is of a kind that is not read here") from error
    count = int(np.prod(shape, dtype=np.int64))
    if last - first != count * np.dtype(kind).itemsize or first < 0 or start + last > size:
        raise NotTensors(f"{file.name}: {name} is not all there")
    if count == 0:
        return np.zeros(shape, kind)
    return np.memmap(file, kind, "r", start + first, shape)
