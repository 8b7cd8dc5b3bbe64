"""What benchmarks learn and judge by: weights, low points, how sure and how right."""

import numpy as np
import pytest

from benchmarks.listwise import Candidates, learn_weights
from benchmarks.minimise import Point, minimise
from benchmarks.reliability import Bin, expected_error, reliability
from benchmarks.search_folds import found_at
from benchmarks.token_weights import Bags, Lesson, learn_token_weights


def lessons(count: int) -> list[Candidates]:
    """The first kind of evidence knows the right tool, the second knows nothing."""
    draw = np.random.default_rng(3)
    found = []
    for number in range(count):
        rows = draw.standard_normal((2, 12)).astype(np.float32)
        rows[0, number % 12] += 2
        found.append(Candidates.of(rows, [number % 12]))
    return found


def test_what_knows_counts_and_what_does_not_hardly() -> None:
    knowing, idle = learn_weights([lessons(60), lessons(20)])

    assert knowing > 0.8
    assert idle < 0.4


def test_the_right_tools_come_first_and_none_is_there_twice() -> None:
    rows = np.arange(400, dtype=np.float32).reshape(2, 200)

    candidates = Candidates.of(rows, [5, 199])

    assert candidates.features[:2].tolist() == [[5, 205], [199, 399]]
    assert candidates.gold.tolist() == [True, True, *[False] * 149]
    assert len(np.unique(candidates.features[:, 0])) == len(candidates.gold)


def bowl(point: Point) -> tuple[float, Point]:
    steep = np.array([1.0, 30.0, 0.2])
    apart = point - np.array([3.0, -1.0, 5.0])
    return float(steep @ apart**2), 2 * steep * apart


def banana(point: Point) -> tuple[float, Point]:
    x, y = point
    slope = np.array([-400 * x * (y - x * x) - 2 * (1 - x), 200 * (y - x * x)])
    return float(100 * (y - x * x) ** 2 + (1 - x) ** 2), slope


def test_the_bottom_of_a_bowl_is_found() -> None:
    assert minimise(bowl, np.zeros(3), 100) == pytest.approx([3, -1, 5], abs=1e-4)


def test_a_bent_valley_is_followed() -> None:
    assert minimise(banana, np.array([-1.2, 1.0]), 200) == pytest.approx([1, 1], abs=1e-3)


def test_no_step_is_taken_at_the_bottom_or_where_none_leads_down() -> None:
    bottom = np.array([3.0, -1.0, 5.0])

    assert minimise(bowl, bottom, 10) is bottom
    uphill = minimise(lambda point: (float(np.abs(point).sum()), -np.ones(1)), np.zeros(1), 10)
    assert uphill.tolist() == [0]


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


def test_each_thing_is_found_where_its_best_tool_stands() -> None:
    scores = np.array([0.1, 0.9, 0.5, 0.5], np.float32)

    assert found_at(scores, (frozenset({0, 2}), frozenset({3}))) == [1, 2]


def test_the_curve_tells_what_was_said_and_what_was() -> None:
    bins = reliability([0.11, 0.19, 1.0], [False, True, True])

    assert bins[0].said == pytest.approx(0.15)
    assert [(each.was, each.count) for each in bins] == [(0.5, 2), (1.0, 1)]
    assert bins[1] == Bin(1.0, 1.0, 1)
    assert expected_error(bins) == pytest.approx(0.35 * 2 / 3)
    assert expected_error([]) == 0
