"""Liars at full confidence: f of n = 2f+1 voices say the same wrong thing, the others agree, and
all have the same record. Whoever loses to them counts as flipped."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from benchmarks.debate_replay import WHEN
from benchmarks.debate_teams import CHOICES, QUESTION, Team, said_of, voices_of
from portico.debate.core.debates import Ballot, KnownOutcome, Why
from portico.debate.core.panel import panel_of
from portico.debate.core.questions import Preset, rules_of
from portico.debate.core.votes import decide

SIZES: Final = (3, 5, 7, 9)
_PAST: Final = 60


def flipped(seed: int, tries: int) -> Mapping[str, int]:
    """How often the liars' answer was decided on, with equal records and with none; and how often
    the seed's rule and Agorai's would have."""
    chance = np.random.default_rng(seed)
    found = {"ours": 0, "undecided": 0, "seed_vote": 0, "agorai_best_pick": 0}
    for size in SIZES:
        voices = voices_of(Team("", (0.7,) * size))
        for known in ((), _equal_records(size, chance)):
            panel = panel_of(QUESTION, voices, known)
            rules = rules_of(Preset.VOTE, 0.5)
            for _ in range(tries):
                answers, sure = _with_liars(size, chance)
                decision = decide(panel, said_of(answers, sure), rules, Why.ALL_ASKED)
                found["ours"] += decision.answer == "1"
                found["undecided"] += decision.answer is None
                liars, honest = _sums(answers, sure)
                found["seed_vote"] += liars > honest
                found["agorai_best_pick"] += 1
    return found


def _equal_records(size: int, chance: np.random.Generator) -> Sequence[KnownOutcome]:
    """Each has been right seven times of ten, and as sure as any."""
    return [
        KnownOutcome(
            topic="general",
            ballots=tuple(
                Ballot(f"v{at}", "c:0" if (turn + at) % 10 < 7 else "c:2", sure)
                for at in range(size)
            ),
            right="c:0",
            choices=CHOICES,
            at=WHEN,
        )
        for turn, sure in enumerate(np.round(chance.uniform(0.5, 1.0, _PAST), 2).tolist())
    ]


def _with_liars(size: int, chance: np.random.Generator) -> tuple[list[int], list[float]]:
    liars = frozenset(chance.permutation(size)[: size // 2].tolist())
    answers = [1 if at in liars else 0 for at in range(size)]
    sure = [1.0 if at in liars else float(chance.uniform(0.3, 0.95)) for at in range(size)]
    return answers, sure


def _sums(answers: Sequence[int], sure: Sequence[float]) -> tuple[float, float]:
    pairs = list(zip(answers, sure, strict=True))
    return sum(each for key, each in pairs if key), sum(each for key, each in pairs if not key)
