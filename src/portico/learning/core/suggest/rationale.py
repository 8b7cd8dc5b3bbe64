"""Why a plan is suggested, and why each of its tools, in a few words."""

from collections.abc import Iterator, Mapping
from typing import Final

from portico.learning.core.suggest.asked import Asked
from portico.learning.core.suggest.choose import Choice
from portico.learning.core.suggest.needs import Learnt
from portico.learning.core.suggest.past import Near, Votes

_WORTH: Final = 0.05
_NEAREST: Final = 3
_MUCH: Final = 0.7


def rationale(choice: Choice, asked: Asked) -> str:
    steps = f"{len(choice.tools)} step{'s' if len(choice.tools) > 1 else ''}"
    if choice.like is not None:
        times = _times(max(1, round(choice.runs)))
        nearest = max(asked.near, key=lambda each: each.similarity)
        return f"{steps}, as in what went well {times} before, for {_alike(nearest)}."
    past = "no past plan near it had just these tools" if asked.near else "there is no past plan"
    return f"{steps}, put together from what search finds for the intent; {past}."


def nothing_sure(asked: Asked, *, fits: bool) -> str:
    """Why there is no plan, and what comes nearest."""
    why = (
        "What fits this is too unsure to be a plan"
        if fits
        else "No tool fits this well, and nothing like it was done before"
    )
    hits = asked.whole
    nearest = sorted(hits, key=lambda tool: -hits[tool])[:_NEAREST]
    near = f" Nearest: {', '.join(nearest)}." if nearest else ""
    return f"{why}.{near} Say more exactly what should be done, or write the plan."


def reasons(choice: Choice, asked: Asked, learnt: Learnt) -> Mapping[str, str]:
    """By tool."""
    votes = Votes.of(asked.near).for_tools()
    return {
        tool: ", ".join(_reasons(tool, choice, asked, learnt, votes)) or "little speaks for it"
        for tool in choice.tools
    }


def _reasons(
    tool: str, choice: Choice, asked: Asked, learnt: Learnt, votes: Mapping[str, float]
) -> Iterator[str]:
    if asked.whole.get(tool, 0.0) >= _WORTH:
        yield f"found for the intent ({asked.whole[tool]:.2f})"
    part = asked.part_of(tool)
    if len(asked.searched) > 1 and part is not None and asked.best_part(tool) >= _WORTH:
        yield f"found for its part {part + 1} ({asked.best_part(tool):.2f})"
    if votes.get(tool, 0.0) >= _WORTH:
        yield f"in near past plans ({votes[tool]:.2f})"
    needing = [(learnt.need(each, tool), each) for each in choice.tools if each != tool]
    share, consumer = max(needing, default=(0.0, ""))
    if share >= _WORTH:
        yield f"came before {consumer} in other plans ({share:.2f})"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _alike(near: Near) -> str:
    """How near exactly is told of one's own words alone: of others' it would tell them, by
    trying."""
    much = "much the same" if near.similarity >= _MUCH else "something like it"
    return f"{much} ({near.similarity:.2f} alike)" if near.plan.own else much
