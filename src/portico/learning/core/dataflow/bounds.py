"""How much of a plan edges are sought for: who sends a long one keeps nobody else waiting."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.learning.core.dataflow.candidates import earlier_than
from portico.learning.core.dataflow.shape import StepShape

MOST_STEPS: Final = 50
"""That want something."""
MOST_PAIRS: Final = 200_000
"""Of something wanted and something given; each is looked at."""


@dataclass(frozen=True, slots=True)
class Bounded:
    steps: Sequence[StepShape]
    """All of them, in their places: those that are left out want nothing, and what nobody could
    take from a step it does not give."""
    left_out: Sequence[str]
    """Steps that want something, and for which nothing is sought."""


def bounded(steps: Sequence[StepShape]) -> Bounded:
    """Who needs something comes before who could merely take something."""
    wanting = [place for place, step in enumerate(steps) if step.wanted]
    wanting.sort(key=lambda place: not any(each.required for each in steps[place].wanted))
    sought: set[int] = set()
    pairs = 0
    for place in wanting:
        its = _pairs(steps, place)
        if len(sought) < MOST_STEPS and pairs + its <= MOST_PAIRS:
            sought.add(place)
            pairs += its
    givers = {giver for place in sought for giver in earlier_than(place)}
    return Bounded(
        steps=[
            replace(
                step,
                wanted=step.wanted if place in sought else (),
                outputs=step.outputs if place in givers else (),
            )
            for place, step in enumerate(steps)
        ],
        left_out=[steps[place].step for place in sorted(wanting) if place not in sought],
    )


def _pairs(steps: Sequence[StepShape], place: int) -> int:
    given = sum(len(steps[giver].outputs) for giver in earlier_than(place))
    return given * len(steps[place].wanted)
