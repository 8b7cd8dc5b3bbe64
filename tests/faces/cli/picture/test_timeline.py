"""When steps ran, on a line."""

from dataclasses import replace

from portico.faces.cli.picture.bars import bar, brief, ruler
from portico.faces.cli.picture.timeline import axis
from portico.faces.cli.picture.view import Items, State, StepView, Wait, WorkflowView
from tests.faces.cli.picture.scenes import a_step, a_view, at


def drawn(step: StepView, view: WorkflowView, now: float, width: int = 20) -> str:
    return bar(step, view, at(now), axis(view, at(now), width))


def test_a_step_is_drawn_when_it_ran() -> None:
    first, second = a_step("a", ran=(0, 5)), a_step("b", "a", ran=(5, 10))
    view = a_view(first, second)

    assert drawn(first, view, 10) == "━" * 10 + " " * 10
    assert drawn(second, view, 10) == " " * 10 + "━" * 10


def test_half_a_letter_is_drawn_as_half() -> None:
    step = a_step("a", ran=(0, 1.5))

    assert drawn(step, a_view(step, a_step("b", ran=(0, 20))), 20) == "━╸" + " " * 18


def test_however_short_it_was_it_is_seen() -> None:
    step = a_step("a", ran=(10, 10))

    assert drawn(step, a_view(step, a_step("b", ran=(0, 10))), 10).strip() == "╺"


def test_one_that_runs_goes_on_until_now() -> None:
    step = a_step("a", ran=(0, None))

    assert drawn(step, a_view(step), 7) == "━" * 20


def test_what_has_not_begun_is_not_drawn() -> None:
    assert drawn(a_step("a"), a_view(a_step("a")), 7).strip() == ""


def test_time_in_which_it_waited_is_dotted() -> None:
    step = a_step("a", ran=(0, None), state=State.WAITING, waits=(Wait(at(5)),))
    view = a_view(step, a_step("b", ran=(0, None)))

    assert drawn(step, view, 10) == "━" * 10 + "┄" * 10


def test_after_a_wait_it_runs_again() -> None:
    step = a_step("a", ran=(0, 10), waits=(Wait(at(2), at(8)),))
    view = a_view(step, a_step("b", ran=(0, 10)))

    assert drawn(step, view, 10) == "━" * 4 + "┄" * 12 + "━" * 4


def test_long_time_in_which_nothing_ran_is_drawn_short_and_said() -> None:
    step = a_step("a", ran=(0, 3_610), waits=(Wait(at(5), at(3_605)),))
    line = axis(a_view(step), at(3_610), 40)

    assert bar(step, a_view(step), at(3_610), line) == "━" * 16 + "╸" + "┄" * 6 + "╺" + "━" * 16
    assert "≈60m00" in ruler(line)


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

    assert ruler(axis(a_view(step), at(10), 40)) == "0 s                 5 s                 "
    wider = ruler(axis(a_view(step), at(10), 60))
    assert " ".join(wider.split()) == "0 s 2 s 4 s 6 s 8 s"


def test_a_line_that_is_years_long_has_a_ruler_too() -> None:
    step = a_step("a", ran=(0, 1e8))

    assert ruler(axis(a_view(step), at(1e8), 40)).startswith("0 s")


def test_a_wait_of_a_year_does_not_take_one_to_draw() -> None:
    step = a_step("a", ran=(0, 3e7), waits=(Wait(at(1), at(3e7 - 1)),))

    assert "≈347 d" in ruler(axis(a_view(step), at(3e7), 60))


def test_what_began_before_the_first_moment_known_begins_with_it() -> None:
    step = a_step("a", ran=(-5, 10))

    assert drawn(step, a_view(step), 10) == "━" * 20


def test_before_it_began_there_is_nothing_on_the_line() -> None:
    view = replace(a_view(a_step("a")), began=None)

    assert ruler(axis(view, at(10), 20)).startswith("0 s")


def test_a_time_is_told_in_few_letters() -> None:
    times = (0.44, 12.3, 100, 6_060, 1e6)

    assert [brief(each) for each in times] == ["0.4 s", "12 s", "1m40", "1h41", "11 d"]
