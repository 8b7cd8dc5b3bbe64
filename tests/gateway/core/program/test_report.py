"""What a program's report says, in words and as JSON."""

from datetime import timedelta

import pytest

from portico.box.core.code import CodeEnd
from portico.engine.core.run import Step, StepState
from portico.gateway.core.plan.report import (
    Mode,
    StepReport,
    StepStanding,
    Trouble,
    WorkflowReport,
    WorkflowStatus,
)
from portico.gateway.core.program.errors import BadProgram, ProgramFailed
from portico.gateway.core.program.report import ProgramReport, calls_in, turns_in
from portico.gateway.core.program.turn import Turn
from portico.kernel.json import JsonValue
from portico.testing.kernel import BEGINNING

CALL = StepReport(id="call-1", tool="mail.send", state=StepStanding.WAITING, approval="apr_1")
UNSURE = StepReport(id="call-2", tool="db.put", state=StepStanding.UNCERTAIN, why="it broke off")


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


def test_errors_say_what_is_wrong() -> None:
    assert BadProgram("it is empty").reason == "it is empty"
    assert ProgramFailed("too long").end == "too long"
