"""Write an ONNX model, without the library for it: nodes, numbers, and where they go in and out.

The format is protobuf, of which only two forms occur here: a whole number, and a length with
bytes after it. Field numbers are those of onnx.proto3.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

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
