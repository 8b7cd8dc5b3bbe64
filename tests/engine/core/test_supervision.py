"""A server that dies is started again, ever later; the worst that was found is how it is."""

from itertools import accumulate

import pytest

from portico.engine.core.store import Finding, Patience, State, in_a_row, pause, worst

FEW = Patience(quick=30, most=4, first=1, longest=3)


@pytest.mark.parametrize(
    ("deaths", "wait"), [(0, 1.0), (1, 1.0), (2, 2.0), (3, 3.0), (4, None), (5, None)]
)
def test_each_time_it_is_waited_twice_as_long_until_it_is_enough(
    deaths: int, wait: float | None
) -> None:
    assert pause(deaths, FEW) == wait


@pytest.mark.parametrize(("lived", "deaths"), [(0.0, 3), (29.9, 3), (30.0, 0), (9000.0, 0)])
def test_one_that_had_been_well_does_not_count(lived: float, deaths: int) -> None:
    assert in_a_row(2, lived, FEW) == deaths


def test_as_it_comes_it_tries_for_a_minute_and_no_longer() -> None:
    usual = Patience()

    waits = [pause(deaths, usual) for deaths in range(1, usual.most + 1)]

    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, None]
    assert max(accumulate(wait for wait in waits if wait is not None)) < 90


@pytest.mark.parametrize(
    ("states", "found"),
    [
        ([], State.GOOD),
        ([State.GOOD, State.GOOD], State.GOOD),
        ([State.MENDED, State.GOOD], State.MENDED),
        ([State.GOOD, State.WARNING, State.MENDED], State.WARNING),
        ([State.BROKEN, State.WARNING, State.GOOD], State.BROKEN),
    ],
)
def test_one_broken_thing_outweighs_all_that_is_good(states: list[State], found: State) -> None:
    findings = [Finding(check=str(state), state=state, detail="") for state in states]

    assert worst(findings) is found
