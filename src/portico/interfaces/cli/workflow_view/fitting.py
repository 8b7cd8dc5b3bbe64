"""Which rows are shown if there is not room for all: what needs somebody first, what is far off
last."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from portico.interfaces.cli.workflow_view.view import State, StepView

_URGENT: Final = (State.UNCERTAIN, State.WAITING, State.RUNNING, State.FAILED)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


def fitted(steps: Sequence[StepView], heights: Sequence[int], room: int) -> frozenset[int]:
    """Places of those to show; each stretch that is left out takes one line, to say so."""
    if sum(heights) <= room:
        return frozenset(range(len(steps)))
    shown: set[int] = set()
    lines = 1
    for place in _by_urgency(steps):
        lines += heights[place] + _more_gaps(place, shown, len(steps))
        if lines > room:
            break
        shown.add(place)
    return frozenset(shown)


def _more_gaps(place: int, shown: set[int], many: int) -> int:
    """Showing one in the middle of a stretch makes two of it; showing all of it, none."""
    left = place > 0 and place - 1 not in shown
    right = place < many - 1 and place + 1 not in shown
    return int(left) + int(right) - 1


def _by_urgency(steps: Sequence[StepView]) -> Sequence[int]:
    urgent = [place for state in _URGENT for place, step in enumerate(steps) if step.state is state]
    coming = [place for place, step in enumerate(steps) if step.state is State.PENDING]
    open_ = {*urgent, *coming}
    over = [place for place in range(len(steps)) if place not in open_]
    over.sort(key=lambda place: steps[place].ended or _NEVER, reverse=True)
    return [*urgent, *_in_turn(over, coming)]


def _in_turn(some: Sequence[int], others: Sequence[int]) -> Sequence[int]:
    """One of each, then the rest of the longer."""
    paired = [place for pair in zip(some, others, strict=False) for place in pair]
    both = len(paired) // 2
    return [*paired, *some[both:], *others[both:]]
