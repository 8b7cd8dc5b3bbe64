"""What is tried again of a plan that ended, and what it has gone on without."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from portico.engine.core.runs import Failure, Run, RunStatus, Step, StepState
from portico.kernel.json import JsonValue
from portico.testing.memory_store import BEGINNING
from portico.workflows.core.plan_progress import (
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
from tests.gateway.core.plan.test_standings import run as a_run

DONE: JsonValue = {"result": "res_1", "size": 1}
ASKED: JsonValue = {"approval": "apr_1", "topic": "~approval:a:1", "left": 1.0}
WRONG = Failure("Wrong", "no", "wrong")
A = OutlinedStep("a", "files.write")


def ended(**more: Any) -> Run:
    return a_run(RunStatus.FAILED, **more)


def row(name: str, output: JsonValue = DONE, *, at: int = 1, **more: Any) -> Step:
    when = BEGINNING + timedelta(seconds=at)
    given: dict[str, Any] = {"state": StepState.DONE, "finished_at": when, **more}
    return Step(name=name, number=at, output=output, started_at=when, **given)


def failed(name: str, at: int = 1) -> Step:
    return row(name, None, at=at, failure=WRONG, state=StepState.FAILED)


def waiting(name: str) -> Step:
    return row(name, None, state=StepState.OPEN, finished_at=None)


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
