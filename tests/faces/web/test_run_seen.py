"""What a run page says of a run: its numbers, what to look at, what may be done."""

from datetime import timedelta

import pytest

from portico.engine.core.run import Failure, RunStatus
from portico.faces.web.screens.run.figures import figures_of, serial_time
from portico.faces.web.screens.run.plan_view import Way, line_look
from portico.faces.web.screens.run.seen import (
    chosen,
    critical_of,
    of_run,
    powers_of,
    status_badge,
    title_of,
)
from portico.faces.web.screens.run.tasks import Sort, Span, State, Task
from tests.faces.web.run_words import (
    a_principal,
    a_run,
    a_seen,
    a_task,
    at,
)


def test_what_a_person_should_look_at_first_is_chosen() -> None:
    done, failed = a_task("a", State.DONE), a_task("b", State.FAILED)
    waits = a_task("c", State.WAITING)

    assert chosen(a_seen("workflow", "waiting", done, failed, waits), None) is waits
    assert chosen(a_seen("workflow", "failed", done, failed), None) is failed
    assert chosen(a_seen("workflow", "done", done), "nothing") is done
    assert chosen(a_seen("workflow", "waiting", done, waits), "a") is done
    assert chosen(a_seen("workflow", "queued"), None) is None


def test_how_much_was_saved_counts_no_standing_in_line() -> None:
    alike = [
        Task(name=f"s{n}", tool="box.look", state=State.DONE, spans=[Span(at(0), at(n + 1))])
        for n in range(20)
    ]
    two = [
        a_task("a", State.DONE, Span(at(0), at(2))),
        a_task("b", State.DONE, Span(at(0), at(2))),
    ]

    assert serial_time(alike, at(50)) == timedelta(seconds=20)
    assert figures_of(a_seen("workflow", "done", *two), at(2)).speed_up == 2.0


def test_idle_time_is_what_nobody_worked_in() -> None:
    task = a_task("a", State.WAITING, Span(at(0), at(2)), Span(at(2), None, Sort.WAITED))

    figures = figures_of(a_seen("workflow", "waiting", task), at(100))

    assert (figures.elapsed, figures.idle) == (timedelta(seconds=100), timedelta(seconds=98))
    assert figures.since is None


def test_a_chain_has_no_critical_path_and_a_fork_has() -> None:
    a = a_task("a", State.DONE, Span(at(0), at(1)))
    b = a_task("b", State.DONE, Span(at(1), at(5)), needs=("a",))
    c = a_task("c", State.DONE, Span(at(1), at(2)), needs=("a",))

    assert critical_of([a, b], at(9)) == frozenset()
    assert critical_of([a, b, c], at(9)) == {"a", "b"}


@pytest.mark.parametrize(
    ("kind", "status", "mine", "scopes", "may"),
    [
        ("workflow", "running", True, ["tools:call"], {"cancel", "fork"}),
        ("workflow", "failed", True, ["tools:call"], {"resume", "fork", "rerun"}),
        ("workflow", "done", True, ["tools:call"], {"fork", "rerun"}),
        ("workflow", "running", False, ["tools:call"], set()),
        ("workflow", "running", False, ["tools:call", "runs:control"], {"cancel"}),
        ("agent", "running", True, ["tools:call"], set()),
        ("agent", "running", True, ["agents:run"], {"cancel"}),
        ("debate", "running", False, ["debates:run", "runs:control"], set()),
        ("drill", "cancelled", True, ["runs:write"], {"resume", "fork", "rerun"}),
        ("drill", "running", True, [], set()),
    ],
)
def test_what_is_offered_is_what_may_be_done(
    kind: str,
    status: str,
    mine: bool,  # a table
    scopes: list[str],
    may: set[str],
) -> None:
    powers = powers_of(a_seen(kind, status, mine=mine), a_principal(*scopes), person=True)

    offered = {name for name in ("cancel", "resume", "fork", "rerun") if getattr(powers, name)}
    assert offered == may


def test_a_run_says_of_itself_what_everybody_may_know() -> None:
    failure = Failure("StepFailed", "It said no [in full: res_01m7m93ng8fzhsx304z6g7a22e]", "no")
    run = a_run("workflow", RunStatus.FAILED, input={"name": "tidy_up"}, failure=failure)

    seen = of_run(run, a_principal())

    assert (seen.title, seen.mine, seen.over) == ("Tidy up", True, True)
    assert seen.error is not None
    assert seen.error.message == "It said no"
    assert status_badge(seen) == ("Failed", "bad")
    assert title_of("clerk", "agent") == "clerk"


def test_links_keep_what_one_looks_at() -> None:
    way = Way("/runs/run_1", "1.2", "read me")

    assert way.to(step="a&b") == "/runs/run_1?zoom=1.2&find=read+me&step=a%26b"
    assert Way("/runs/run_1").to() == "/runs/run_1"


def test_an_edge_flows_where_something_runs() -> None:
    assert line_look(State.DONE, State.RUNNING) == "flow"
    assert line_look(State.DONE, State.QUEUED) == "done"
    assert line_look(State.FAILED, State.SKIPPED) == ""
