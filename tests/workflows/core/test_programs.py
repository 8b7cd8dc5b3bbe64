"""Programs: functions, turns, reports."""

from datetime import timedelta

import pytest

from portico.engine.core.runs import Step, StepState
from portico.gateway.core.calls import ResultId
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.json import JsonObject, JsonValue
from portico.sandbox.core.requests import CodeEnd, Pending, Raised
from portico.testing.memory_store import BEGINNING, SeededEntropy
from portico.workflows.core.plan_report import (
    Mode,
    StepReport,
    StepStatus,
    Trouble,
    WorkflowReport,
    WorkflowStatus,
)
from portico.workflows.core.programs import (
    InvalidProgram,
    ProgramLimits,
    ProgramReport,
    ProgramSpec,
    RequestedCall,
    Source,
    Turn,
    TurnState,
    call_name,
    calls_in,
    check,
    failed,
    function_name,
    functions_in,
    is_turn,
    left_from,
    left_out,
    source_from,
    turn_from,
    turn_name,
    turns_in,
    uses_call,
    value_of,
    wanted,
)

READ = ToolRef("fs", "read_file")
DASHED = ToolRef("my-git", "log.all")
FUNCTIONS = {"fs__read_file": READ}


def called(function: str, *arguments: JsonValue, **named: JsonValue) -> Pending:
    return Pending(number=3, function=function, arguments=list(arguments), named=named)


def test_a_function_is_named_after_its_server_and_its_tool() -> None:
    assert function_name(READ) == "fs__read_file"
    assert function_name(DASHED) == "my_git__log_all"


def test_a_program_has_the_functions_that_it_names_and_no_others() -> None:
    three = [DASHED, READ, ToolRef("fs", "write_file")]
    rows: list[tuple[str, list[ToolRef], dict[str, ToolRef]]] = [
        (
            "x = await my_git__log_all()\nprint('fs__read_file')",
            three,
            {**FUNCTIONS, "my_git__log_all": DASHED},
        ),
        ("xfs__read_file fs__read_file2", [READ], {}),
        ("\uff46s__read_file()", [READ], FUNCTIONS),
        ("fs__read_file()", [ToolRef("fs", "read-file"), READ], {}),
    ]

    for code, refs, found in rows:
        assert functions_in(code, refs) == found, code


def test_call_is_there_for_whoever_names_it() -> None:
    rows: list[tuple[str, bool]] = [
        ("await call('a.b')", True),
        ("recall()", False),
        ("call_it()", False),
    ]

    for code, uses in rows:
        assert uses_call(code) is uses


def test_arguments_are_given_by_their_names_or_as_one_object() -> None:
    rows: list[Pending] = [
        called("fs__read_file", path="a"),
        called("fs__read_file", {"path": "a"}),
        called("call", "fs.read_file", {"path": "a"}),
        called("call", "fs.read_file", arguments={"path": "a"}),
        called("call", tool="fs.read_file", arguments={"path": "a"}),
    ]

    for pending in rows:
        assert wanted(pending, FUNCTIONS) == RequestedCall(3, READ, {"path": "a"})
    assert wanted(called("call", "fs.read_file"), {}) == RequestedCall(3, READ, {})
    assert wanted(called("call", "nothing"), {}) == Raised(
        "'nothing' is not of the form server.tool.", "ValueError"
    )


def test_what_has_no_name_is_refused_with_the_reason() -> None:
    rows: list[Pending] = [
        called("fs__read_file", "a"),
        called("fs__read_file", {"path": "a"}, path="b"),
        called("fs__read_file", {}, {}),
    ]

    for pending in rows:
        assert wanted(pending, FUNCTIONS) == Raised(
            "fs__read_file takes its arguments by their names", "TypeError"
        )


