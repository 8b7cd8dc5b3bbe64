"""Recorded debates held again by the rules of the product: row after row, with what the rows before
taught. The very functions that a session asks decide whom to ask, when to stop and what wins."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.debate_rows import Row
from portico.debate.core.debaters import Debater, DebaterKind
from portico.debate.core.debates import Ballot, DebaterAnswer, KnownOutcome
from portico.debate.core.panel import critique_worth, next_voice, seated, settled, standing
from portico.debate.core.questions import Preset, Question, QuestionKind, Rules, rules_of
from portico.debate.core.votes import LearnedWeighting, Panel, learnt_of
from portico.kernel.label import PUBLIC

WHEN: Final = datetime(2026, 1, 1, tzinfo=UTC)
LESSONS: Final = (200, 300, 400, 600, 800, 1_100, 1_500, 2_000, 2_600, 3_300, 4_000)
"""Rows after which it learns anew from all of them."""
_TOKENS: Final = 1_000
_MODEL: Final = "recorded:gpt-3.5"
VOICES: Final = tuple(
    Debater(
        name=_MODEL if at == 1 else f"{_MODEL}#{at}",
        kind=DebaterKind.MODEL,
        target=_MODEL,
        family="openai",
        clearance=PUBLIC,
    )
    for at in range(1, 5)
)
"""One model, asked four times: there is no voice to be told from another."""

POINTS: Final = (
    *((Preset.VOTE, each / 20) for each in (0, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18)),
    *((Preset.DEBATE, each / 10) for each in (5, 10)),
)
"""Presets and thoroughness along the frontier."""
Point = tuple[Preset, float]


@dataclass(frozen=True, slots=True)
class Held:
    """By row, at one point."""

    right: NDArray[np.float64]
    calls: NDArray[np.float64]
    sure: NDArray[np.float64]


def known_of(row: Row, order: Sequence[str | None], topic: str) -> KnownOutcome:
    """As if its outcome had been marked."""
    return KnownOutcome(
        topic=topic,
        ballots=tuple(Ballot(_MODEL, key, None) for key in order if key is not None),
        right=row.right if row.right in order else None,
        at=WHEN,
    )


def replay(
    rows: Sequence[Row],
    seed: int,
    topic_of: Callable[[Row], str],
    progress: Callable[[str], None],
    points: Sequence[Point] = POINTS,
) -> Mapping[Point, Held]:
    chance = np.random.default_rng(seed)
    turn = [int(each) for each in chance.permutation(len(rows))]
    rules = {point: rules_of(*point) for point in points}
    held = {point: Held(*(np.zeros(len(rows)) for _ in range(3))) for point in points}
    known: list[KnownOutcome] = []
    learnt = learnt_of(known, [_MODEL])
    for count, at in enumerate(turn):
        if count in LESSONS:
            progress(f"seed {seed}: row {count} of {len(rows)}")
            learnt = learnt_of(known, [_MODEL])
        row = rows[at]
        orders = row.orders()
        order = orders[int(chance.integers(len(orders)))]
        table = _Table(row, order, topic_of(row), learnt)
        for point in points:
            _note(held[point], at, table, rules[point])
        known.append(known_of(row, order, topic_of(row)))
    return held


def _note(held: Held, at: int, table: "_Table", rules: Rules) -> None:
    shown, sure, calls = table.hold(rules)
    held.right[at], held.sure[at], held.calls[at] = shown == table.row.right, sure, calls


class _Table:
    """One row, as a session would hold it."""

    def __init__(
        self, row: Row, order: Sequence[str | None], topic: str, learnt: LearnedWeighting
    ) -> None:
        question = Question(text="", kind=QuestionKind.NUMBER, topic=topic)
        self.row = row
        self._voices = VOICES[: len(order)]
        self._panel: Panel = seated(question, VOICES, learnt)
        self._answers = [
            None if key is None else _said(voice, key)
            for voice, key in zip(self._voices, order, strict=True)
        ]

    def hold(self, rules: Rules) -> tuple[str | None, float, int]:
        """The likeliest answer, how likely it is, and the calls it took."""
        asked = min(rules.first, len(self._voices))
        while asked < min(len(self._voices), rules.voices_most):
            left = self._voices[asked : rules.voices_most]
            said = self._heard(asked)
            if settled(self._panel, said, left, rules) is not None:
                break
            if next_voice(self._panel, said, [(each, _TOKENS) for each in left], rules) is None:
                break
            asked += 1
        said, calls = self._criticised(self._heard(asked), asked, rules)
        stands = standing(self._panel, said)
        return (*stands[0], calls) if stands else (None, 0.0, calls)

    def _heard(self, asked: int) -> Sequence[DebaterAnswer]:
        return [each for each in self._answers[:asked] if each is not None]

    def _criticised(
        self, said: Sequence[DebaterAnswer], asked: int, rules: Rules
    ) -> tuple[Sequence[DebaterAnswer], int]:
        """Only what was recorded can be replayed: who was not debated then is not now."""
        wished = rules.rounds > 1 and asked == len(self._voices) and self.row.rounds > 1
        if not wished or not critique_worth(self._panel, said, _TOKENS, rules):
            return said, asked
        later = [
            _said(voice, key, round_=2)
            for voice, key in zip(self._voices, self.row.last, strict=False)
            if key is not None and any(each.voice == voice.name for each in said)
        ]
        return [*said, *later], self.row.whole


def _said(voice: Debater, key: str, round_: int = 1) -> DebaterAnswer:
    because = "an error was named" if round_ > 1 else None
    return DebaterAnswer(
        voice=voice.name, round=round_, answer=key, key=key, shown=key, changed_because=because
    )
