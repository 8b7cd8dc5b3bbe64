"""From what the server says to what is shown."""

from typing import Any

import pytest

from portico.interfaces.cli.workflow_events import heard, reported
from portico.interfaces.cli.workflow_view import Items, State, StepView, Wait, WorkflowView
from tests.interfaces.cli.picture.reports import a_report, a_told_step, an_event
from tests.interfaces.cli.picture.scenes import NOON, at

APPROVAL = "apr_01m7fxv1skfhf86xxtf6psvgnn"


def after(*events: dict[str, Any], report: dict[str, Any] | None = None) -> WorkflowView:
    view = reported(report or a_report(a_told_step("read"), a_told_step("mail", "read")))
    for event in events:
        view = heard(view, event)
    return view


def step(name: str, *events: dict[str, Any], **known: Any) -> StepView:
    return after(*events, report=a_report(a_told_step(name, **known))).steps[name]


def test_a_report_says_how_each_step_stands() -> None:
    view = reported(
        a_report(
            a_told_step("read", state="done", started_at=at(0), finished_at=at(1)),
            a_told_step("mail", "read", items={"all": 5, "over": 2, "failed": 1}),
            status="running",
            critical_path=["read"],
        )
    )

    assert view.steps["read"].state is State.DONE
    assert view.steps["read"].ended == at(1)
    assert view.steps["mail"].needs == ("read",)
    assert view.steps["mail"].items == Items(5, 2, 1)
    assert view.critical == {"read"}
    assert not view.over


def test_why_a_step_failed_is_one_line_that_does_not_move_the_cursor() -> None:
    error = {"code": "tool_failed", "message": "no\x1b[2J\nspace", "type": "X", "step": "read"}

    assert step("read", state="failed", error=error).why == "tool_failed: no\\u{1b}[2J space"
    assert step("read", state="failed", error=error | {"code": None}).why == "no\\u{1b}[2J space"
    assert step("read", state="skipped", why="a\x07b").why == "a\\u{7}b"


@pytest.mark.parametrize(
    ("state", "approval", "asking"),
    [
        ("waiting", APPROVAL, {"read": APPROVAL}),
        ("uncertain", None, {"read": None}),
        ("uncertain", APPROVAL, {"read": None}),
        ("done", None, {}),
    ],
)
def test_a_report_says_who_is_asked(
    state: str, approval: str | None, asking: dict[str, str | None]
) -> None:
    assert step("read", state=state, approval=approval).asking == asking


@pytest.mark.parametrize(
    ("event", "state", "began", "ended", "why"),
    [
        (an_event("step.started", 2, step="read"), State.RUNNING, at(2), None, None),
        (an_event("step.done", 5, step="read", seconds=2), State.DONE, at(3), at(5), None),
        (an_event("step.done", 5, step="read[3]", seconds=2), State.RUNNING, at(3), None, None),
        (an_event("step.failed", 5, step="read", seconds=2, error={"message": "no"}),
         State.PENDING, at(3), None, None),
        (an_event("workflow.step_done", 5, step="read"), State.DONE, None, at(5), None),
        (an_event("workflow.step_failed", 5, step="read", code="timed_out"),
         State.FAILED, None, at(5), "timed_out"),
        (an_event("workflow.step_skipped", 5, step="read", state="skipped", why="not now"),
         State.SKIPPED, None, at(5), "not now"),
        (an_event("workflow.step_skipped", 5, step="read", state="not_needed", why=""),
         State.NOT_NEEDED, None, at(5), ""),
    ],
    ids=["begins", "done, begun so long ago as it took", "one of many", "failed: see the report",
         "all of it done", "all of it failed", "left out", "not needed"],
)  # fmt: skip
def test_an_event_tells_how_its_step_stands(
    *, event: dict[str, Any], state: State, began: Any, ended: Any, why: str | None
) -> None:
    found = step("read", event)

    assert (found.state, found.started, found.ended, found.why) == (state, began, ended, why)