def test_call_takes_nothing_else() -> None:
    rows: list[Pending] = [
        called("call"),
        called("call", 1),
        called("call", None, {}),
        called("call", "a.b", []),
        called("call", "a.b", {}, {}),
        called("call", "a.b", {}, tool="c.d"),
        called("call", "a.b", ticket="apr_1"),
        called("call", ["a.b"]),
    ]

    for pending in rows:
        meant = wanted(pending, {})

        assert isinstance(meant, Raised), pending
        assert meant.kind == "TypeError", pending


def test_a_small_program_with_inputs_can_be_begun() -> None:
    wish = ProgramSpec(code="print(x)", inputs={"x": [1], "long_name_2": None})

    assert check(wish) is wish


@pytest.mark.parametrize("code", ["", " \n", "x" * 100_001])
def test_nothing_and_too_much_is_refused(code: str) -> None:
    with pytest.raises(InvalidProgram):
        check(ProgramSpec(code=code))


@pytest.mark.parametrize(
    "inputs",
    [
        {"call": 1},
        {"fs__read": 1},
        {"1x": 1},
        {"a b": 1},
        {"\uff58": 1},
        {"": 1},
        {"x": "y" * 1_000_001},
    ],
)
def test_inputs_that_no_variable_could_hold_are_refused(inputs: JsonObject) -> None:
    with pytest.raises(InvalidProgram):
        check(ProgramSpec(code="1", inputs=inputs))


def test_a_turn_may_take_what_is_left_of_the_whole_time() -> None:
    limits = ProgramLimits(seconds=2, whole_seconds=10)

    assert limits.for_turn(4.0).whole_seconds == 4.0
    assert limits.for_turn(4.0).seconds == 2
    assert limits.for_turn(-1).whole_seconds > 0


HANDLE = ResultId.mint(BEGINNING, SeededEntropy())
WAITING = Turn(
    number=2,
    end=CodeEnd.WAITING,
    stored=str(HANDLE),
    given=[0],
    calls={1: "fs.read", 2: "fs.read"},
    printed=3,
    whole=0.25,
    size=100,
)


def test_a_turn_comes_back_from_the_journal_as_it_was() -> None:
    assert turn_from(WAITING.as_json()) == WAITING
    assert WAITING.handle == HANDLE
    assert not WAITING.over


def test_one_that_ended_is_over() -> None:
    assert Turn(number=1, end=CodeEnd.RAISED).over


def test_steps_are_counted_from_one() -> None:
    assert (turn_name(1), call_name(0)) == ("turn-1", "call-1")
    assert is_turn("turn-12")
    assert not is_turn("call-12")


@pytest.mark.parametrize("noted", [None, {}, {**WAITING.as_json(), "calls": [[1]]}])
def test_what_is_no_turn_is_not_taken_for_one(noted: JsonValue) -> None:
    with pytest.raises(AssertionError):
        turn_from(noted)


def test_a_program_comes_back_as_it_was_begun() -> None:
    source = Source(
        code="1", inputs={"x": 1}, functions={"fs__read": ToolRef("fs", "read")}, by_name=True
    )

    assert source_from(source.as_json()) == source
    with pytest.raises(AssertionError):
        source_from({"code": "1"})


def test_what_a_turn_left_comes_back() -> None:
    call = RequestedCall(1, ToolRef("fs", "read"), {"path": "a"})
    left = TurnState(snapshot=b"\x00\xff", wanted=[call], printed="x")
    over = TurnState(printed="x", result=[1], error="no")

    assert left_from(left.as_json()) == left
    assert left_from(over.as_json()) == TurnState(wanted=[], printed="x", result=[1], error="no")
    with pytest.raises(AssertionError):
        left_from(None)
    with pytest.raises(AssertionError):
        left_from({**left.as_json(), "wanted": ["x"]})


def test_a_call_gives_json_if_there_is_any_and_text_if_not() -> None:
    assert value_of({"json": {"a": 1}, "text": "x"}) == {"a": 1}
    assert value_of({"json": None, "text": "x"}) == "x"


