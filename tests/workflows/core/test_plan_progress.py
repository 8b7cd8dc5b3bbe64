"""Progress of a plan: which step is next, retries, waits."""

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.engine.core.runs import Failure, Run, RunStatus, Step
from portico.engine.core.runs import StepState as RunsStepState
from portico.kernel.json import JsonObject, JsonValue
from portico.testing.memory_store import BEGINNING
from portico.workflows.core.plan import Graph, Need, critical_path, graph_of
from portico.workflows.core.plan_documents import read_plan
from portico.workflows.core.plan_progress import (
    End,
    Fell,
    LeftOut,
    Moves,
    Progress,
    StepState,
    StepSucceeded,
    asked_calls,
    call_waiting,
    failed_calls,
    inside_of,
    leg_of,
    open_calls,
    rows_of,
    unread_requests,
)
from portico.workflows.core.plan_report import OutlinedStep
from tests.workflows.core.naive import EXPRESSIONS
from tests.workflows.core.plans import plan_documents
from tests.workflows.core.test_plan_report import run as a_run

BOOM = Fell("tool_failed", "it said no")


def step(name: str, *needs: str, **fields: JsonValue) -> JsonObject:
    given = {other: {"$from": f"{other}.text"} for other in needs}
    return {"id": name, "tool": f"t.{name}", "arguments": given, **fields}


def progress(*steps: JsonObject) -> Progress:
    plan = read_plan({"steps": list(steps)}, EXPRESSIONS)
    return Progress(plan, graph_of(plan, EXPRESSIONS))


def states(of: Progress) -> dict[str, str]:
    return {name: str(state) for name, state in of.states.items()}


def told(of: Progress, *ends: tuple[str, End]) -> Progress:
    of.start()
    for name, end in ends:
        of.ended(name, end)
    return of


def test_what_is_ready_begins_at_once() -> None:
    plan = progress(step("end", "a", "b"), step("a"), step("b"), step("c", "a"))

    assert plan.start() == Moves(("a", "b"))
    assert plan.ended("a", StepSucceeded()) == Moves(("c",))
    assert plan.ended("b", StepSucceeded()) == Moves(("end",))
    assert not plan.over

    plan.ended("end", StepSucceeded())
    plan.ended("c", StepSucceeded())
    assert plan.over


def test_only_what_was_begun_can_end() -> None:
    plan = told(progress(step("a"), step("b", "a")))

    with pytest.raises(ValueError, match="b is pending"):
        plan.ended("b", StepSucceeded())


def test_without_what_it_needs_a_step_is_left_out_and_says_since_when() -> None:
    plan = told(
        progress(step("a", on_error="skip"), step("b", "a"), step("c", "b"), step("d", "c")),
        ("a", BOOM),
    )

    assert states(plan) == {"a": "failed", "b": "skipped", "c": "skipped", "d": "skipped"}
    assert plan.why == {
        "a": "it said no",
        "b": "it needs 'a', which failed",
        "c": "it needs 'b', which was skipped because of 'a'",
        "d": "it needs 'c', which was skipped because of 'a'",
    }
    assert plan.chain("d") == ["d", "c", "b", "a"]


def test_a_condition_that_is_not_met_leaves_out_those_who_need_it() -> None:
    plan = told(progress(step("a"), step("b", "a")), ("a", LeftOut()))

    assert plan.why["b"] == "it needs 'a', which was skipped: its condition is not met"


def test_a_failure_that_stops_lets_end_what_is_under_way() -> None:
    plan = progress(step("a"), step("b"), step("c", "a"), step("d", "b"))
    plan.start()

    moves = plan.ended("a", BOOM)
    after = plan.ended("b", StepSucceeded())

    why = "the plan was stopped by 'a', which failed"
    assert moves == Moves((), {"c": why, "d": why})
    assert (after, plan.over, plan.stopped_by) == (Moves(), True, "a")
    assert states(plan) == {"a": "failed", "b": "done", "c": "skipped", "d": "skipped"}


def test_the_first_that_stops_it_is_blamed() -> None:
    plan = told(progress(step("a"), step("b")), ("b", BOOM), ("a", BOOM))

    assert plan.stopped_by == "b"


FALLBACK = (
    step("a", on_error={"fallback": "f"}),
    step("f", on_error={"fallback": "g"}),
    step("g", on_error="skip"),
    step("end", "a"),
)


