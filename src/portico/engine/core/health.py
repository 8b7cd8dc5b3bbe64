"""How the house is: one finding a check, each with what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    GOOD = "good"
    WARNING = "warning"
    BROKEN = "broken"
    MENDED = "mended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    check: str
    state: State
    detail: str
    fix: str | None = None


def worst(findings: Iterable[Finding]) -> State:
    order = [State.GOOD, State.MENDED, State.WARNING, State.BROKEN]
    return max((finding.state for finding in findings), key=order.index, default=State.GOOD)
