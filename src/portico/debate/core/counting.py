"""The votes of a debate as they weigh: what each answer has, and how likely that makes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from portico.debate.core.lesson import Lesson, Tallied
from portico.debate.core.posterior import Posterior, softmax, unsaid
from portico.debate.core.quorum import Backing, backing
from portico.debate.core.said import Said
from portico.debate.core.scales import Rule, Scales
from portico.debate.core.voice import Voice
from portico.debate.core.votes import Vote, pooled
from portico.debate.core.weights import among


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Learnt from what is known: see `panel_of`."""

    voices: tuple[Voice, ...]
    scales: Scales
    choices: int | None = None
    """How many there are; None if the answer is free."""
    topic: str = "general"
    lesson: Lesson | None = None

    def voice(self, name: str) -> Voice:
        return next(each for each in self.voices if each.name == name)


@dataclass(frozen=True, slots=True)
class Count:
    """Votes, as they weigh."""

    votes: Sequence[Vote]
    scores: Mapping[str, float]
    k: int
    discount: float
    posterior: Posterior
    scales: Scales
    """Of those who answered."""


def counted(panel: Panel, said: Sequence[Said]) -> Count:
    votes = pooled(said)
    distinct = len({each.key for each in votes})
    k = among(panel.choices, distinct)
    there = voters(panel, votes)
    scales = panel.scales.of([target for target, _ in there])
    scores: dict[str, float] = {}
    for each in votes:
        target = panel.voice(each.voice).target
        weight = scales.vote(target, each.confidence, k) * each.share
        scores[each.key] = scores.get(each.key, 0.0) + weight
    discount = scales.discount(there)
    likely = posterior_of(panel, scores, discount, len(there))
    return Count(votes, scores, k, discount, likely, scales)


def taught(panel: Panel) -> Lesson | None:
    """What was learnt of free answers; the rule of one voice knows nothing of votes."""
    free = panel.choices is None and panel.scales.rule is not Rule.BEST_SINGLE
    return panel.lesson if free else None


def posterior_of(
    panel: Panel, scores: Mapping[str, float], discount: float, asked: int
) -> Posterior:
    lesson = taught(panel)
    if lesson is not None:
        return lesson.posterior(tallied(panel, scores, asked))
    k = among(panel.choices, len(scores))
    scaled = {key: score * discount * panel.scales.sharpness for key, score in scores.items()}
    return softmax(scaled, unsaid(k, len(scores)))


def tallied(panel: Panel, scores: Mapping[str, float], asked: int) -> Tallied:
    """In votes of the usual weight."""
    k = among(panel.choices, len(scores))
    weights = [panel.scales.weight(each.target, k) for each in panel.voices]
    usual = sum(weights) / len(weights)
    votes = tuple((key, score / usual) for key, score in scores.items())
    return Tallied(votes, asked, panel.topic)


def voters(panel: Panel, votes: Sequence[Vote]) -> Sequence[tuple[str, str]]:
    names = dict.fromkeys(each.voice for each in votes)
    return [(voice.target, voice.family) for voice in map(panel.voice, names)]


def registered(panel: Panel, k: int) -> Mapping[str, float]:
    return {each.name: panel.scales.plain(each.target, k) for each in panel.voices}


def backing_of(panel: Panel, count: Count, key: str) -> Backing:
    shares: dict[str, float] = {}
    for each in count.votes:
        if each.key == key:
            shares[each.voice] = shares.get(each.voice, 0.0) + each.share
    return backing(panel.voices, registered(panel, count.k), shares)
