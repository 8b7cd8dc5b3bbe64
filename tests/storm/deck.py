"""Chances that come up evenly: each once, in any order, before any of them comes again."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeVar

Card = TypeVar("Card")


def dealt(cards: Sequence[Card], random: Random) -> Iterator[Card]:
    """Without an end."""
    while True:
        yield from random.sample(cards, len(cards))


def name_of(function: Callable[..., object]) -> str:
    return str(getattr(function, "__name__", function))
