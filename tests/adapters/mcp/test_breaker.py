"""How long a server that breaks is left alone."""

import pytest

from portico.adapters.mcp.breaker import Breaker


def test_the_first_break_is_forgiven_and_then_each_rest_is_twice_the_last() -> None:
    breaker, rests = Breaker(), []

    for _ in range(9):
        breaker.broke(100.0, luck=0.5)
        rests.append(max(0.0, breaker.until - 100.0))

    assert rests == [0, 1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize(("luck", "rest"), [(0.0, 0.8), (1.0, 1.2)])
def test_no_two_come_back_at_the_same_moment(luck: float, rest: float) -> None:
    breaker = Breaker(strikes=1)

    breaker.broke(0.0, luck)

    assert breaker.until == pytest.approx(rest)


def test_it_rests_until_then_and_an_answer_ends_it_all() -> None:
    breaker = Breaker(strikes=5)
    breaker.broke(0.0, 0.5)

    assert breaker.rests(breaker.until - 0.1)
    assert not breaker.rests(breaker.until)

    breaker.answered()

    assert not breaker.rests(0.0)
    assert breaker.strikes == 0


def test_however_often_it_breaks_there_is_a_longest_rest() -> None:
    breaker = Breaker(strikes=100_000)

    breaker.broke(0.0, 1.0)

    assert breaker.until == pytest.approx(72.0)
