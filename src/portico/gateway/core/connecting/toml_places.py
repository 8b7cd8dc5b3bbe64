"""Where the statements of a text of TOML stand, and what is in the braces of one."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_BETWEEN: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY: Final = re.compile(r"""(?:[ \t.A-Za-z0-9_-]|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')+""")
_TOKEN: Final = re.compile(
    r'"""(?>(?>(?:[^"\\]++|\\[\s\S]|"{1,2}(?!")){1,500})*)"{3,5}'
    r"|'''(?>(?>(?:[^']++|'{1,2}(?!')){1,500})*)'{3,5}"
    r'|"(?>(?>(?:[^"\\\n]++|\\.){1,500})*)"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"""|[^"'#\[\]{},\r\n]+"""
    r"|[\s\S]"
)

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A head of a table, or a key with its value, on whole lines."""

    path: Path
    start: int
    end: int
    value: int | None = None
    """Where its value begins; None for a head."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A key with its value in the braces of another."""

    path: Path
    key: int
    end: int


def statements(text: str) -> Iterator[Statement]:
    """Of a text that can be read."""
    table: Path = ()
    at = _after(_BETWEEN, text, 0)
    while at < len(text):
        start = text.rfind("\n", 0, at) + 1
        if text[at] == "[":
            first = at + 1 + (text[at + 1] == "[")
            end = _after(_KEY, text, first)
            table = _path(text[first:end])
            yield Statement(table, start, _line_end(text, end))
        else:
            equals = _after(_KEY, text, at)
            value = _value_after(text, equals)
            end = value_end(text, value)
            yield Statement(table + _path(text[at:equals]), start, _line_end(text, end), value)
        at = _after(_BETWEEN, text, _line_end(text, end))


def pairs(text: str, brace: int) -> tuple[Sequence[Pair], int]:
    """What is in the braces that open there, and where they close."""
    found: list[Pair] = []
    at = _after(_BETWEEN, text, brace + 1)
    while text[at] != "}":
        equals = _after(_KEY, text, at)
        end = value_end(text, _value_after(text, equals))
        found.append(Pair(_path(text[at:equals]), at, end))
        at = _after(_BETWEEN, text, end)
        if text[at] == ",":
            at = _after(_BETWEEN, text, at + 1)
    return found, at


def value_end(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        token = found[0] if found else ""
        if depth == 0 and token[0] in ",]}#\r\n":
            break
        depth += (token in {"[", "{"}) - (token in {"]", "}"})
        at += len(token)
    return len(text[:at].rstrip(" \t\r"))


def _value_after(text: str, equals: int) -> int:
    return equals + 1 + len(text[equals + 1 :]) - len(text[equals + 1 :].lstrip(" \t"))


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _path(key: str) -> Path:
    """The names of a dotted key, as the reader of the standard library understands them."""
    names: list[str] = []
    found: object = tomllib.loads(f"{key} = 0")
    while isinstance(found, dict):
        name, found = next(iter(found.items()))
        names.append(name)
    return tuple(names)
