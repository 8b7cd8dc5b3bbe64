"""When a server that died is started again, after how long, and when it is given up."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """With a server that dies. Seconds."""

    quick: float = 30.0
    """One that lived as long had been well: what came before does not count any more."""
    most: int = 8
    """So many quick deaths in a row are enough."""
    first: float = 0.5
    longest: float = 30.0
    to_end: float = 75.0
    """For one that was asked to end; by its own account it needs 60 at most."""


def in_a_row(before: int, lived: float, patience: Patience) -> int:
    """Quick deaths so far, this one among them; 0 if it was none."""
    return before + 1 if lived < patience.quick else 0


def pause(deaths: int, patience: Patience) -> float | None:
    """How long to wait after so many in a row, each time twice as long; None: it is given up."""
    if deaths >= patience.most:
        return None
    doubled = patience.first * 2.0 ** max(0, deaths - 1)
    return min(doubled, patience.longest)