def test_who_stands_in_is_not_needed_where_nothing_failed() -> None:
    plan = progress(*FALLBACK)
    plan.start()

    moves = plan.ended("a", StepSucceeded())

    assert moves == Moves(("end",), {}, ("f", "g"))
    assert plan.source("a") == "a"


def test_the_last_that_stands_in_decides_what_becomes_of_the_plan() -> None:
    plan = told(progress(*FALLBACK), ("a", BOOM), ("f", BOOM), ("g", BOOM))

    assert states(plan)["end"] == "skipped"
    assert (plan.stopped_by, plan.why["end"]) == (None, "it needs 'a', which failed")


def test_one_that_stands_in_and_is_left_out_is_no_better_than_one_that_fails() -> None:
    goes_on = told(progress(*FALLBACK), ("a", BOOM), ("f", LeftOut()))
    stopped = told(
        progress(step("a", on_error={"fallback": "f"}), step("f"), step("z", after=["a"])),
        ("a", BOOM),
        ("f", LeftOut()),
    )

    assert goes_on.states["g"] is StepState.RUNNING
    assert (stopped.stopped_by, states(stopped)["z"]) == ("a", "skipped")


def test_after_a_stop_nobody_stands_in() -> None:
    plan = told(
        progress(*FALLBACK[:3], step("x"), step("slow", on_error="skip"), step("end", "a")),
        ("x", BOOM),
    )
    plan.ended("a", BOOM)
    plan.ended("slow", StepSucceeded())

    assert states(plan) | {"x": ""} == {
        "a": "failed",
        "f": "skipped",
        "g": "skipped",
        "x": "",
        "slow": "done",
        "end": "skipped",
    }
    assert plan.over


def test_a_stop_leaves_out_one_that_was_to_stand_in_and_waited() -> None:
    plan = told(
        progress(step("slow"), step("a", on_error={"fallback": "f"}), step("f", "slow"), step("x")),
        ("a", BOOM),
        ("x", BOOM),
    )

    assert states(plan)["f"] == "skipped"
    assert states(plan)["slow"] == "running"


def test_a_halt_begins_nothing_more() -> None:
    plan = progress(step("a"), step("b", "a"))
    plan.start()

    assert plan.halt("it was cancelled") == Moves((), {"b": "it was cancelled"})
    assert plan.ended("a", StepSucceeded()) == Moves()
    assert (plan.over, plan.stopped_by) == (True, None)


def test_one_looks_at_a_plan_from_what_is_known_of_its_steps() -> None:
    plan = read_plan({"steps": [step("a"), step("b"), step("c", "a"), step("d")]}, EXPRESSIONS)
    graph = graph_of(plan, EXPRESSIONS)

    before = Progress.of(plan, graph, {"a": StepSucceeded()}, begun={"a", "b"})
    stopped = Progress.of(
        plan, graph, {"b": BOOM, "a": StepSucceeded(), "c": StepSucceeded()}, begun={"a", "b", "c"}
    )

    assert states(before) == {"a": "done", "b": "running", "c": "pending", "d": "pending"}
    assert states(stopped) == {"a": "done", "b": "failed", "c": "done", "d": "skipped"}


def test_one_left_out_that_stands_in_stops_it_in_the_end() -> None:
    plan = read_plan(
        {"steps": [step("a", on_error={"fallback": "f"}), step("f"), step("z")]}, EXPRESSIONS
    )

    seen = Progress.of(
        plan,
        graph_of(plan, EXPRESSIONS),
        {"a": BOOM, "f": LeftOut(), "z": StepSucceeded()},
        begun={"z"},
    )

    assert states(seen) == {"a": "failed", "f": "skipped", "z": "done"}
    assert seen.stopped_by == "a"


def test_the_longest_plan_there_can_be_is_gone_through() -> None:
    chain = [step("s0", on_error="skip")]
    chain += [step(f"s{number}", f"s{number - 1}") for number in range(1, 2_000)]

    plan = told(progress(*chain), ("s0", BOOM))

    assert plan.over
    assert plan.why["s1999"] == "it needs 's1998', which was skipped because of 's0'"


ENDS: list[End] = [StepSucceeded(), StepSucceeded(), BOOM, LeftOut("a person said so")]


