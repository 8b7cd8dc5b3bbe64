"""Which of the plans that come into question: one that was made before, or one put together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import expm1, log
from typing import Final

from portico.learning.core.suggest.asked import Asked
from portico.learning.core.suggest.likely import Likely, Tools
from portico.learning.core.suggest.needs import Learnt
from portico.learning.core.suggest.next_tool import next_tools
from portico.learning.core.suggest.past import PastPlan, Votes, runs_of

MOST_STEPS: Final = 12
_PUT_TOGETHER: Final = 0.01
"""As if this share of the nearest plans had been it."""
_UNSEEN: Final = 0.2
"""Runs that might have gone otherwise: what went well once is not certain. Of those that `portico
bench suggest` was tried with, the one with which it says least too much."""
_LEAST: Final = 1e-3
_NEVER: Final = -9.0
_SURE: Final = 0.999
_AT_MOST: Final = -0.001


@dataclass(frozen=True, slots=True)
class Choice:
    tools: tuple[str, ...]
    """In their order."""
    like: PastPlan | None
    """The past plan that it follows."""
    share: float
    """Of the nearest past plans, those that had the same tools."""
    runs: float
    """That went well, of these."""
    score: float
    """The log-likelihood of it."""

    @property
    def raw(self) -> float:
        """The log-odds of it, to be calibrated: the likelihood takes each tool by itself, which
        they are not."""
        score = min(self.score, _AT_MOST)
        return score - log(-expm1(score))

    @property
    def backing(self) -> float:
        """As much of its confidence as the runs behind it allow; one that nobody made before leans
        on none."""
        return 1.0 if self.like is None else self.runs / (self.runs + _UNSEEN)


def choose(asked: Asked, tools: Sequence[Likely], learnt: Learnt, offered: Tools) -> Choice | None:
    """The likeliest; none if nothing comes into question."""
    if not tools:
        return None
    choices = [*_made_before(asked, tools, offered)]
    together = [each.tool for each in tools[:MOST_STEPS] if each.probability >= 0.5]
    new = frozenset(together or [tools[0].tool])
    if new not in {frozenset(each.tools) for each in choices}:
        order = in_order(new, asked, learnt, offered)
        choices.append(Choice(order, None, 0.0, 0.0, _score(new, _PUT_TOGETHER, tools)))
    return max(choices, key=lambda each: each.score)


def in_order(
    tools: frozenset[str], asked: Asked, learnt: Learnt, offered: Tools
) -> tuple[str, ...]:
    """The likeliest next each time, and nothing before what it needs."""
    done: list[str] = []
    left = set(tools)
    some = {tool: offered[tool] for tool in sorted(tools)}
    while left:
        ready = [tool for tool in left if not _waits(tool, left, learnt)] or sorted(left)
        found = [each.tool for each in next_tools(asked, done, learnt, some)]
        order = [tool for tool in found if tool in ready]
        done.append(order[0] if order else min(ready))
        left.remove(done[-1])
    return tuple(done)


def _waits(tool: str, left: set[str], learnt: Learnt) -> bool:
    """For something that mostly came before it, and not the other way round."""
    return any(
        learnt.need(tool, other) > max(learnt.need(other, tool), 0.3)
        for other in left
        if other != tool
    )


def _made_before(asked: Asked, tools: Sequence[Likely], offered: Tools) -> Iterator[Choice]:
    shares: dict[frozenset[str], float] = {}
    best: dict[frozenset[str], tuple[float, PastPlan]] = {}
    for plan, share in Votes.of(asked.near).shares:
        same = frozenset(plan.tools)
        if same and len(plan.steps) <= MOST_STEPS and all(tool in offered for tool in same):
            shares[same] = shares.get(same, 0.0) + share
            if same not in best or share > best[same][0]:
                best[same] = (share, plan)
    for same, (_, plan) in best.items():
        runs, score = runs_of(same, asked.near), _score(same, shares[same], tools)
        yield Choice(plan.tools, plan, shares[same], runs, score)


def _score(tools: frozenset[str], share: float, known: Sequence[Likely]) -> float:
    """The log-likelihood of just these tools, each by itself, and of a plan that had them all."""
    within = {each.tool: min(each.probability, _SURE) for each in known}
    inside = sum(log(within[tool]) if tool in within else _NEVER for tool in tools)
    outside = sum(log(1 - part) for tool, part in within.items() if tool not in tools)
    return log(share + _LEAST) + inside + outside
