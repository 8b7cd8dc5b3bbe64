"""Where in a TOML text each value stands, so that a fault can be shown there."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Final

from portico.kernel.json import pointed

_SPACE: Final = re.compile(r"(?:\s|#[^\n]*)*")
_WORD: Final = r"(?:[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
_KEY: Final = re.compile(rf"{_WORD}(?:[ \t]*\.[ \t]*{_WORD})*")
_TEXT: Final = re.compile(
    r"\"\"\"(?:[^\\]|\\.)*?\"{3,5}|'''.*?'{3,5}|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'", re.DOTALL
)
_OTHER: Final = re.compile(r"[^,\]}#\n]+")


def toml_places(text: str) -> Mapping[str, int]:
    """By JSON pointer: where the key begins, or the item. Of a text that is TOML: it is not looked
    at whether it is."""
    return _Scan(text).places()


class _Scan:
    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: dict[str, int] = {"": 0}
        self._tables: dict[str, int] = {}
        """How many tables each `[[list]]` of them has so far."""

    def places(self) -> Mapping[str, int]:
        table, at = "", self._over_space(0)
        while at < len(self._text):
            if self._text[at] == "[":
                table, at = self._header(at)
            else:
                at = self._pair(at, table)
            at = self._over_space(at)
        return self._starts

    def _header(self, at: int) -> tuple[str, int]:
        """The pointer of the table that begins here, and where its header ends."""
        double = self._text.startswith("[[", at)
        names, end = self._key(self._over_space(at + 1 + double))
        pointer = self._reached("", names[:-1], at)
        pointer = pointed(pointer, names[-1])
        self._starts.setdefault(pointer, at)
        if double:
            self._tables[pointer] = self._tables.get(pointer, 0) + 1
        pointer = self._last(pointer)
        self._starts.setdefault(pointer, at)
        return pointer, self._over_space(end) + 1 + double

    def _pair(self, at: int, table: str) -> int:
        names, end = self._key(at)
        pointer = pointed(self._reached(table, names[:-1], at), names[-1])
        self._starts[pointer] = at
        return self._value(self._over_space(self._over_space(end) + 1), pointer)

    def _reached(self, pointer: str, names: Sequence[str], at: int) -> str:
        for name in names:
            pointer = self._last(pointed(pointer, name))
            self._starts.setdefault(pointer, at)
        return pointer

    def _last(self, pointer: str) -> str:
        """Of a list of tables, the one that was begun last."""
        count = self._tables.get(pointer)
        return pointer if count is None else f"{pointer}/{count - 1}"

    def _value(self, at: int, pointer: str) -> int:
        if self._text[at] == "[":
            return self._list(at + 1, pointer)
        if self._text[at] == "{":
            return self._inline_table(at + 1, pointer)
        found = _TEXT.match(self._text, at) or _OTHER.match(self._text, at)
        return at + 1 if found is None else found.end()

    def _list(self, at: int, pointer: str) -> int:
        number = 0
        while self._text[at := self._over_space(at)] != "]":
            if self._text[at] == ",":
                at, number = at + 1, number + 1
                continue
            self._starts[f"{pointer}/{number}"] = at
            at = self._value(at, f"{pointer}/{number}")
        return at + 1

    def _inline_table(self, at: int, pointer: str) -> int:
        while self._text[at := self._over_space(at)] != "}":
            at = at + 1 if self._text[at] == "," else self._pair(at, pointer)
        return at + 1

    def _key(self, at: int) -> tuple[Sequence[str], int]:
        found = _KEY.match(self._text, at)
        written = found[0] if found else ""
        return _names(tomllib.loads(f"{written} = 0")), at + len(written)

    def _over_space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at


def _names(nested: object) -> Sequence[str]:
    """Of a dotted key, as TOML's own reader took it apart."""
    names: list[str] = []
    while isinstance(nested, dict):
        [(name, nested)] = nested.items()
        names.append(name)
    return names
