"""How often a voice is right on a topic: what it has to show, shrunk to what is usual, the older
the less it counts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from portico.debate.core.outcome import Ballot, Known

USUAL: Final = 0.7
"""Of a voice that nothing is known of."""
SHRINK: Final = 60.0
"""As many outcomes as what is usual counts for: of everybody, of a topic, and of a voice."""
SHRINK_BOTH: Final = 40.0
"""The same of a voice on a topic. Each step is shrunk to the one before it and sees only what that
one left to tell, so that one outcome counts for as much as about 1 in 14 in all, and a few dozen
for most of it."""
HALF_LIFE: Final = 200
"""Outcomes after which an older one counts half."""


@dataclass(frozen=True, slots=True)
class Tally:
    right: float = 0.0
    asked: float = 0.0

    def plus(self, right: bool, much: float) -> "Tally":
        return Tally(self.right + (much if right else 0.0), self.asked + much)

    def towards(self, usual: float, strength: float = SHRINK) -> float:
        """(right + strength · usual) / (asked + strength)."""
        return (self.right + strength * usual) / (self.asked + strength)


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    usual: float = USUAL
    """Of everybody, on anything."""
    topics: Mapping[str, float] = field(default_factory=dict)
    """How often everybody is right there."""
    leads: Mapping[str, float] = field(default_factory=dict)
    """How much oftener each voice is right than others on the same topics."""
    voices: Mapping[str, Tally] = field(default_factory=dict)
    both: Mapping[tuple[str, str], Tally] = field(default_factory=dict)
    """By voice and topic."""

    def rate(self, voice: str, topic: str) -> float:
        """Of the voice on the topic: what it has to show there, shrunk to how all do there and to
        how it does elsewhere."""
        here = self.topics.get(topic, self.usual) + self.leads.get(voice, 0.0)
        shifted = min(max(here, 0.0), 1.0)
        return self.both.get((voice, topic), Tally()).towards(shifted, SHRINK_BOTH)


def ages(known: Sequence[Known]) -> Sequence[float]:
    """What each still counts, the newest last: half after so many newer ones."""
    newest = len(known) - 1
    return [0.5 ** ((newest - at) / HALF_LIFE) for at in range(len(known))]


def first_answers(known: Known) -> Iterable[Ballot]:
    """A record is of what a voice says by itself."""
    return (each for each in known.ballots if each.round == 1)


def records_of(known: Sequence[Known]) -> Records:
    """Oldest first. However many voices took part, one outcome tells of everybody and of a topic
    once: they err together."""
    everyone = Tally()
    topics: dict[str, Tally] = defaultdict(Tally)
    voices: dict[str, Tally] = defaultdict(Tally)
    both: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for one, much in zip(known, ages(known), strict=True):
        ballots = list(first_answers(one))
        for ballot in ballots:
            right, part = ballot.key == one.right, much / len(ballots)
            everyone = everyone.plus(right, part)
            topics[one.topic] = topics[one.topic].plus(right, part)
            voices[ballot.voice] = voices[ballot.voice].plus(right, much)
            at = (ballot.voice, one.topic)
            both[at] = both[at].plus(right, much)
    usual = everyone.towards(USUAL)
    there = {topic: each.towards(usual) for topic, each in topics.items()}
    return Records(
        usual=usual, topics=there, leads=_leads(there, voices, both), voices=voices, both=both
    )


def _leads(
    topics: Mapping[str, float],
    voices: Mapping[str, Tally],
    both: Mapping[tuple[str, str], Tally],
) -> Mapping[str, float]:
    beyond: dict[str, float] = defaultdict(float)
    for (voice, topic), each in both.items():
        beyond[voice] += each.right - each.asked * topics[topic]
    return {voice: beyond[voice] / (each.asked + SHRINK) for voice, each in voices.items()}
