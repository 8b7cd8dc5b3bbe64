"""One table in a file of TOML: put in and taken out, however it is written there.

It is added as a table of its own at the end of the file, which TOML allows wherever its siblings
are, or between the braces that its siblings stand in.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from portico.gateway.core.connecting.toml_places import Statement, pairs, statements
from portico.gateway.core.connecting.trace import Edited, Trace, cut, newline_of
from portico.kernel.json import JsonObject, JsonValue

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_EMPTY_LINE: Final = re.compile(r"(?:(?<=\n)|\A)\r?\n\Z")
_TWO_ENDS: Final = re.compile(r"(?:\r?\n){1,2}\Z")
_FIRST_EMPTY: Final = re.compile(r"\A\r?\n")


def put_in(text: str, names: Sequence[str], value: JsonObject) -> Edited:
    """`names` lead to it; what is there of them is a table."""
    holder = _holder(text, names)
    if holder is not None:
        return _put_between(text, holder, names, value)
    newline = newline_of(text)
    lines = [f"[{'.'.join(map(_key, names))}]"]
    lines += [f"{_key(name)} = {_written(each)}" for name, each in value.items()]
    lead = newline if text.endswith("\n") else newline * 2
    ends = newline if not text or text.endswith("\n") else ""
    body = newline.join(lines) + ends
    return Edited(text + (lead if text else "") + body, Trace())


def take_out(text: str, names: Sequence[str], trace: Trace) -> str:
    """As it is if there is no such thing."""
    holder = _holder(text, names)
    if holder is not None:
        return _take_from_between(text, holder, names, trace)
    for first, last in reversed(list(_runs(text, names))):
        text = _without_lines(text, first, last.end)
    return text


def _holder(text: str, names: Sequence[str]) -> int | None:
    """The brace in which the siblings stand, if they do."""
    for each in statements(text):
        if each.value is not None and each.path == tuple(names[:-1]):
            return each.value
    return None


def _put_between(text: str, brace: int, names: Sequence[str], value: JsonObject) -> Edited:
    found, close = pairs(text, brace)
    pair = f"{_key(names[-1])} = {_written(value)}"
    if found:
        return Edited(cut(text, [(found[-1].end, found[-1].end, f", {pair}")]), Trace())
    inside = text[brace + 1 : close]
    return Edited(cut(text, [(brace + 1, close, f" {pair} ")]), Trace(inside=inside))


def _take_from_between(text: str, brace: int, names: Sequence[str], trace: Trace) -> str:
    found, close = pairs(text, brace)
    own = [number for number, each in enumerate(found) if each.path[:1] == tuple(names[-1:])]
    if len(own) == len(found):
        return cut(text, [(brace + 1, close, trace.inside)]) if own else text
    for number in reversed(own):
        pair = found[number]
        if number:
            text = cut(text, [(found[number - 1].end, pair.end, "")])
        else:
            text = cut(text, [(pair.key, pairs(text, brace)[0][1].key, "")])
    return text


def _runs(text: str, names: Sequence[str]) -> Iterator[tuple[Statement, Statement]]:
    """The first and the last of statements that follow each other and are all about it."""
    wanted = tuple(names)
    for ours, run in groupby(statements(text), lambda it: it.path[: len(wanted)] == wanted):
        if ours:
            each = list(run)
            yield each[0], each[-1]


def _without_lines(text: str, first: Statement, end: int) -> str:
    before, after = text[: first.start], text[end:]
    if not after and not text.endswith("\n"):
        return _TWO_ENDS.sub("", before)
    if first.value is None:
        before = _EMPTY_LINE.sub("", before)
        after = after if before else _FIRST_EMPTY.sub("", after)
    return before + after


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _written(value: JsonValue) -> str:
    match value:
        case str():
            return _text(value)
        case Mapping():
            inner = ", ".join(f"{_key(name)} = {_written(each)}" for name, each in value.items())
            return f"{{ {inner} }}"
        case Sequence():
            return f"[{', '.join(map(_written, value))}]"
        case _:
            return json.dumps(value)
