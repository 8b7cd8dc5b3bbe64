"""Where each step stands in the tree: below what everything on the way to it goes through.

A step that needs several others would stand in several places. It stands once: below the last step
that all its ways have in common (its immediate dominator). What follows alone goes on in the same
column, and so does what brings all branches together again, so that a long plan stays narrow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_FORK, _LAST = "├ ", "└ "
_AFTER: Final = {_FORK: "│ ", _LAST: "  "}


@dataclass(frozen=True, slots=True)
class Branch:
    step: str
    guides: Sequence[str] = ()
    """Two letters each, from the left."""

    @property
    def past(self) -> Sequence[str]:
        """The guides of what stands below it in the same column."""
        return tuple(_AFTER.get(guide, guide) for guide in self.guides)


def laid_out(needs: Mapping[str, Sequence[str]]) -> Sequence[Branch]:
    """`needs` in the plan's order. What is needed and not there is left alone."""
    order = ordered(needs)
    before = {step: [each for each in needs[step] if each in needs] for step in order}
    below = _below(order, before)
    reached = _reached(order, before)
    rows: list[Branch] = []
    ahead = [*reversed(_among(below.get(None, []), (), reached))]
    while ahead:
        branch = ahead.pop()
        rows.append(branch)
        ahead += reversed(_among(below.get(branch.step, []), branch.past, reached))
    return rows


def _among(
    steps: Sequence[str], column: Sequence[str], reached: Mapping[str, int]
) -> Sequence[Branch]:
    """What stands below the same step, in the column of that step or one further in."""
    if len(steps) < 2:
        return [Branch(step, column) for step in steps]
    *others, last = steps
    together = all(_leads(each, last, reached) for each in others)
    inside = others if together else steps
    forks = [Branch(step, (*column, _LAST if step == inside[-1] else _FORK)) for step in inside]
    return [*forks, Branch(last, column)] if together else forks


def _leads(step: str, last: str, reached: Mapping[str, int]) -> bool:
    return reached[last] & reached[step] == reached[step]


def ordered(needs: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """As in the plan, but nothing before what it needs; a circle goes last, as it stands."""
    found: dict[str, None] = {}
    left = list(needs)
    while left:
        many = len(left)
        for step in left:
            if all(each in found or each not in needs for each in needs[step]):
                found[step] = None
        left = [step for step in left if step not in found]
        if len(left) == many:
            return [*found, *left]
    return list(found)


def _below(
    order: Sequence[str], before: Mapping[str, Sequence[str]]
) -> Mapping[str | None, list[str]]:
    above: dict[str | None, str | None] = {None: None}
    depth: dict[str | None, int] = {None: 0}
    below: dict[str | None, list[str]] = {}
    for step in order:
        known = [each for each in before[step] if each in depth]
        common: str | None = known[0] if known else None
        for other in known[1:]:
            common = _met(common, other, above, depth)
        above[step], depth[step] = common, depth[common] + 1
        below.setdefault(common, []).append(step)
    return below


def _met(
    one: str | None,
    other: str | None,
    above: Mapping[str | None, str | None],
    depth: Mapping[str | None, int],
) -> str | None:
    while one != other:
        if depth[one] >= depth[other]:
            one = above[one]
        else:
            other = above[other]
    return one


def _reached(order: Sequence[str], before: Mapping[str, Sequence[str]]) -> Mapping[str, int]:
    """Of each step, a set of bits: itself and everything on its ways."""
    bits: dict[str, int] = {}
    for place, step in enumerate(order):
        bits[step] = 1 << place
        for each in before[step]:
            bits[step] |= bits.get(each, 0)
    return bits
