"""How many calls one run may make, all in all: of its plan, of every item, and of the workflows
that it calls.

Each of these is bounded by itself; multiplied they are more than a journal should hold.
"""

from collections.abc import Sequence
from typing import Final

from portico.gateway.core.plan.plan import Plan, Step
from portico.kernel.errors import Kind, PorticoError

MOST_CALLS: Final = 10_000


class TooManyCalls(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_calls"
    title = "A run cannot make that many calls"
    fix = "Go through fewer items at a time, or make several runs of it."

    def __init__(self, most: int) -> None:
        super().__init__(f"With this step the run would make more than {most:,} calls.")


class Amount:
    """Counted anew whenever the run is taken up again: what was made already counts as well."""

    def __init__(self, most: int = MOST_CALLS) -> None:
        self._most = most
        self._calls = 0

    def add(self, calls: int) -> None:
        """Raises `TooManyCalls`."""
        self._calls += calls
        if self._calls > self._most:
            raise TooManyCalls(self._most)


def known_calls(plan: Plan) -> int:
    """As far as it can be said before it is run."""
    return sum(_calls(step) for step in plan.steps)


def _calls(step: Step) -> int:
    over = None if step.for_each is None else step.for_each.over
    return len(over) if isinstance(over, Sequence) and not isinstance(over, str) else 1
