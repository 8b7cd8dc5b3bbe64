"""How often a voice is right on a topic: what it has to show, shrunk to what is usual, the older
the less it counts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from portico.debate.core.outcome import Ballot, Known

USUAL: Final = 0.7
"""Of a voice that nothing is known of."""
SHRINK: Final = 10.0
"""As many outcomes as what is usual counts for."""
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
    everyone: Tally = Tally()
    topics: Mapping[str, Tally] = field(default_factory=dict)
    voices: Mapping[str, Tally] = field(default_factory=dict)
    both: Mapping[tuple[str, str], Tally] = field(default_factory=dict)
    """By voice and topic."""

    def rate(self, voice: str, topic: str) -> float:
        """(right + 10 usual) / (asked + 10): of the voice on the topic, shrunk to how it and all
        others usually do there."""
        usual = self.everyone.towards(USUAL)
        here = self.topics.get(topic, Tally()).towards(usual)
        anywhere = self.voices.get(voice, Tally()).towards(usual)
        shifted = min(max(anywhere + here - usual, 0.0), 1.0)
        return self.both.get((voice, topic), Tally()).towards(shifted)


def ages(known: Sequence[Known]) -> Sequence[float]:
    """What each still counts, the newest last: half after so many newer ones."""
    newest = len(known) - 1
    return [0.5 ** ((newest - at) / HALF_LIFE) for at in range(len(known))]


def first_answers(known: Known) -> Iterable[Ballot]:
    """A record is of what a voice says by itself."""
    return (each for each in known.ballots if each.round == 1)


def records_of(known: Sequence[Known]) -> Records:
    """Oldest first."""
    everyone = Tally()
    topics: dict[str, Tally] = defaultdict(Tally)
    voices: dict[str, Tally] = defaultdict(Tally)
    both: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for one, much in zip(known, ages(known), strict=True):
        for ballot in first_answers(one):
            right = ballot.key == one.right
            everyone = everyone.plus(right, much)
            topics[one.topic] = topics[one.topic].plus(right, much)
            voices[ballot.voice] = voices[ballot.voice].plus(right, much)
            at = (ballot.voice, one.topic)
            both[at] = both[at].plus(right, much)
    return Records(everyone=everyone, topics=topics, voices=voices, both=both)
