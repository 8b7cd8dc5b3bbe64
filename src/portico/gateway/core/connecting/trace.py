"""What an edit of somebody's file leaves to be known, so that it can be undone to the byte."""

from collections.abc import Sequence
from dataclasses import dataclass

Cut = tuple[int, int, str]
"""From where to where of a text, and what stands there instead."""


@dataclass(frozen=True, slots=True)
class Trace:
    made: int = 0
    """How many objects around the entry were made for it; they go with it if nothing else is in
    them by then."""
    inside: str = ""
    """The space that was between the braces of the object that was there already and had nothing
    in it; if all objects were made, all that was in the file."""


@dataclass(frozen=True, slots=True)
class Edited:
    text: str
    trace: Trace


def cut(text: str, cuts: Sequence[Cut]) -> str:
    for start, end, instead in sorted(cuts, reverse=True):
        text = text[:start] + instead + text[end:]
    return text


def newline_of(text: str) -> str:
    """As its first line ends."""
    first = text.partition("\n")[0]
    return "\r\n" if first.endswith("\r") and "\n" in text else "\n"
