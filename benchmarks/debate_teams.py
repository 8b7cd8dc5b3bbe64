"""Voters that err together, simulated as in the lab: the correlation of their errors (0.7) and a
wrong answer that several fall for (0.6) are fitted to the answers of 71 real models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.debate_replay import WHEN
from portico.debate.core.debaters import Debater, DebaterKind
from portico.debate.core.debates import Ballot, DebaterAnswer, KnownOutcome
from portico.debate.core.panel import seated, standing
from portico.debate.core.questions import Question, QuestionKind
from portico.debate.core.votes import learnt_of
from portico.kernel.label import PUBLIC

CHOICES: Final = 4
QUESTION: Final = Question(
    text="Which?", kind=QuestionKind.CHOICE, choices=tuple(map(str, range(CHOICES)))
)
Answers = NDArray[np.int64]
Sure = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Team:
    name: str
    skill: tuple[float, ...]
    together: float = 0.7
    distractor: float = 0.6
    history: int = 100
    tells: float = 0.6
    """How well confidence tells right from wrong: the area under its curve."""


_SIMILAR: Final = (0.80, 0.76, 0.72, 0.68, 0.64)
TEAMS: Final = (
    Team("five alike", _SIMILAR),
    Team("five alike, little history", _SIMILAR, history=30),
    Team("five alike, much history", _SIMILAR, history=300),
    Team("five alike, independent", _SIMILAR, together=0.0, distractor=0.33),
    Team("five alike, telling confidence", _SIMILAR, tells=0.75),
    Team("one strong, four weak", (0.86, 0.60, 0.58, 0.55, 0.52)),
    Team("one strong, two weak", (0.85, 0.60, 0.55)),
    Team("two strong, three weak", (0.85, 0.83, 0.60, 0.55, 0.50)),
    Team("three equal", (0.72, 0.72, 0.72)),
    Team("two", (0.80, 0.65)),
    Team("seven", (0.82, 0.78, 0.75, 0.70, 0.66, 0.62, 0.58)),
    Team("five weak", (0.50, 0.48, 0.45, 0.42, 0.40)),
)


@dataclass(frozen=True, slots=True)
class Drawn:
    answers: Answers
    sure: Sure
    right: Answers


def draw(team: Team, count: int, chance: np.random.Generator) -> Drawn:
    """A hidden difficulty is shared; who is wrong falls for the popular error more often."""
    size = (count, len(team.skill))
    shared, own = chance.standard_normal((count, 1)), chance.standard_normal(size)
    needed = np.array([NormalDist().inv_cdf(each) for each in team.skill])
    correct = np.sqrt(team.together) * shared + np.sqrt(1 - team.together) * own < needed
    popular = chance.integers(1, CHOICES, (count, 1))
    falls = chance.random(size) < team.distractor
    wrong = np.where(falls, popular, chance.integers(1, CHOICES, size))
    right = chance.integers(0, CHOICES, count)
    answers = (np.where(correct, 0, wrong) + right[:, None]) % CHOICES
    lift = NormalDist().inv_cdf(team.tells) * np.sqrt(2) * 0.08
    sure = 0.86 + lift * (correct - 0.5) + 0.08 * chance.standard_normal(size)
    return Drawn(answers, np.round(np.clip(sure, 0.3, 0.99) * 20) / 20, right)


def voices_of(team: Team) -> tuple[Debater, ...]:
    return tuple(
        Debater(
            name=f"v{at}",
            kind=DebaterKind.MODEL,
            target=f"v{at}",
            family=f"f{at}",
            clearance=PUBLIC,
        )
        for at in range(len(team.skill))
    )


def known_of(past: Drawn) -> Sequence[KnownOutcome]:
    return [
        KnownOutcome(
            topic="general",
            ballots=tuple(
                Ballot(f"v{at}", f"c:{key}", float(sure))
                for at, (key, sure) in enumerate(zip(answers, sures, strict=True))
            ),
            right=f"c:{right}",
            choices=CHOICES,
            at=WHEN,
        )
        for answers, sures, right in zip(past.answers, past.sure, past.right, strict=True)
    ]


def said_of(answers: Sequence[int], sure: Sequence[float]) -> Sequence[DebaterAnswer]:
    return [
        DebaterAnswer(
            voice=f"v{at}", round=1, answer=str(key), key=f"c:{key}", shown=str(key), confidence=c
        )
        for at, (key, c) in enumerate(zip(answers, sure, strict=True))
    ]


def simulated(team: Team, seed: int, questions: int, histories: int) -> Mapping[str, float]:
    """Share of right decisions by each rule, over several histories of the same team."""
    chance = np.random.default_rng(seed)
    found: dict[str, list[float]] = {}
    for _ in range(histories):
        past, now = draw(team, team.history, chance), draw(team, questions, chance)
        for name, decided in _by_rule(team, past, now, chance).items():
            found.setdefault(name, []).append(float(np.mean(decided == now.right)))
    return {name: 100 * float(np.mean(each)) for name, each in found.items()}


def _by_rule(
    team: Team, past: Drawn, now: Drawn, chance: np.random.Generator
) -> Mapping[str, Answers]:
    voices = voices_of(team)
    known = known_of(past)
    panel = seated(QUESTION, voices, learnt_of(known, [each.target for each in voices]))
    ours = [
        int(standing(panel, said_of(list(answers), list(sure)))[0][0])
        for answers, sure in zip(now.answers.tolist(), now.sure.tolist(), strict=True)
    ]
    hits = (past.answers == past.right[:, None]).sum(axis=0)
    persona = np.ones(len(team.skill))
    persona[-1] = 1.3
    vote = _weighed(chance)
    return {
        "ours": np.array(ours),
        "best_single": now.answers[:, int(hits.argmax())],
        "majority": vote(now.answers, np.ones_like(now.sure)),
        "seed_vote": vote(now.answers, now.sure),
        "seed_quorum": vote(now.answers, now.sure * persona),
        "agorai_best_pick": now.answers[
            np.arange(len(now.right)), (now.sure + 1e-6 * chance.random(now.sure.shape)).argmax(1)
        ],
    }


def _weighed(chance: np.random.Generator) -> Callable[[Answers, Sure], Answers]:
    def vote(answers: Answers, weights: Sure) -> Answers:
        scores = np.stack([(weights * (answers == key)).sum(axis=1) for key in range(CHOICES)], 1)
        picked: Answers = (scores + 1e-9 * chance.random(scores.shape)).argmax(axis=1)
        return picked

    return vote
