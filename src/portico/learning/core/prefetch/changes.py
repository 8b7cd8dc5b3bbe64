"""How a value can be changed on its way from where it stands into an argument."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from portico.learning.core.prefetch.pools import Value

Change = Callable[[str, str | None], Value | None]
"""Of a text, and the path that its call was made for."""

_SIDE: Final = re.compile(r"[ab]/(.+)")
_DIGITS: Final = re.compile(r"-?\d{1,15}")
_SINGULAR: Final = re.compile(r"[a-z_]{2,40}[a-rt-z]")
_LONGEST: Final = 500


def _folder(text: str, _: str | None) -> Value | None:
    head, slash, _tail = text.rstrip("/").rpartition("/")
    return head if slash and head else None


def _above(text: str, _: str | None) -> Value | None:
    folder = _folder(text, None)
    return _folder(folder, None) if isinstance(folder, str) else None


def _name(text: str, _: str | None) -> Value | None:
    return text.rstrip("/").rpartition("/")[2] if "/" in text else None


def _stem(text: str, _: str | None) -> Value | None:
    stem, dot, _extension = text.rpartition("/")[2].rpartition(".")
    return stem if dot and stem else None


def _side(text: str, _: str | None) -> Value | None:
    found = _SIDE.fullmatch(text)
    return found[1] if found else None


def _under(text: str, base: str | None) -> Value | None:
    if base is None or text.startswith(("/", "~")) or len(text) + len(base) > _LONGEST:
        return None
    inner = _SIDE.fullmatch(text)
    return f"{base.rstrip('/')}/{(inner[1] if inner else text).removeprefix('./')}"


def _within(text: str, base: str | None) -> Value | None:
    if base is None or not text.startswith(base.rstrip("/") + "/"):
        return None
    return text[len(base.rstrip("/")) + 1 :] or None


def _number(text: str, _: str | None) -> Value | None:
    return int(text) if _DIGITS.fullmatch(text) else None


def _lower(text: str, _: str | None) -> Value | None:
    lower = text.lower()
    return lower if lower != text else None


def _plural(text: str, _: str | None) -> Value | None:
    """Of a ticket, the table `tickets`."""
    return f"{text}s" if _SINGULAR.fullmatch(text) else None


CHANGES: Final[dict[str, Change]] = {
    "": lambda text, _: text,
    "folder": _folder,
    "above": _above,
    "name": _name,
    "stem": _stem,
    "side": _side,
    "under": _under,
    "within": _within,
    "number": _number,
    "lower": _lower,
    "plural": _plural,
}


def changed(value: Value, change: str, base: str | None) -> Value | None:
    if not isinstance(value, str):
        return {"": value, "text": str(value)}.get(change)
    how = CHANGES.get(change)
    return None if how is None else how(value, base)


def all_changed(value: Value, base: str | None) -> Iterator[tuple[str, Value]]:
    names = CHANGES if isinstance(value, str) else ("", "text")
    for name in names:
        became = changed(value, name, base)
        if became is not None:
            yield name, became
