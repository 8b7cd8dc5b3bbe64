"""What counts of what was said: both rounds pooled, one vote a voice."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.debate.core.said import Said


@dataclass(frozen=True, slots=True)
class Vote:
    voice: str
    key: str
    confidence: float | None
    share: float = 1.0
    """Of the voice's one vote: half of it stays with its first answer if it changed its mind."""


def pooled(said: Sequence[Said]) -> Sequence[Vote]:
    """In the order of first answers. Who changes without naming an error has not changed."""
    later = {each.voice: each for each in said if each.round > 1}
    votes: list[Vote] = []
    for each in said:
        if each.round > 1:
            continue
        then = later.get(each.voice)
        if then is None or then.key == each.key or not (then.changed_because or "").strip():
            votes.append(Vote(each.voice, each.key, each.confidence))
        else:
            votes.append(Vote(each.voice, each.key, each.confidence, 0.5))
            votes.append(Vote(each.voice, then.key, then.confidence, 0.5))
    return votes
