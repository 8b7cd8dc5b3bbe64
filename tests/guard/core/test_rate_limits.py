"""How many of something fit into a minute, wherever one begins to count."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from portico.guard.core.access_request import AccessRequest, ActionTarget
from portico.guard.core.rate_limits import CallRates, FirstAMinute, Limit, RateWindow, Slots
from portico.kernel.effect import Effect
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING

ANA = a_person("ana")


def an_act(tool: str = "github.create_issue") -> AccessRequest:
    server = tool.partition(".")[0]
    return AccessRequest(
        caller=ANA,
        target=ActionTarget(tool=tool, server=server, effect=Effect.EXTERNAL_WRITE, pin="0" * 64),
    )


def test_nothing_limits_what_no_setting_names() -> None:
    assert CallRates().own(an_act()) == CallRates().shared(an_act()) == ()
    assert CallRates(tools={"gitlab.*": 1}, servers={"gitlab": 1}).shared(an_act()) == ()


def test_a_call_counts_for_its_principal_its_server_and_every_wildcard_that_fits() -> None:
    rates = CallRates(
        principal=100,
        servers={"github": 30, "gitlab": 1},
        tools={"github.*": 20, "*.create_*": 10, "github.get_*": 1},
    )

    assert rates.own(an_act()) == (Limit(f"principal:{ANA.id}", "calls by ana", 100),)
    assert rates.shared(an_act()) == (
        Limit("server:github", "calls of the server github", 30),
        Limit("tool:github.*", "calls of github.*", 20),
        Limit("tool:*.create_*", "calls of *.create_*", 10),
    )


def test_a_process_takes_a_hundredth_ahead_and_a_minute_is_cut_into_quarters_of_a_second() -> None:
    assert Limit("x", "x", 1000).ahead == 10
    assert Limit("x", "x", 7).ahead == 1

    slots = Slots()

    assert (slots.seconds, slots.lease, slots.count) == (0.25, 0.5, 243)
    assert Slots(timedelta(seconds=6)).seconds == 0.025


def test_a_burst_is_served_and_then_it_is_said_how_long_to_wait() -> None:
    window = RateWindow(Slots())

    assert [window.take(3, 10.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert window.take(3, 40.0) == 10.0 + 60.75 - 40.0
    assert window.take(3, 70.7) > 0
    assert window.take(3, 70.75) == 0.0


def test_a_limit_that_was_lowered_counts_at_once() -> None:
    window = RateWindow(Slots())
    window.take(2, 0.0)

    assert window.take(1, 1.0) > 0


@given(
    st.integers(min_value=1, max_value=20),
    st.lists(st.floats(min_value=0, max_value=5, allow_nan=False), min_size=1, max_size=300),
)
def test_no_minute_ever_holds_more_than_the_limit(most: int, pauses: list[float]) -> None:
    window, now, taken = RateWindow(Slots()), 1000.0, []
    for pause in pauses:
        now += pause
        if not window.take(most, now):
            taken.append(now)

    for first, beyond in zip(taken, taken[most:], strict=False):
        assert beyond - first > 60.0


@given(st.floats(min_value=0, max_value=1e9, allow_nan=False), st.integers(1, 5))
def test_after_the_wait_that_was_named_there_is_one(now: float, most: int) -> None:
    window = RateWindow(Slots())
    for _ in range(most):
        window.take(most, now)

    wait = window.take(most, now)

    assert 0 < wait <= 60.75
    assert window.take(most, now + wait + 0.01) == 0.0


def test_the_first_of_a_kind_in_a_minute_is_told_and_only_the_latest_are_remembered() -> None:
    first = FirstAMinute()

    assert first("a", BEGINNING)
    assert first("b", BEGINNING)
    assert not first("a", BEGINNING + timedelta(seconds=59))
    assert first("a", BEGINNING + timedelta(seconds=60))

    first = FirstAMinute(remembered=2)

    assert all(first(kind, BEGINNING) for kind in "abc")
    assert not first("c", BEGINNING)
    assert not first("b", BEGINNING)
    assert first("a", BEGINNING)