@given(plan_documents(), st.randoms(use_true_random=False))
def test_a_look_back_sees_what_was_seen_on_the_way(document: JsonObject, chance: Random) -> None:
    plan = read_plan(document, EXPRESSIONS)
    graph = graph_of(plan, EXPRESSIONS)
    walk, ends, under_way = Progress(plan, graph), dict[str, End](), list[str]()
    under_way += walk.start().start
    while under_way:
        name = under_way.pop(chance.randrange(len(under_way)))
        ends[name] = chance.choice(ENDS)
        under_way += walk.ended(name, ends[name]).start

    seen = Progress.of(plan, graph, ends, begun=ends)

    assert walk.over
    assert seen.states == walk.states


def graph(*steps: JsonObject) -> Graph:
    return graph_of(read_plan({"steps": list(steps)}, EXPRESSIONS), EXPRESSIONS)


DIAMOND: Sequence[JsonObject] = (
    step("end", "left", "right"),
    step("left", "top"),
    step("right", "top"),
    step("top"),
)


def test_needs_are_what_is_referred_to_asked_about_and_waited_for() -> None:
    found = graph(
        step("a"),
        step("b", for_each={"in": {"$from": "a.json", "default": []}}, when="a.json"),
        {**step("c", after=["a"]), "arguments": {"x": {"$from": "b.items[0].text"}}},
    )

    assert found.needs["b"] == (
        Need("b", "a", "/for_each/in/$from", must=False),
        Need("b", "a", "/when", must=False),
    )
    assert found.needs["c"] == (
        Need("c", "b", "/arguments/x/$from"),
        Need("c", "a", "/after/0", given=False, must=False),
    )
    assert found.before == {"a": (), "b": ("a",), "c": ("b", "a")}


def test_the_order_lets_nothing_come_before_what_it_needs() -> None:
    found = graph(*DIAMOND)

    assert found.order == ("top", "left", "right", "end")
    assert found.last == ("end",)


def test_whoever_needs_a_step_waits_for_those_that_stand_in_for_it() -> None:
    found = graph(
        step("a", on_error={"fallback": "f"}),
        step("f", on_error={"fallback": "g"}),
        step("g"),
        step("end", "a"),
    )

    assert found.before == {"a": (), "f": ("a",), "g": ("f",), "end": ("a", "f", "g")}
    assert found.stands_in_for == {"f": "a", "g": "f"}
    assert found.last == ("end",)


def test_downstream_is_all_that_waits_for_it() -> None:
    found = graph(*DIAMOND, step("alone"))

    assert found.downstream(["left"]) == {"left", "end"}
    assert found.downstream(["top", "alone"]) == {"top", "left", "right", "end", "alone"}


def test_the_critical_path_is_the_slowest_chain() -> None:
    seconds = {"top": 1.0, "left": 5.0, "right": 2.0, "end": 1.0}

    found = critical_path(graph(*DIAMOND), lambda name: seconds[name])

    assert (found.steps, found.seconds) == (("top", "left", "end"), 7.0)


def test_who_stands_in_is_not_on_it() -> None:
    steps = (step("slow"), step("a", on_error={"fallback": "f"}), step("f", "slow"), step("b", "a"))

    found = critical_path(graph(*steps), lambda name: 10.0 if name in {"slow", "f"} else 1.0)

    assert (found.steps, found.seconds) == (("slow",), 10.0)


DONE: JsonValue = {"result": "res_1", "size": 1}
ASKED: JsonValue = {"approval": "apr_1", "topic": "~approval:a:1", "left": 1.0}
WRONG = Failure("Wrong", "no", "wrong")
A = OutlinedStep("a", "files.write")


def ended(**more: Any) -> Run:
    return a_run(RunStatus.FAILED, **more)


def row(name: str, output: JsonValue = DONE, *, at: int = 1, **more: Any) -> Step:
    when = BEGINNING + timedelta(seconds=at)
    given: dict[str, Any] = {"state": RunsStepState.DONE, "finished_at": when, **more}
    return Step(name=name, number=at, output=output, started_at=when, **given)


def failed(name: str, at: int = 1) -> Step:
    return row(name, None, at=at, failure=WRONG, state=RunsStepState.FAILED)


