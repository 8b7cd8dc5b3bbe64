"""What the names and texts may hold that somebody sends: every flaw is told, at once."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from portico.bridge.core.errors import BadBridgeInput
from portico.kernel.errors import Flaw

_NOT_KEPT: Final = re.compile("[\0\ud800-\udfff]")


def flaws_of_line(field: str, text: str, *, most: int, least: int = 1) -> Sequence[Flaw]:
    """Of what is shown in one line: a name, a key."""
    if not text.isprintable():
        return [Flaw(field, "has letters that cannot be shown in a line")]
    if text != text.strip():
        return [Flaw(field, "begins or ends with a space")]
    return _length(field, text, least=least, most=most)


def flaws_of_text(field: str, text: str, *, most: int, least: int = 0) -> Sequence[Flaw]:
    if _NOT_KEPT.search(text):
        return [Flaw(field, "has letters that cannot be kept")]
    return _length(field, text, least=least, most=most)


def check_flaws(flaws: Iterable[Flaw]) -> None:
    """Raises `BadBridgeInput`."""
    if found := tuple(flaws):
        raise BadBridgeInput(found)


def _length(field: str, text: str, *, least: int, most: int) -> Sequence[Flaw]:
    if len(text) < least:
        return [Flaw(field, "must not be empty")]
    if len(text) > most:
        return [Flaw(field, f"has {len(text):,} letters; at most {most:,}")]
    return []
