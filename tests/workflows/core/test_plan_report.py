"""What became of each step, read from journals that hold what runs write there."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from portico.engine.core.runs import Failure, QueuePlacement, Run, RunStatus, Step, StepState
from portico.kernel.ids import PrincipalId, RunId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC
from portico.testing.memory_store import BEGINNING, SeededEntropy
from portico.workflows.core.plan import graph_of
from portico.workflows.core.plan_report import (
    Items,
    Mode,
    OutlinedStep,
    StepReport,
    StepStatus,
    Trouble,
    WorkflowReport,
    WorkflowStatus,
    call_of,
    critical_steps,
    outline_from,
    outline_of,
    owner,
    standings,
)
from tests.workflows.plan_room import EXPRESSIONS, plan, step

_ENTROPY = SeededEntropy("standings")
DONE: JsonObject = {"result": "res_x", "size": 3}
ASKED: JsonObject = {"approval": "apr_1", "topic": "~approval:a:1", "left": 5}
A = OutlinedStep("a", "files.read")
B = OutlinedStep("b", "files.read", ("a",))


def run(status: RunStatus = RunStatus.RUNNING, **more: Any) -> Run:
    return Run(
        id=RunId.mint(BEGINNING, _ENTROPY),
        space=SpaceId.mint(BEGINNING, _ENTROPY),
        principal=PrincipalId.mint(BEGINNING, _ENTROPY),
        kind="workflow",
        label=PUBLIC,
        clearance=PUBLIC,
        placement=QueuePlacement(),
        status=status,
        input={},
        created_at=BEGINNING,
        **more,
    )


def row(name: str, output: JsonValue = None, *, at: int = 0, **more: Any) -> Step:
    end = BEGINNING + timedelta(seconds=at + 1)
    given: dict[str, Any] = {"state": StepState.DONE, "finished_at": end, "number": at, **more}
    return Step(name=name, output=output, started_at=BEGINNING + timedelta(seconds=at), **given)


def failed(name: str) -> Step:
    failure = Failure("ToolSaidNo", "It says no.", "tool_failed", name)
    return row(name, state=StepState.FAILED, failure=failure)


WORD = "signal:~uncertain:a:1"
LEFT_OUT = row("a~approved-2", {"left_out": "no"})
UNKNOWN = row("a", {"uncertain": "x"})


def said(resolution: str) -> Step:
    """By a person, of what became of it."""
    return row(WORD, {"resolution": resolution, "by": "ana"})


def one(
    *journal: Step, of: OutlinedStep = A, run_: Run | None = None, unknown: Sequence[str] = ()
) -> StepReport:
    found = standings([of], run_ or run(), journal, frozenset(unknown))
    return found[0]


def test_a_step_stands_as_its_journal_says() -> None:
    rows: list[tuple[Sequence[Step], StepStatus, str | None]] = [
        ([row("a", DONE)], StepStatus.DONE, None),
        ([row("a", None)], StepStatus.DONE, None),
        ([failed("a")], StepStatus.FAILED, None),
        ([row("a:failed", {"code": "missing_value"})], StepStatus.FAILED, None),
        ([row("a:skipped", {"why": "no"})], StepStatus.SKIPPED, None),
        ([row("a:unknown:2")], StepStatus.UNCERTAIN, None),
        ([row("a", ASKED)], StepStatus.WAITING, "apr_1"),
        ([row("a", ASKED), row("a~approved")], StepStatus.WAITING, "apr_1"),
        ([row("a", ASKED), row("a~approved", DONE)], StepStatus.DONE, "apr_1"),
        ([row("a", ASKED), failed("a~approved")], StepStatus.FAILED, "apr_1"),
        ([row("a", ASKED), LEFT_OUT], StepStatus.SKIPPED, "apr_1"),
        ([UNKNOWN], StepStatus.UNCERTAIN, None),
        (
            [UNKNOWN, row(WORD, state=StepState.OPEN, finished_at=None)],
            StepStatus.UNCERTAIN,
            None,
        ),
        ([UNKNOWN, said("done")], StepStatus.RUNNING, None),
        ([UNKNOWN, said("done"), row("a~said-1", DONE)], StepStatus.DONE, None),
        ([UNKNOWN, said("done"), failed("a~said-1")], StepStatus.FAILED, None),
        ([UNKNOWN, said("retry")], StepStatus.RUNNING, None),
        ([UNKNOWN, said("retry"), row("a~2", DONE)], StepStatus.DONE, None),
        ([UNKNOWN, said("skip")], StepStatus.SKIPPED, None),
    ]

    for journal, state, approval in rows:
        found = one(*journal)

        assert (found.state, found.approval) == (state, approval)


def test_what_waited_when_its_run_ended_is_left_out() -> None:
    found = one(row("a", ASKED), run_=run(RunStatus.CANCELLED))

    assert (found.state, found.why) == (StepStatus.SKIPPED, "the run was cancelled")


def test_a_request_of_which_nobody_knows_is_uncertain() -> None:
    assert one(row("a", ASKED), unknown=["apr_1"]).state is StepStatus.UNCERTAIN


def test_what_is_not_in_the_journal_follows_from_the_others() -> None:
    def states(journal: Sequence[Step], of: Run) -> list[str]:
        return [str(each.state) for each in standings([A, B], of, journal)]

    assert states([], run()) == ["running", "pending"]
    assert states([], run(RunStatus.QUEUED)) == ["pending", "pending"]
    assert states([row("a", DONE)], run()) == ["done", "running"]
    assert states([row("a", ASKED)], run(RunStatus.WAITING)) == ["waiting", "pending"]
    assert states([row("a", DONE)], run(RunStatus.CANCELLED)) == ["done", "skipped"]


def test_what_was_never_begun_says_why() -> None:
    rows: list[tuple[Run, str]] = [
        (run(RunStatus.CANCELLED), "the run was cancelled"),
        (run(RunStatus.FAILED), "the run ended before"),
        (
            run(RunStatus.FAILED, failure=Failure("E", "m", None, "a[3]~approved")),
            "the plan was stopped by 'a'",
        ),
    ]

    for ended, why in rows:
        assert one(of=B, run_=ended).why == why


def test_a_stand_in_is_needed_only_for_what_failed() -> None:
    first = OutlinedStep("a", "files.read")
    second = OutlinedStep("b", "files.read", (), "a")
    third = OutlinedStep("c", "files.read", (), "b")
    last = OutlinedStep("d", "files.read", ("a",))

    def states(*journal: Step) -> list[str]:
        steps = [first, second, third, last]
        return [str(each.state) for each in standings(steps, run(), journal)]

    assert states(row("a", DONE)) == ["done", "not_needed", "not_needed", "running"]
    assert states(failed("a")) == ["failed", "running", "pending", "pending"]
    assert states(failed("a"), row("b", DONE)) == ["failed", "done", "not_needed", "running"]
    assert states() == ["running", "pending", "pending", "pending"]
    gone = standings([first, second, OutlinedStep("e", "x", ("b",))], run(), [row("a", DONE)])
    assert gone[2].state is StepStatus.RUNNING
    nowhere = standings([OutlinedStep("e", "x", ("gone",))], run(), [])
    assert nowhere[0].state is StepStatus.PENDING


class Counting(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    looked = 0

    @staticmethod
    def of(step: Step) -> Step:
        return replace(step, name=Counting(step.name))

    def startswith(self, *given: Any) -> bool:
        Counting.looked += 1
        return super().startswith(*given)


def test_items_are_counted_and_wait_as_their_step() -> None:
    each = OutlinedStep("a", "files.read", each=True)
    items = row("a:items", {"items": 3})

    waiting = one(items, row("a[0]", DONE), row("a[1]", ASKED), failed("a[2]"), of=each)
    unknown = one(items, row("a[0]", {"uncertain": "x"}), row("a[1]", ASKED), of=each)
    done = one(items, row("a[0]", DONE), row("a:done", {"failed": 2}), of=each)
    odd = one(items, row("a[0]", DONE), row("a:done"), of=each)
    wrong = one(items, failed("a[1]"), row("a:failed", {"code": "x"}), of=each)
    empty = one(items, row("a:failed", {"code": "x"}), of=each)
    under_way = one(items, row("a[0]:retried:1"), of=each)

    assert (waiting.state, waiting.items) == (StepStatus.WAITING, Items(3, 2, 1))
    assert unknown.state is StepStatus.UNCERTAIN
    assert (done.state, done.items) == (StepStatus.DONE, Items(3, 3, 2))
    assert (odd.state, odd.items) == (StepStatus.DONE, Items(3, 3, 0))
    assert (wrong.state, wrong.error and wrong.error.code) == (StepStatus.FAILED, "tool_failed")
    assert (empty.state, empty.error) == (StepStatus.FAILED, None)
    assert (under_way.state, under_way.items) == (StepStatus.RUNNING, Items(3, 0, 0))
    assert one(of=each).items is None
    assert one(row("a:items", "odd"), of=each).items is None


def test_a_step_says_how_long_it_took_and_how_often_it_was_tried() -> None:
    found = one(row("a:retried:1", at=1), row("a", DONE, at=2))

    assert (found.seconds, found.tries) == (2.0, 2)
    assert one(row("a", ASKED)).seconds is None


def test_names_in_the_journal_belong_to_a_step_and_to_a_call() -> None:
    assert [
        owner(name) for name in ("a", "a[3]~approved", "signal:~approval:a-b[1]:2", "~plan")
    ] == [
        "a",
        "a",
        "a-b",
        "",
    ]
    assert [call_of(name) for name in ("a[3]~approved", "a:skipped", "a")] == ["a[3]", "a", "a"]


def test_an_outline_is_read_from_what_it_was_written_to() -> None:
    made = plan(
        step("a", on_error={"fallback": "z"}),
        step("z"),
        step("b", for_each={"in": [1]}, after=["a"]),
    )
    outline = outline_of(made, graph_of(made, EXPRESSIONS))

    back = outline_from({"outline": [each.as_json() for each in outline]})

    assert [*back] == [*outline]
    assert [each.stands_in_for for each in outline] == [None, "a", None]
    assert outline[2].each
    assert outline_from({}) == ()
    assert outline_from({"outline": "odd"}) == ()
    assert outline_from({"outline": [1, ["a"], ["a", "x", [], None, "yes"]]}) == []


def test_the_critical_path_is_the_chain_that_took_longest() -> None:
    steps = [
        OutlinedStep("a", "x"),
        OutlinedStep("b", "x"),
        OutlinedStep("c", "x", ("a", "b", "gone")),
        OutlinedStep("d", "x", (), "c"),
    ]

    assert critical_steps(steps, {"a": 1.0, "b": 3.0, "c": 1.0}) == ["b", "c"]
    assert critical_steps(steps, {"a": 1.0, "c": 1.0, "d": 5.0}) == ["a", "c", "d"]
    assert critical_steps([], {}) == []


def test_a_report_says_everything_in_json() -> None:
    trouble = Trouble(type="E", message="m", code="c", step="a")
    done = StepReport(
        id="a",
        tool="x.y",
        state=StepStatus.DONE,
        started_at=BEGINNING,
        finished_at=BEGINNING + timedelta(seconds=2),
        items=Items(1),
        error=trouble,
        output={"text": "t"},
    )
    waits = StepReport(id="b", tool="x.y", state=StepStatus.WAITING)
    report = WorkflowReport(
        run="run_1",
        status=WorkflowStatus.FAILED,
        mode=Mode.DURABLE,
        principal="prn_1",
        label="team",
        steps=[done, waits],
        created_at=BEGINNING,
        error=trouble,
    )

    told = report.as_json()

    assert (report.over, report.for_people, report.seconds) == (True, True, None)
    assert (report.step("a"), report.step("nobody")) == (done, None)
    assert report.counts() == {StepStatus.DONE: 1, StepStatus.WAITING: 1}
    assert told["error"] == {"type": "E", "message": "m", "code": "c", "step": "a"}
    assert told["steps"] == [done.as_json(), waits.as_json()]
    assert (done.as_json()["seconds"], done.as_json()["output"]) == (2.0, {"text": "t"})
    assert waits.as_json()["items"] is None
    assert "output" not in waits.as_json()


def test_a_list_that_could_not_be_told_says_why_in_the_words_of_what_was_tried() -> None:
    each = OutlinedStep("a", "files.read", each=True)
    told = row("a:failed", {"code": "tool_failed"})

    listed = one(failed("a~items"), told, of=each)
    condition = one(failed("a~when"), told)
    neither = one(row("a~when", True), told)

    assert [each.error and each.error.step for each in (listed, condition)] == ["a~items", "a~when"]
    assert (listed.state, listed.tries) == (StepStatus.FAILED, 0)
    assert neither.why == "It could not be begun: tool_failed."


def test_many_items_that_wait_are_gone_through_once() -> None:
    each = OutlinedStep("a", "files.read", each=True)
    journal = [row("a:items", {"items": 2_000})]
    for number in range(2_000):
        journal += [Counting.of(row(f"a[{number}]", ASKED)), row(f"a[{number}]:waiting")]
    Counting.looked = 0

    found = one(*journal, of=each)

    assert (found.state, found.items) == (StepStatus.WAITING, Items(2_000, 0, 0))
    assert Counting.looked < 20 * 2_000


def test_a_saved_workflow_stands_as_what_it_calls_does() -> None:
    began = row("a", DONE)

    waiting = one(began, row("a/b", DONE), row("a/c", ASKED))
    running = one(began, row("a/b[0]/c", DONE), row("a/b:items", {"items": 1}))
    ended = one(began, row("a/c", DONE), row("a/~output", {"result": "res_x", "size": 7}))

    assert (waiting.state, waiting.why) == (
        StepStatus.WAITING,
        "a/c: somebody has to approve it",
    )
    assert running.state is StepStatus.RUNNING
    assert (ended.state, ended.size) == (StepStatus.DONE, 7)
