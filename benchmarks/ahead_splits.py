"""Which sessions teach, and which are asked: by session, by template, by task."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from benchmarks.ahead_sessions import Recording

FOLDS: Final = 5


@dataclass(frozen=True, slots=True)
class Split:
    teach: Sequence[int]
    """Places in the recording, in the order in which they were recorded."""
    ask: Sequence[int]


def by_session(recording: Recording) -> list[Split]:
    return _split(recording, list(range(len(recording.sessions))))


def by_template(recording: Recording) -> list[Split]:
    """Nothing of a template that is asked has taught."""
    names = sorted({session.template for session in recording.sessions})
    return _split(recording, [names.index(session.template) for session in recording.sessions])


def _split(recording: Recording, group: Sequence[int]) -> list[Split]:
    groups = sorted(set(group))
    Random("folds").shuffle(groups)  # noqa: S311 # a split, not a secret
    folds = [frozenset(groups[number::FOLDS]) for number in range(FOLDS)]
    places = range(len(recording.sessions))
    return [
        Split(
            [place for place in places if group[place] not in fold],
            [place for place in places if group[place] in fold],
        )
        for fold in folds
    ]
