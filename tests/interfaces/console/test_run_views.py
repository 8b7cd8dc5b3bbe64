"""From what is written down of runs to what their page draws and says."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from portico.engine.core.runs import Failure, RunStatus
from portico.interfaces.console.screens.run.graph import Way, line_look, note_of
from portico.interfaces.console.screens.run.run_view import (
    chosen,
    critical_of,
    figures_of,
    of_run,
    powers_of,
    serial_time,
    status_badge,
    title_of,
)
from portico.interfaces.console.screens.run.steps import (
    LineagePartStyle,
    gave_of,
    given_of,
    lined,
    mishap_of,
    steps_in,
    uncertain_calls,
)
from portico.interfaces.console.screens.run.tasks import (
    Sort,
    Span,
    State,
    Task,
    owner_of,
    tasks_of_journal,
    tasks_of_plan,
)
from portico.interfaces.console.screens.run.timeline import Unit
from portico.kernel.json import JsonObject
from portico.workflows.core.plan_report import Items, StepStatus
from tests.interfaces.console.run_words import (
    a_principal,
    a_run,
    a_seen,
    a_task,
    at,
    report,
    row,
    step,
)


def test_a_read_that_was_tried_again_has_a_bar_an_attempt() -> None:
    journal = [
        row("get", 0, 3),
        row("get:retried:1", 1, 1, output={"seconds": 0.5}),
    ]

    [task] = tasks_of_plan(report(step("get", StepStatus.DONE)), journal)

    assert task.spans == [Span(at(0), at(1), Sort.FAILED), Span(at(1.5), at(3))]


def test_what_waits_for_a_yes_is_drawn_as_waiting() -> None:
    journal = [
        row("send", 0, 0.1, output={"approval": "apr_1"}),
        row("send:waiting", 0.1, 0.1),
        row("signal:~approval:send:1", 0.1),
    ]

    [task] = tasks_of_plan(report(step("send", StepStatus.WAITING)), journal)

    assert [span.sort for span in task.spans] == [Sort.RAN, Sort.WAITED]
    assert task.state is State.WAITING
    assert task.took(at(100)) == timedelta(seconds=0.1)


def test_what_is_under_way_began_when_what_it_waits_for_was_over() -> None:
    steps = (step("a", StepStatus.DONE), step("b", StepStatus.RUNNING, "a"))

    tasks = tasks_of_plan(report(*steps), [row("a", 0, 2)])

    assert tasks[1].spans == (Span(at(2), None),)


def test_of_a_step_for_each_item_every_item_is_a_span() -> None:
    items = step("read", StepStatus.DONE, items=Items(2, 2))
    journal = [row("read~items", 0, 0.1), row("read[0]", 1, 2), row("read[1]", 1, 3)]

    [task] = tasks_of_plan(report(items), journal)

    assert len(task.spans) == 2
    assert note_of(Unit("read", (task,))) == "box · done 2/2"


@pytest.mark.parametrize("room", [16, 23])
@pytest.mark.parametrize("state", [State.DONE, State.WAITING])
def test_a_note_fits_into_its_box(state: State, room: int) -> None:
    task = Task(name="refund", tool="demo-orders.refund_order", state=state)

    note = note_of(Unit("refund", (task,)), room)

    assert note.endswith(state.text)
    assert len(note) <= max(room, len(state.text) + 7)


@pytest.mark.parametrize(
    ("name", "kind", "task"),
    [
        ("read[3]~approved", "workflow", "read"),
        ("signal:~uncertain:send:1", "workflow", "send"),
        ("signal:~approval:call-3-0:1", "agent", "call-3-0"),
        ("call-3-0~2", "agent", "call-3-0"),
        ("signal:answer", "drill", "signal:answer"),
        ("round-1/anna", "debate", "round-1/anna"),
    ],
)
def test_a_name_in_a_journal_belongs_to_a_task(name: str, kind: str, task: str) -> None:
    assert owner_of(name, kind) == task


def test_a_journal_without_overlaps_is_a_chain() -> None:
    tasks = tasks_of_journal(a_run(), [row("a", 0, 1), row("b", 1, 2), row("c", 2, 3)])

    assert [task.needs for task in tasks] == [(), ("a",), ("b",)]


def test_what_was_on_at_once_stands_side_by_side() -> None:
    journal = [row("a", 0, 1), row("b", 1, 3), row("c", 1, 2), row("d", 3, 4)]

    needs: Mapping[str, tuple[str, ...]] = {
        task.name: tuple(task.needs) for task in tasks_of_journal(a_run(), journal)
    }

    assert needs == {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}


def test_a_pause_is_no_work_and_a_wait_is_named() -> None:
    journal = [row("pause-1", 0, 1, due_at=at(1)), row("signal:answer", 1)]

    pause, wait = tasks_of_journal(a_run(), journal)

    assert (pause.works, wait.works) == (False, False)
    assert (wait.tool, wait.state) == ("wait for answer", State.ASLEEP)


def test_what_an_agent_waits_for_is_drawn_with_its_call() -> None:
    journal = [
        row("call-1-0", 0, 1, output={"approval": "apr_1"}),
        row("signal:~approval:call-1-0:1", 1),
    ]

    [task] = tasks_of_journal(a_run("agent", RunStatus.WAITING), journal)

    assert (task.state, task.approval) == (State.WAITING, "apr_1")


def test_values_say_where_they_come_from() -> None:
    given: JsonObject = {
        "title": "Week 46",
        "body": {"$from": "merge.json.content", "default": None},
        "text": {"$text": "Dear ${who.json.name}, ${item} of ${inputs.n}"},
        "labels": ["report", 1],
        "deep": {"list": [{"$from": "read"}]},
    }

    lines = lined(given).lines

    text = ["".join(piece.text for piece in line) for line in lines]
    assert text[:5] == [
        "{",
        '  "title": "Week 46",',
        '  "body": ← merge.json.content or null,',
        '  "text": "Dear ← who.json.name, ← item of ← inputs.n",',
        '  "labels": ["report", 1],',
    ]
    linked = {piece.step for line in lines for piece in line if piece.look is LineagePartStyle.FROM}
    assert linked == {"merge", "who", "read", None}
    assert steps_in(given) == ["merge", "who", "read"]


def test_what_is_no_reference_is_text_and_what_is_long_is_cut() -> None:
    odd = lined([{"$from": "("}, {"$text": "${"}, "x" * 5000, *range(500)])

    assert odd.cut
    assert max(len(piece.text) for line in odd.lines for piece in line) < 700


def test_a_plan_says_more_of_a_step_than_its_arguments() -> None:
    lines, sources, facts = given_of(
        {
            "id": "read",
            "for_each": {"in": {"$from": "list.json.entries"}},
            "on_error": {"fallback": "other"},
            "tries": 3,
            "timeout": 20,
            "when": "list.json.many",
        }
    )

    assert lines is not None
    assert sources == ["list"]
    assert {fact.name: fact.value for fact in facts} == {
        "For each of": "← list.json.entries",
        "Only when": "list.json.many",
        "Given up after": "20 s",
        "Tries at most": "3",
        "If it fails": "other instead",
    }


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ('{"content": [], "json": {"a": 1}, "text": "x"}', '{\n  "a": 1\n}'),
        ('{"content": [], "json": null, "text": "words"}', "words"),
        ('{"words": "it broke"}', "it broke"),
        ("no json {", "no json {"),
        ("[1]", "[\n  1\n]"),
    ],
)
def test_what_was_given_is_shown_without_its_wrapping(kept: str, shown: str) -> None:
    assert gave_of(kept, size=None, whole=True).text == shown


def test_an_error_says_how_it_is_mended() -> None:
    task = a_task("send", State.FAILED, why="The mail is down.", code="upstream_down")

    told = mishap_of(task, '{"words": "…", "fix": "Start it."}')

    assert told is not None
    assert (told.code, told.fix) == ("upstream_down", "Start it.")
    assert mishap_of(a_task("send", State.DONE), None) is None


def test_of_what_nobody_knows_the_calls_are_named() -> None:
    journal = [row("signal:~uncertain:send[3]:1", 0), row("signal:~uncertain:other:1", 0)]

    assert uncertain_calls(a_task("send", State.UNCERTAIN), journal) == ["send[3]"]
    assert uncertain_calls(a_task("mail", State.UNCERTAIN), journal) == ["mail"]


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