def test_a_wait_begins_when_somebody_is_asked_and_ends_when_it_goes_on() -> None:
    events = [
        an_event("step.started", 0, step="read"),
        an_event("workflow.step_waiting", 1, step="read", approval=APPROVAL),
        an_event("step.done", 9, step="read~approved", seconds=2),
    ]

    waiting = step("read", *events[:2])
    assert waiting.state is State.WAITING
    assert waiting.waits_since == at(1)
    assert waiting.asking == {"read": APPROVAL}
    done = step("read", *events)
    assert done.state is State.DONE
    assert done.waits == (Wait(at(1), at(7)),)
    assert done.asking == {}


def test_the_step_that_only_asked_does_not_end_the_step() -> None:
    asked = an_event("step.done", 1, step="read", seconds=1)
    waits = an_event("workflow.step_waiting", 1, step="read", approval=APPROVAL)

    assert step("read", asked, waits).state is State.WAITING
    assert step("read", asked, waits).ended is None


def test_what_nobody_knows_is_uncertain_and_every_part_of_it_is_named() -> None:
    found = step(
        "pay",
        an_event("workflow.step_uncertain", 1, step="pay[0]", attempt=1),
        an_event("workflow.step_uncertain", 2, step="pay[4]~2", attempt=2),
    )

    assert found.state is State.UNCERTAIN
    assert found.asking == {"pay[0]": None, "pay[4]": None}


def test_a_part_that_goes_on_is_asked_about_no_more() -> None:
    many = {"all": 5, "over": 0, "failed": 0}
    events = [
        an_event("workflow.step_waiting", 1, step="pay[0]", approval=APPROVAL),
        an_event("workflow.step_waiting", 2, step="pay[1]", approval=APPROVAL),
        an_event("step.done", 3, step="pay[0]~approved", seconds=1),
    ]

    assert [*step("pay", *events, items=many).asking] == ["pay[1]"]


def known(told: dict[str, Any], *events: dict[str, Any]) -> StepView:
    """What a report of the tenth second says, and events that come after it has come."""
    view = reported(a_report(told), as_of=at(10))
    for event in events:
        view = heard(view, event)
    return view.steps[told["id"]]


@pytest.mark.parametrize(
    "event",
    [
        an_event("step.started", 1, step="read"),
        an_event("step.done", 1, step="read[1]", seconds=1),
        an_event("step.done", 10, step="read", seconds=1),
        an_event("workflow.step_failed", 1, step="read", code="x"),
        an_event("workflow.step_skipped", 1, step="read", state="skipped", why="x"),
    ],
)
def test_what_is_in_the_report_is_not_changed_by_what_happened_before(
    event: dict[str, Any],
) -> None:
    told = a_told_step("read", state="done", started_at=at(0), finished_at=at(9))

    assert known(told, event) == known(told)


def test_when_it_waited_is_added_to_the_report() -> None:
    told = a_told_step("read", state="done", started_at=at(0), finished_at=at(9))
    asked = an_event("workflow.step_uncertain", 1, step="read")
    found = known(told, asked, an_event("step.started", 4, step="read~2"))

    assert found.state is State.DONE
    assert found.waits == (Wait(at(1), at(4)),)
    assert found.asking == {}


def test_which_of_many_ask_is_added_too() -> None:
    many = {"all": 5, "over": 0, "failed": 0}
    told = a_told_step("pay", state="waiting", approval=APPROVAL, items=many)

    assert known(told).asking == {"pay": APPROVAL}
    found = known(told, an_event("workflow.step_waiting", 1, step="pay[3]", approval=APPROVAL))
    assert found.asking == {"pay[3]": APPROVAL}
    assert found.state is State.WAITING


def test_one_that_runs_has_run_since_it_could() -> None:
    ended = a_told_step("a", state="done", started_at=at(0), finished_at=at(4))
    view = reported(a_report(ended, a_told_step("b", "a", state="running")))

    assert view.steps["b"].started == at(4)
    assert reported(a_report(a_told_step("b", state="running"))).steps["b"].started == NOON


