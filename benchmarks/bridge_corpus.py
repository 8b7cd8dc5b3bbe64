"""What was said in `just bench bridge`: drawn by lot, in the order in which it was said, and how
far everybody has read."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import numpy as np

from benchmarks.bridge_cast import LABELS, Cast, Talk
from benchmarks.bridge_vocabulary import Speech

_BEGAN: Final = 1_700_000_000_000
"""Milliseconds: when the first was said."""
_STEP: Final = 60
_DELETED: Final = 0.005
_RAISED: Final = 0.15
"""Are more secret than their conversation."""
_ANSWERS: Final = 0.15
_NAMING: Final = 0.05
_MUTED: Final = 0.05
_UP_TO_DATE: Final = 0.1
_BEHIND: Final = ((0.75, 150), (0.25, 1500))
"""How many of the others are how far behind."""
_OPENED: Final = 0.01
"""Of what somebody has not come to yet, the part that they have read all the same."""
_CARELESS: Final = 0.2
"""Answer without having read what was said before."""

_COVERING: Final = [
    [place for place, above in enumerate(LABELS) if above.covers(label)] for label in LABELS
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A message."""

    talk: int
    seq: int
    id: UUID
    label: int
    sender: int
    body: str
    reply_to: UUID | None
    named: int | None
    at: float
    """Seconds since 1970."""
    deleted: bool


@dataclass(slots=True)
class Told:
    """Of one conversation, a place for each message."""

    labels: list[int] = field(default_factory=list)
    """Its number, from 1 on; 0 of one that was deleted."""
    senders: list[int] = field(default_factory=list)
    named: list[tuple[int, int]] = field(default_factory=list)
    last: dict[int, UUID] = field(default_factory=dict)
    """The last one of each label: what may be answered."""
    newest: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How far somebody has read in a conversation."""

    talk: int
    who: int
    last: int
    seen: Sequence[int]
    muted: bool
    own: Sequence[int]
    """The numbers of the labels of what they have said beyond that."""
    apart: Sequence[tuple[int, int]]
    """What else they have read beyond it: places, and the numbers of their labels."""
    named: Sequence[tuple[int, int]]


class Corpus:
    def __init__(self, cast: Cast, words: Sequence[str], messages: int, seed: int) -> None:
        self.cast = cast
        self.messages = messages
        self._chance = np.random.default_rng(seed)
        self.speech = Speech(words, len(cast.talks), self._chance)
        self.told = [Told() for _ in cast.talks]
        self.found_in: Counter[int] = Counter()
        """In how many messages a word is, by its place in the vocabulary."""

    def lines(self) -> Iterator[Line]:
        talks, chance = self.cast.talks, self._chance
        weights = np.array([talk.weight for talk in talks])
        order = chance.choice(len(talks), self.messages, p=weights / weights.sum())
        for number, where in enumerate(order):
            yield self._line(number, int(where), talks[int(where)])

    def _line(self, number: int, where: int, talk: Talk) -> Line:
        told, lot = self.told[where], self._chance.random(6)
        above = _COVERING[talk.label]
        label = above[int(lot[0] / _RAISED * len(above))] if lot[0] < _RAISED else talk.label
        may = [
            each
            for each in talk.members
            if self.cast.everybody[each].clearance.covers(LABELS[label])
        ]
        if not may:
            label, may = talk.label, list(talk.members)
        sender = may[int(lot[1] * len(may))]
        numbers = self.speech.numbers(where)
        deleted = bool(lot[2] < _DELETED)
        if not deleted:
            self.found_in.update(set(numbers.tolist()))
        millis = _BEGAN + number * _STEP
        id_ = UUID(int=millis << 80 | 0x7 << 76 | 0b10 << 62 | number)
        seq = len(told.labels) + 1
        named = None
        if lot[3] < _NAMING and not deleted:
            named = talk.members[int(lot[4] * len(talk.members))]
            told.named.append((seq, named))
        told.labels.append(0 if deleted else label + 1)
        told.senders.append(sender)
        answered = told.last.get(label) if lot[5] < _ANSWERS else None
        told.last[label], told.newest[label + 1] = id_, millis / 1000
        return Line(
            talk=where,
            seq=seq,
            id=id_,
            label=label,
            sender=sender,
            body="" if deleted else self.speech.text(numbers),
            reply_to=answered,
            named=named,
            at=millis / 1000,
            deleted=deleted,
        )

    def readings(self) -> Iterator[Reading]:
        """Once all has been said."""
        for where, talk in enumerate(self.cast.talks):
            for who in talk.members:
                yield self._reading(where, who)

    def _reading(self, where: int, who: int) -> Reading:
        told, lot = self.told[where], self._chance.random(4)
        end = len(told.labels)
        _, most = _BEHIND[0] if lot[1] < _BEHIND[0][0] else _BEHIND[1]
        last = end if lot[0] < _UP_TO_DATE else max(0, end - 1 - int(lot[2] * most))
        own = [seq for seq, sender in enumerate(told.senders, 1) if sender == who and seq > last]
        if own and lot[3] > _CARELESS:
            last, own = own[-1], []
        return Reading(
            talk=where,
            who=who,
            last=last,
            seen=self.counted(where, last),
            muted=bool(self._chance.random() < _MUTED),
            own=[told.labels[seq - 1] for seq in own if told.labels[seq - 1]],
            apart=self._apart(where, who, last),
            named=[
                (seq, told.labels[seq - 1])
                for seq, named in told.named
                if named == who and seq > last and told.senders[seq - 1] != who
            ],
        )

    def _apart(self, where: int, who: int, last: int) -> Sequence[tuple[int, int]]:
        """Here and there somebody has opened one of the messages that they may see."""
        told, clearance = self.told[where], self.cast.everybody[who].clearance
        lots = self._chance.random(len(told.labels) - last)
        return [
            (seq, told.labels[seq - 1])
            for seq, lot in enumerate(lots.tolist(), last + 1)
            if lot < _OPENED
            and told.labels[seq - 1]
            and told.senders[seq - 1] != who
            and clearance.covers(LABELS[told.labels[seq - 1] - 1])
        ]

    def counted(self, where: int, upto: int) -> Sequence[int]:
        """Messages that are not deleted, by the number of their label."""
        labels = np.array(self.told[where].labels[:upto], dtype=np.int64)
        many: list[int] = np.bincount(labels, minlength=len(LABELS) + 1)[1:].tolist()
        return many
