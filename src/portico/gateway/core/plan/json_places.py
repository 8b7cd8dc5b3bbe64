"""Where in a JSON text each value stands, so that a fault can be shown there."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.kernel.json import pointed

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


@dataclass(slots=True)
class _Open:
    """A list or an object that is being gone through."""

    pointer: str
    number: int | None
    """Of the item in a list; None in an object."""
    member: str | None = None
    """The pointer of the member in an object, once its name has been seen."""


@dataclass(frozen=True, slots=True)
class Places:
    starts: Mapping[str, int]
    """By JSON pointer: where the member's name begins, or the item."""
    twice: Sequence[tuple[str, int]] = ()
    """Members whose name was there before in the same object, and where."""


def json_places(text: str) -> Places:
    """Of a text that is JSON: it is not looked at whether it is."""
    starts: dict[str, int] = {"": 0}
    twice: list[tuple[str, int]] = []
    stack: list[_Open] = []
    for token in _TOKEN.finditer(text):
        word, at = token[0], token.start()
        top = stack[-1] if stack else None
        if top is not None and top.number is None and top.member is None and word[0] == '"':
            top.member = pointed(top.pointer, json.loads(word))
            if top.member in starts:
                twice.append((top.member, at))
            starts[top.member] = at
        elif word == ",":
            _next(stack[-1])
        elif word in "}]":
            stack.pop()
        elif word != ":":
            pointer = _here(top, starts, at)
            if word in "{[":
                stack.append(_Open(pointer, 0 if word == "[" else None))
    return Places(starts, twice)


def _next(top: _Open) -> None:
    top.member = None
    if top.number is not None:
        top.number += 1


def _here(top: _Open | None, starts: dict[str, int], at: int) -> str:
    if top is None:
        starts[""] = at
        return ""
    if top.number is None:
        return top.member or ""
    pointer = f"{top.pointer}/{top.number}"
    starts[pointer] = at
    return pointer
