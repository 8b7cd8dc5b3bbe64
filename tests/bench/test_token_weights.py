"""How much tokens count, learnt."""

import numpy as np
import pytest

from portico.bench.token_weights import Bags, Lesson, learn_token_weights

NOISE = 9
TABLE = np.random.default_rng(1).standard_normal((12, 6))
TABLE[NOISE] *= 4


def letters(text: str) -> list[int]:
    """A token a digit."""
    return [int(letter) for letter in text]


def a_lesson() -> Lesson:
    """Token 9 is in half of all texts, by chance; the others say which tool is meant."""
    questions, tools = ["0", "119", "22", "339", "49", "5"], ["09", "1", "29", "3", "4", "59"]
    return Lesson(
        questions=Bags.of(questions, letters),
        tools=Bags.of(tools, letters),
        lexical=np.zeros((6, 6)),
        gold=np.eye(6),
    )


def test_what_is_everywhere_by_chance_comes_to_count_less() -> None:
    weights = learn_token_weights([a_lesson()], TABLE)

    assert weights[NOISE] < 0.8 < weights[0]
    assert weights[10] == weights[11] == 1


@pytest.mark.parametrize("token", [0, 2, NOISE])
def test_the_slope_is_that_of_the_loss(token: int) -> None:
    lesson, scale, apart = a_lesson(), np.array([5.0, 0.3]), 1e-6
    weights = np.linspace(0.5, 1.5, len(TABLE))
    _, slope, _ = lesson.loss(TABLE, weights, scale)
    more = weights.copy()
    more[token] += apart

    risen = lesson.loss(TABLE, more, scale)[0] - lesson.loss(TABLE, weights, scale)[0]

    assert risen / apart == pytest.approx(slope[token], rel=1e-2, abs=1e-6)


def test_a_text_without_tokens_is_nought_wherever_it_stands() -> None:
    pooled = Bags.of(["", "1", "", "22", ""], letters).pooled(TABLE)

    assert np.abs(pooled).sum(axis=1).astype(bool).tolist() == [False, True, False, True, False]
    assert pooled[3] == pytest.approx(TABLE[2])