def test_each_of_many_that_is_done_counts_until_the_report_says_so() -> None:
    many = {"all": 3, "over": 1, "failed": 0}
    told = a_told_step("read", state="running", items=many, started_at=at(0))
    done = [an_event("step.done", 11, step=f"read[{i}]", seconds=1) for i in range(5)]

    assert known(told, *done[:1]).items == Items(3, 2)
    assert known(told, *done).items == Items(3, 3)


def test_what_goes_on_after_its_end_runs_again() -> None:
    over = {"state": "failed", "started_at": at(0), "finished_at": at(9)}

    again = step("read", an_event("step.started", 12, step="read"), **over)
    assert (again.state, again.ended) == (State.RUNNING, None)


def test_how_far_a_tool_is_and_how_often_it_was_tried() -> None:
    found = step(
        "read",
        an_event("workflow.step_progress", 1, step="read", done=30, total=60),
        an_event("workflow.step_progress", 2, step="read[2]", done=1, total=60),
        an_event("workflow.step_progress", 3, step="read", done=1, total=None),
        an_event("workflow.step_retried", 4, step="read", attempt=2, code="x", seconds=1),
    )

    assert found.progress == 0.5
    assert found.tries == 2


def test_the_run_wakes_and_waits() -> None:
    events = [
        an_event("run.started", 0),
        an_event("run.waiting", 5),
        an_event("run.woken", 9),
        an_event("run.waiting", 12),
    ]

    view = after(*events, report=a_report(a_told_step("read"), started_at=None, status="queued"))

    assert view.status == "waiting"
    assert view.started == NOON
    assert view.parked == [Wait(at(5), at(9)), Wait(at(12))]
    assert view.heard_at == at(12)


def test_what_is_over_stays_over_until_it_is_resumed() -> None:
    view = reported(a_report(a_told_step("read"), status="failed"), as_of=at(10))

    assert heard(view, an_event("run.woken", 1)).status == "failed"
    assert heard(view, an_event("run.resumed", 11)).status == "running"


def test_a_later_report_keeps_what_only_events_told() -> None:
    before = after(
        an_event("run.waiting", 5),
        an_event("workflow.step_waiting", 1, step="read", approval=APPROVAL),
    )

    view = reported(
        a_report(a_told_step("read", state="done", started_at=at(0), finished_at=at(9))), before
    )

    assert view.steps["read"].waits == (Wait(at(1), at(9)),)
    assert view.steps["read"].asking == {}
    assert view.parked == before.parked
    assert view.heard_at == at(5)


def test_what_was_left_out_after_all_has_not_run() -> None:
    before = after(an_event("step.started", 1, step="read"))

    running = reported(a_report(a_told_step("read", state="running")), before)
    skipped = reported(a_report(a_told_step("read", state="skipped")), before)

    assert running.steps["read"].started == at(1)
    assert skipped.steps["read"].started is None


def test_of_many_a_report_keeps_which_of_them_ask() -> None:
    many = {"all": 5, "over": 0, "failed": 0}
    report = a_report(a_told_step("pay", items=many, state="waiting", approval=APPROVAL))
    before = after(
        an_event("workflow.step_waiting", 1, step="pay[3]", approval=APPROVAL), report=report
    )

    assert reported(report, before).steps["pay"].asking == {"pay[3]": APPROVAL}


@pytest.mark.parametrize(
    "event",
    [
        an_event("step.done", 1, step="~output", seconds=1),
        an_event("step.done", 1, step="elsewhere", seconds=1),
        an_event("step.done", 1, step="read:skipped", seconds=1),
        an_event("step.done", 1, step="signal:~approval:read:1", seconds=1),
        an_event("text.added", 1, text="x"),
        an_event("workflow.planned", 1, steps=2),
    ],
)
def test_what_is_about_no_step_changes_none(event: dict[str, Any]) -> None:
    assert after(event).steps == after().steps
