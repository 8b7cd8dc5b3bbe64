"""What past debates teach about questions without choices: how likely an answer is that so many
gave and that looks like this, and what asking on was worth.

Two layers over the votes. The first is a conditional logit of how many voted for an answer, how
many were asked, and its shape, with an option for "none of them". The second is a regression of
how much likelier the answer became per further call. Both are read from debates alone that had
been decided earlier.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from portico.debate.core.fitting import (
    Case,
    Signs,
    choose_between,
    least_squares,
    probabilities,
    score,
)
from portico.debate.core.outcome import Known
from portico.debate.core.posterior import Posterior
from portico.debate.core.reliability import first_answers
from portico.debate.core.shape import kin_of, shape_of

ENOUGH: Final = 200
"""Outcomes from which on this is learnt."""
_ROUNDS: Final = 4
_RIDGE: Final = 60.0
_MOST: Final = 5
"""Voices: beyond that it makes no difference how many more."""


@dataclass(frozen=True, slots=True)
class Tallied:
    """How a debate stands: what was said, in votes, and how many were asked."""

    each: tuple[tuple[str, float], ...]
    """By key; a vote of a voice with the usual weight is 1."""
    asked: int
    topic: str

    @property
    def votes(self) -> Mapping[str, float]:
        return dict(self.each)


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    likely: Signs
    worth: Signs

    def posterior(self, tallied: Tallied) -> Posterior:
        """More votes are never made up for by looks: those are for ties."""
        return _posterior(self, tallied)

    def gain(self, tallied: Tallied) -> float:
        """How much likelier the answer becomes with each further call."""
        return score(self.worth, _state(tallied, self.posterior(tallied)))


@lru_cache(maxsize=4_096)
def _posterior(lesson: Lesson, tallied: Tallied) -> Posterior:
    """Remembered: a session asks several things of the same votes."""
    options = _options(tallied)
    chances = probabilities([score(lesson.likely, each) for each in options])
    found = dict(zip(tallied.votes, chances, strict=False))
    return Posterior(_in_order(found, tallied.votes), chances[-1])


_NEARLY: Final = 0.05
"""Of a vote: what is as near is a tie."""


def _in_order(chances: Mapping[str, float], votes: Mapping[str, float]) -> Mapping[str, float]:
    """Where an answer with fewer votes looks likelier than one with more, both get the mean, and
    the one with more votes is first."""
    ordered = sorted(chances, key=lambda key: -chances[key])
    kept = dict(chances)
    if not ordered:
        return kept
    most = max(votes.values())
    leaders = [key for key in ordered if votes[key] >= most - _NEARLY]
    first = leaders[0]
    above = [key for key in ordered if chances[key] > chances[first]]
    if above:
        mean = sum(chances[key] for key in (first, *above)) / (1 + len(above))
        kept.update(dict.fromkeys((first, *above), mean))
    rest = [key for key in ordered if key != first]
    return {key: kept[key] for key in (first, *rest)}


def _options(tallied: Tallied) -> Sequence[Signs]:
    asked = min(tallied.asked, _MOST)
    options: list[Signs] = []
    for key, votes in tallied.votes.items():
        rounded = min(round(votes), _MOST)
        alone = "one" if votes <= 1 + _NEARLY else "more"
        shape = shape_of(key)
        options.append(
            {
                "votes": votes,
                f"asked {asked} votes {rounded} of {len(tallied.votes)}": 1.0,
                **shape,
                **{f"{alone} {name}": much for name, much in shape.items()},
            }
        )
    return [*options, _nobody(tallied, asked)]


def _nobody(tallied: Tallied, asked: int) -> Signs:
    """Of the option that none is right."""
    signs = {f"none of {len(tallied.votes)}, asked {asked}": 1.0, f"none on {tallied.topic}": 1.0}
    share = 1 / max(len(tallied.votes), 1)
    for key in tallied.votes:
        for name, much in shape_of(key).items():
            at = f"none {name}"
            signs[at] = signs.get(at, 0.0) + share * much
    return signs


def _state(tallied: Tallied, posterior: Posterior) -> Signs:
    """What asking on is worth depends on."""
    sure, none = posterior.sureness, posterior.other
    signs = {
        **_nobody(tallied, min(tallied.asked, _MOST)),
        **kin_of(list(tallied.votes)),
        "all": 1.0,
        "sure": sure,
        "sure²": sure * sure,
        "second": posterior.runner_up,
        "none": none,
        "none²": none * none,
        "sure·none": sure * none,
    }
    if posterior.top is not None:
        signs.update({f"top {name}": 1.0 for name in shape_of(posterior.top)})
    return signs


def lesson_of(known: Sequence[Known]) -> Lesson | None:
    """Of questions without choices; None while there are too few."""
    taught = [each for each in known if each.choices is None and len(_keys(each)) > 1]
    if len(taught) < ENOUGH:
        return None
    likely = choose_between([case for each in taught for case in _cases(each)], _ROUNDS)
    first = Lesson(likely, {})
    return Lesson(
        likely, least_squares([row for each in taught for row in _worth(first, each)], _RIDGE)
    )


def _keys(known: Known) -> Sequence[str]:
    return [each.key for each in first_answers(known)]


def tallied_keys(keys: Sequence[str], topic: str) -> Tallied:
    """One vote each."""
    votes: dict[str, float] = {}
    for key in keys:
        votes[key] = votes.get(key, 0.0) + 1.0
    return Tallied(tuple(votes.items()), len(keys), topic)


def _cases(known: Known) -> Sequence[Case]:
    """How it stood after each answer from the second on."""
    keys = _keys(known)
    cases: list[Case] = []
    for asked in range(2, len(keys) + 1):
        tallied = tallied_keys(keys[:asked], known.topic)
        places = {key: at for at, key in enumerate(tallied.votes)}
        right = places.get(known.right or "", len(places))
        cases.append(Case(tuple(_options(tallied)), right))
    return cases


def _worth(lesson: Lesson, known: Known) -> Sequence[tuple[Signs, float]]:
    """Blind answers might as well have come in another order: all that begin elsewhere count."""
    keys = _keys(known)
    return [
        row
        for at in range(len(keys))
        for row in _worth_in_order(lesson, [*keys[at:], *keys[:at]], known)
    ]


def _worth_in_order(
    lesson: Lesson, keys: Sequence[str], known: Known
) -> Sequence[tuple[Signs, float]]:
    """From each state on to where two agree, or to the end: half what it turned out to be, half
    what it was likely to be, which is less a matter of luck."""
    states = [tallied_keys(keys[:asked], known.topic) for asked in range(len(keys) + 1)]
    rows: list[tuple[Signs, float]] = []
    for asked in range(2, len(keys)):
        then = next((at for at in range(asked + 1, len(keys)) if _agreed(states[at])), len(keys))
        now, later = lesson.posterior(states[asked]), lesson.posterior(states[then])
        turned = (later.top == known.right) - (now.top == known.right)
        worth = (turned + later.sureness - now.sureness) / 2
        rows.append((_state(states[asked], now), worth / (then - asked)))
    return rows


def _agreed(tallied: Tallied) -> bool:
    first, second, *_ = [*sorted(tallied.votes.values(), reverse=True), 0.0, 0.0]
    return first > max(1.0, second)