def waiting(name: str) -> Step:
    return row(name, None, state=RunsStepState.OPEN, finished_at=None)


INSTEAD = OutlinedStep("b", "files.write", (), "a")
NEEDS = OutlinedStep("c", "files.write", ("a",))
LATER = OutlinedStep("d", "files.write", ("c",))
AGAIN = OutlinedStep("e", "files.write", ("d", "c"))


def test_what_failed_is_tried_again_unless_the_plan_has_gone_on_without_it() -> None:
    rows: list[tuple[Sequence[OutlinedStep], Sequence[Step], set[str]]] = [
        ([A], [failed("a")], {"a"}),
        ([A], [failed("a~approved")], {"a"}),
        ([A], [row("a:failed", {"code": "missing_value"})], {"a"}),
        ([A], [row("a")], set()),
        ([A, INSTEAD], [failed("a"), row("b")], set()),
        ([A, INSTEAD], [failed("a"), row("b", {"uncertain": "timed_out"})], set()),
        ([A, INSTEAD], [failed("a"), failed("b")], {"a", "b"}),
        ([A, INSTEAD, NEEDS], [failed("a"), failed("b"), row("c")], set()),
        ([A, NEEDS], [failed("a"), row("c")], set()),
        ([A, NEEDS, LATER, AGAIN], [failed("a"), row("e")], set()),
        ([A, NEEDS, LATER, AGAIN], [failed("a"), row("c:skipped", {"why": "x"})], {"a"}),
        ([A], [row("a"), failed("a/x"), failed("a/~output", 2)], {"a/x", "a/"}),
        ([A], [row("a"), failed("a/x"), row("a/y", at=2), failed("a/~output", 3)], {"a/"}),
        ([A], [row("a"), row("a/x:told", at=9), failed("a/x"), failed("a/~output")], {"a/x", "a/"}),
        ([A], [row("a"), failed("a/x"), row("a/~output", at=1)], set()),
    ]

    for outline, journal, again in rows:
        assert failed_calls(outline, ended(), journal) == again


def test_what_may_have_been_done_in_its_place_counts_as_done() -> None:
    assert not failed_calls([A, INSTEAD], ended(), [failed("a")], frozenset({"b"}))


def test_what_waited_is_open_but_for_what_nobody_knows() -> None:
    journal = [
        row("a", ASKED),
        waiting("signal:~approval:a:1+2"),
        waiting("signal:~uncertain:b:1"),
        waiting("signal:~approval:gone:1"),
    ]

    assert open_calls(journal) == {"a", ""}
    assert asked_calls(journal) == {"~approval:a:1": "a"}


def test_all_that_is_said_of_a_call_goes_with_it() -> None:
    journal = [
        row("a", ASKED),
        row("a:waiting"),
        waiting("signal:~approval:a:1"),
        waiting("signal:~uncertain:b[1]:1"),
        row("b[0]"),
        row("b:done"),
        row("c"),
        row("d:skipped"),
        row("~output"),
    ]

    assert rows_of(frozenset({"a", "b[1]"}), journal) == {
        "a",
        "a:waiting",
        "signal:~approval:a:1",
        "signal:~uncertain:b[1]:1",
        "b:done",
        "d:skipped",
        "~output",
    }


def test_a_request_is_unread_until_what_became_of_it_is_noted() -> None:
    rows: list[tuple[Sequence[Step], dict[str, str]]] = [
        ([], {"a": "apr_1"}),
        ([row("a~approved", None)], {"a": "apr_1"}),
        ([row("a~approved", None), row("a~approved-2")], {}),
        ([failed("a~approved")], {}),
    ]

    for more, unread in rows:
        assert unread_requests([row("a", ASKED), row("b"), *more]) == unread


def test_a_saved_workflow_that_has_begun_is_inside_until_it_has_ended() -> None:
    begun = [row("a"), row("a/x"), row("b[1]/x/y")]
    over = [row("c/x"), row("signal:~approval:c/x:1"), row("c/x:waiting"), row("c/~output")]

    assert inside_of([*begun, *over]) == {"a", "b"}


def test_a_topic_says_which_leg_asked_and_which_call_waits() -> None:
    assert (leg_of("~approval:a:12"), leg_of("else")) == (12, None)
    assert call_waiting("~uncertain:a/b[1]:2") == "a/b[1]"