def test_a_failure_is_an_error_of_python() -> None:
    rows: list[tuple[str | None, str]] = [
        ("refused", "PermissionError"),
        ("bad_arguments", "ValueError"),
        ("tool_not_found", "LookupError"),
        ("upstream_timed_out", "TimeoutError"),
        ("upstream_down", "RuntimeError"),
        (None, "RuntimeError"),
    ]

    for code, kind in rows:
        assert failed("It may not.", code, None) == Raised("It may not.", kind)


def test_a_tool_that_failed_says_so_in_its_own_words() -> None:
    assert failed("It failed.", "tool_failed", {"text": "no such file"}).text == "no such file"
    assert failed("It failed.", "tool_failed", {"text": ""}).text == "It failed."
    assert len(failed("x" * 9_999, None, None).text) == 2_000


def test_what_was_left_out_is_an_error_too() -> None:
    assert left_out("somebody said so") == Raised("not called: somebody said so")


CALL = StepReport(id="call-1", tool="mail.send", state=StepStatus.WAITING, approval="apr_1")
UNSURE = StepReport(id="call-2", tool="db.put", state=StepStatus.UNCERTAIN, why="it broke off")


def a_report(
    status: WorkflowStatus, *steps: StepReport, error: Trouble | None = None, shown: str = ""
) -> ProgramReport:
    whole = WorkflowReport(
        run="run_1",
        status=status,
        mode=Mode.DURABLE,
        principal="prn_1",
        label="team",
        steps=steps,
        created_at=BEGINNING,
        error=error,
    )
    return ProgramReport(whole=whole, shown=shown, end=CodeEnd.FINISHED, turns=2, counted=0.1234)


def noted(name: str, output: JsonValue) -> Step:
    return Step(
        name=name,
        number=1,
        state=StepState.DONE,
        started_at=BEGINNING,
        finished_at=BEGINNING + timedelta(seconds=1),
        output=output,
    )


def test_one_that_is_done_shows_what_it_said_and_nothing_else() -> None:
    assert a_report(WorkflowStatus.DONE, shown="5").text() == "5"
    assert "nothing" in a_report(WorkflowStatus.DONE).text()


def test_one_that_failed_says_why() -> None:
    error = Trouble(type="ProgramFailed", message="ValueError: no")

    text = a_report(WorkflowStatus.FAILED, error=error, shown="before").text()

    assert text == "before\n[failed] ValueError: no"


def test_one_that_waits_says_for_what() -> None:
    report = a_report(WorkflowStatus.WAITING, CALL, UNSURE)

    assert report.text().splitlines() == [
        "[call-1 mail.send waits for approval (apr_1)]",
        "[call-2 db.put is uncertain: it broke off; a person has to say]",
        "[run_1 waits for a person, who has been asked. Go on with something else if you can; "
        'workflow_status(run="run_1", wait=30) tells how it went on. '
        "Do not try to do it in another way.]",
    ]
    assert not report.over


def test_as_json_it_is_a_workflow_of_another_kind() -> None:
    told = a_report(WorkflowStatus.RUNNING, CALL).as_json()

    assert (told["kind"], told["end"], told["turns"]) == ("program", "finished", 2)
    assert told["counted_seconds"] == pytest.approx(0.123)
    assert "steps" in told


def test_its_calls_are_found_in_the_turns_of_the_journal() -> None:
    second = Turn(number=2, end=CodeEnd.WAITING, calls={1: "b.c"})
    first = Turn(number=1, end=CodeEnd.WAITING, calls={0: "a.b"})
    journal = [
        noted("turn-2", second.as_json()),
        noted("turn-1", first.as_json()),
        noted("call-1", {"result": "res_1"}),
        noted("turn-3", None),
    ]

    turns = turns_in(journal)

    assert [turn.number for turn in turns] == [1, 2]
    assert [(call.id, call.tool) for call in calls_in(turns)] == [
        ("call-1", "a.b"),
        ("call-2", "b.c"),
    ]
