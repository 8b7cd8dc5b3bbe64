"""When steps ran, on a line."""

from dataclasses import replace
from typing import Any

import pytest

from portico.interfaces.cli.workflow_view import (
    Items,
    State,
    StepView,
    Wait,
    WorkflowView,
    axis,
    bar,
    brief,
    ruler,
)
from tests.interfaces.cli.picture.scenes import a_step, a_view, at


def drawn(step: StepView, view: WorkflowView, now: float, width: int = 20) -> str:
    return bar(step, view, at(now), axis(view, at(now), width))


def ruled(step: StepView, now: float, width: int) -> str:
    return ruler(axis(a_view(step), at(now), width))


ON = (0.0, None)
PARKED = {"state": State.WAITING, "waits": (Wait(at(5)),)}


@pytest.mark.parametrize(
    ("ran", "known", "other", "now", "line"),
    [
        ((0, 5), {}, (5, 10), 10, "━" * 10 + " " * 10),
        ((5, 10), {}, (0, 5), 10, " " * 10 + "━" * 10),
        ((0, 1.5), {}, (0, 20), 20, "━╸" + " " * 18),
        (ON, {}, None, 7, "━" * 20),
        (None, {}, None, 7, " " * 20),
        (ON, PARKED, ON, 10, "━" * 10 + "┄" * 10),
        ((0, 10), {"waits": (Wait(at(2), at(8)),)}, (0, 10), 10, "━" * 4 + "┄" * 12 + "━" * 4),
        ((-5, 10), {}, None, 10, "━" * 20),
    ],
    ids=["when it ran", "later", "half a letter", "still runs", "not begun", "waits",
         "after a wait it runs again", "begun before the first moment known"],
)  # fmt: skip
def test_a_step_is_drawn_when_it_ran(  # a column each
    *, ran: Any, known: dict[str, Any], other: Any, now: float, line: str
) -> None:
    step = a_step("a", ran=ran, **known)
    others = [] if other is None else [a_step("b", ran=other)]

    assert drawn(step, a_view(step, *others), now) == line


def test_however_short_it_was_it_is_seen() -> None:
    step = a_step("a", ran=(10, 10))

    assert drawn(step, a_view(step, a_step("b", ran=(0, 10))), 10).strip() == "╺"


def test_long_time_in_which_nothing_ran_is_drawn_short_and_said() -> None:
    step = a_step("a", ran=(0, 3_610), waits=(Wait(at(5), at(3_605)),))

    assert drawn(step, a_view(step), 3_610, 40) == "━" * 16 + "╸" + "┄" * 6 + "╺" + "━" * 16
    assert "≈60m00" in ruled(step, 3_610, 40)
    year = a_step("a", ran=(0, 3e7), waits=(Wait(at(1), at(3e7 - 1)),))
    assert "≈347 d" in ruled(year, 3e7, 60), "it does not take a year to draw one"


def test_time_in_which_something_else_ran_is_not_drawn_short() -> None:
    step = a_step("a", ran=(0, 100), waits=(Wait(at(5), at(95)),))

    assert not axis(a_view(step, a_step("b", ran=(0, 100))), at(100), 40).idle


def test_one_of_many_that_waits_does_not_stop_the_others() -> None:
    many = a_step("a", ran=(0, 10), items=Items(5, 5), waits=(Wait(at(1), at(9)),))

    assert drawn(many, a_view(many), 10) == "━" * 20
    assert "┄" in drawn(many, a_view(many, parked=(Wait(at(4), at(6)),)), 10)
    assert "┄" not in drawn(many, a_view(many, parked=(Wait(at(11)),)), 12)


def test_the_ruler_has_marks_that_do_not_touch() -> None:
    step = a_step("a", ran=(0, 10))

    assert ruled(step, 10, 40) == "0 s                 5 s                 "
    assert ruled(step, 10, 60).split() == ["0", "s", "2", "s", "4", "s", "6", "s", "8", "s"]
    assert ruled(a_step("a", ran=(0, 1e8)), 1e8, 40).startswith("0 s"), "however long it is"
    begun = replace(a_view(a_step("a")), started=None)
    assert ruler(axis(begun, at(10), 20)).startswith("0 s"), "before it began"


def test_a_time_is_told_in_few_letters() -> None:
    times = (0.44, 12.3, 100, 6_060, 1e6)

    assert [brief(each) for each in times] == ["0.4 s", "12 s", "1m40", "1h41", "11 d"]
