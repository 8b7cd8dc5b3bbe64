"""Which tool comes next, given what is wanted and what was done."""

from collections.abc import Mapping, Sequence
from math import exp

from portico.learning.core.suggest.asked import Asked, Searched
from portico.learning.core.suggest.likely import Likely, Tools
from portico.learning.core.suggest.needs import Learnt
from portico.learning.core.suggest.past import Votes
from portico.learning.core.suggest.signs import LEAST, Sign, Signs, Weights, logarithm
from portico.learning.core.suggest.weights import NEXT


def next_tools(
    asked: Asked,
    done: Sequence[str],
    learnt: Learnt,
    offered: Tools,
    weights: Weights = NEXT,
) -> Sequence[Likely]:
    """Best first; that it is one of them is certain, so their probabilities sum to one."""
    signs = next_signs(asked, done, learnt, offered)
    odds = {tool: weights.weighed(each) for tool, each in signs.items()}
    highest = max(odds.values(), default=0.0)
    shares = {tool: exp(each - highest) for tool, each in odds.items()}
    total = sum(shares.values())
    found = [Likely(tool, share / total, signs[tool]) for tool, share in shares.items()]
    return sorted(found, key=lambda each: -each.probability)


def next_signs(
    asked: Asked, done: Sequence[str], learnt: Learnt, offered: Tools
) -> Mapping[str, Signs]:
    votes = Votes.of(asked.near)
    for_tools, after = votes.for_tools(), votes.after(done[-1] if done else None)
    left = _left(asked, done)
    hits = [tool for each in asked.searched for tool in each.hits]
    return {
        tool: {
            Sign.SEARCH: logarithm(asked.whole.get(tool, 0.0), LEAST),
            Sign.STEP: logarithm(
                max((part.hits.get(tool, 0.0) for part in left), default=0), LEAST
            ),
            Sign.FOLLOWS: logarithm(learnt.follows(done, tool), LEAST),
            Sign.VOTE: logarithm(0.0 if tool in done else for_tools.get(tool, 0.0)),
            Sign.AFTER: logarithm(after.get(tool, 0.0), 0.02),
            Sign.DONE: float(tool in done),
        }
        for tool in dict.fromkeys((*hits, *for_tools, *learnt.after(done)))
        if tool in offered
    }


def _left(asked: Asked, done: Sequence[str]) -> Sequence[Searched]:
    """The sub-steps that nothing that was done answers best; all of them, if none is left."""
    answered = {asked.part_of(tool) for tool in done}
    left = [part for place, part in enumerate(asked.parts) if place not in answered]
    return left or asked.parts
