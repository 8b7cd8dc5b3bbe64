"""Programs as their caller meets them: started, looked at, waited for."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, NoReturn

import pytest

from portico.adapters.monty.interpreter import MontyInterpreter
from portico.engine.core.errors import KeyReused, RunNotFound
from portico.engine.core.runs import RunStatus
from portico.gateway.core.errors import UpstreamRefused
from portico.guard.core.approvals import AnswerKind, Resolution, Status
from portico.guard.core.errors import NotPermitted
from portico.kernel.ids import ContextId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.testing.gateway import text
from portico.testing.guard import MemoryAudit
from portico.testing.memory_store import BEGINNING, KnownContext, SeededEntropy
from portico.workflows.core.errors import NotAWorkflow, NotInline
from portico.workflows.core.plan_report import Mode, StepStatus, WorkflowStatus
from portico.workflows.core.programs import InvalidProgram, ProgramMode, ProgramSpec
from tests.gateway.open_room import READ, WRITE
from tests.workflows.plan_room import ANA, BEN, Died, plan, step
from tests.workflows.programs_room import ProgramsRoom

READS = "x = await files__read(path='/a')\nprint('read', x['path'])\nx['list']"


@pytest.fixture
async def room() -> AsyncIterator[ProgramsRoom]:
    async with MontyInterpreter(processes=2) as interpreter:
        yield ProgramsRoom(interpreter)


async def test_its_caller_sees_what_it_printed_and_gave(room: ProgramsRoom) -> None:
    report = await room.program(READS)

    assert report.status is WorkflowStatus.DONE
    assert report.text() == 'read /a\n["a", "b"]'
    told = report.as_json()
    assert (told["kind"], told["printed"], told["output"]) == ("program", "read /a\n", ["a", "b"])
    assert [(each.id, each.tool, each.state) for each in report.whole.steps] == [
        ("call-1", "files.read", StepStatus.DONE)
    ]
    assert (report.turns, report.whole.mode) == (2, Mode.DURABLE)


async def test_a_call_under_way_was_begun_when_the_program_wanted_it(room: ProgramsRoom) -> None:
    def dies(_: object) -> NoReturn:
        raise Died

    run = await room.begin("await files__read(path='/a')\nawait files__write(path='/b')")
    room.upstreams.replies[WRITE.ref] = dies
    await room.killed(run)

    first, second = (await room.report(run)).whole.steps

    assert second.state is StepStatus.RUNNING
    assert first.finished_at is not None
    assert second.started_at is not None
    assert second.started_at > first.finished_at


async def test_a_call_that_is_not_waited_for_is_not_said_to_be_made(room: ProgramsRoom) -> None:
    report = await room.program("print('now')\nfiles__read(path='/a')")

    assert report.status is WorkflowStatus.FAILED
    assert report.whole.error is not None
    assert "Write: await files__read" in report.whole.error.message
    assert report.printed == "now\n"
    assert not room.made


async def test_others_see_how_its_calls_stand_and_no_word_of_it(room: ProgramsRoom) -> None:
    run = RunId.parse((await room.program(READS)).run)

    theirs = await room.report(run, by=ANA)

    assert [each.tool for each in theirs.whole.steps] == ["files.read"]
    assert (theirs.printed, theirs.whole.output, theirs.shown) == (None, None, "")
    assert theirs.whole.steps[0].handle is None
    with pytest.raises(NotPermitted):
        await room.report(run, by=replace(BEN, scopes=frozenset()))


async def test_an_error_is_told_to_its_caller_alone(room: ProgramsRoom) -> None:
    mine = await room.program("print('before')\nraise ValueError('secret')")
    theirs = await room.report(RunId.parse(mine.run), by=ANA)

    assert mine.status is WorkflowStatus.FAILED
    assert "before" in mine.text()
    assert "ValueError: secret" in mine.text()
    assert "secret" not in str(theirs.as_json())


async def test_a_servers_words_reach_the_program_and_nobody_else(room: ProgramsRoom) -> None:
    def refuse(arguments: JsonObject) -> NoReturn:
        raise UpstreamRefused("files", -32000, f"no such customer: {arguments['path']}")

    room.upstreams.replies[READ.ref] = refuse
    code = "try:\n    await files__read(path='/secret')\nexcept Exception as e:\n    print(e)"
    mine = await room.program(code)
    run = RunId.parse(mine.run)
    theirs = await room.report(run, by=ANA)

    assert "no such customer: /secret" in mine.text()
    assert "/secret" in str(mine.whole.steps[0].why)
    assert theirs.whole.steps[0].why == UpstreamRefused.title
    journal, told = await room.runs.steps(ANA, run), await room.told(run)
    assert "secret" not in f"{theirs.as_json()} {journal} {told}"


async def test_they_are_listed_among_the_workflows(room: ProgramsRoom) -> None:
    mine = await room.program(READS)
    workflow = await room.start(plan(step("a")))

    lines = await room.use.list_workflows(await room.bot(), limit=5)
    latest = await room.use.list_workflows(await room.bot(), limit=1)

    assert [str(line.run.id) for line in lines] == [str(workflow), mine.run]
    assert [(line.steps, line.over) for line in lines] == [(1, 0), (1, 1)]
    assert [line.run.id for line in latest] == [workflow]


async def test_what_is_long_stays_here_and_is_read_by_its_handle(room: ProgramsRoom) -> None:
    report = await room.program("print('x' * 50000)\n'the end'")

    assert len(report.text()) < 25_000
    assert report.whole.output is None
    assert report.whole.output_handle is not None
    assert f'read_result(result="{report.whole.output_handle}", page=2)' in report.text()


async def test_a_run_of_another_kind_is_no_program(room: ProgramsRoom) -> None:
    workflow = await room.start(plan(step("a")))

    with pytest.raises(RunNotFound):
        await room.report(workflow)


async def test_a_program_is_no_workflow_that_could_be_forked(room: ProgramsRoom) -> None:
    mine = await room.program(READS)

    with pytest.raises(NotAWorkflow):
        await room.use.fork_workflow(await room.bot(), RunId.parse(mine.run), step="a")


async def test_one_that_waits_says_for_whom_and_goes_on_once_answered(room: ProgramsRoom) -> None:
    code = "print('asking')\nx = await files__delete(path='/a')\nx['did']"
    waiting = await room.program(code)
    assert waiting.status is WorkflowStatus.WAITING
    call = waiting.whole.steps[0]
    assert (call.state, room.made) == (StepStatus.WAITING, {})
    assert waiting.text().startswith("asking\n[call-1 files.delete waits for approval (apr_")

    await room.approved(waiting.whole, "call-1")
    await room.leg(RunId.parse(waiting.run))
    done = await room.report(RunId.parse(waiting.run))

    assert done.text() == 'asking\n"delete"'
    assert room.made == {"delete /a": 1}


async def test_what_was_rejected_can_be_caught(room: ProgramsRoom) -> None:
    code = "try:\n    await files__delete(path='/a')\nexcept PermissionError:\n    print('so not')"
    waiting = await room.program(code)

    await room.answer(waiting.whole, "call-1", AnswerKind.REJECT)
    await room.leg(RunId.parse(waiting.run))

    assert (await room.report(RunId.parse(waiting.run))).text() == "so not"


async def test_what_nobody_waits_for_any_more_is_not_asked_for(room: ProgramsRoom) -> None:
    code = "x = files__delete(path='/a')\nawait files__read(path='/b')\nraise ValueError('enough')"

    run = await room.begin(code)
    await room.leg(run)
    await room.leg(run)

    assert (await room.runs.get(ANA, run)).status is RunStatus.FAILED
    assert room.made == {"read /b": 1}
    [kept] = room.world.approvals.values()
    assert kept.approval.status is Status.WITHDRAWN


async def test_a_write_of_which_nobody_knows_waits_for_a_person(room: ProgramsRoom) -> None:
    def dies(_: object) -> NoReturn:
        room.made["write /a"] += 1
        raise ConnectionResetError

    room.upstreams.replies[WRITE.ref] = dies
    report = await room.program("x = await files__write(path='/a')\nprint('on', x)")
    assert report.status is WorkflowStatus.WAITING
    assert report.whole.steps[0].state is StepStatus.UNCERTAIN
    assert "call-1 files.write is uncertain" in report.text()
    assert report.whole.steps[0].called_with["call-1"]["arguments"] == {"path": "/a"}

    await room.resolved(RunId.parse(report.run), "call-1", Resolution.DONE)

    done = await room.report(RunId.parse(report.run))
    assert done.text().startswith("on None")
    assert room.made == {"write /a": 1}


async def test_resumed_it_makes_no_call_of_which_it_knows_the_end(room: ProgramsRoom) -> None:
    room.upstreams.replies[WRITE.ref] = text("not now", failed=True)
    code = (
        "try:\n    await files__write(path='/a')\nexcept RuntimeError:\n    print('caught')\n"
        "await files__delete(path='/b')"
    )
    waiting = await room.program(code)
    run = RunId.parse(waiting.run)
    await room.use.cancel_workflow(await room.bot(), run)
    calls = len(room.upstreams.called)

    await room.resumed(run)

    again = await room.report(run)
    assert again.status is WorkflowStatus.WAITING
    assert again.printed == "caught\n"
    assert len(room.upstreams.called) == calls


async def test_the_same_key_is_the_same_program(room: ProgramsRoom) -> None:
    first = await room.begin(READS, key="k")

    assert await room.begin(READS, key="k") == first
    with pytest.raises(KeyReused):
        await room.begin("1 + 1", key="k")


async def test_what_cannot_be_begun_is_refused(room: ProgramsRoom) -> None:
    with pytest.raises(InvalidProgram):
        await room.begin("  ")
    nobody = replace(await room.bot(), scopes=frozenset())
    with pytest.raises(NotPermitted):
        await room.program_use.start_program(nobody, ProgramSpec(code="1"))


@pytest.mark.parametrize(
    ("code", "mode"),
    [
        ("1 + 1", Mode.INLINE),
        (READS, Mode.INLINE),
        ("await files__write(path='/a')", Mode.DURABLE),
        ("await call('files.read', {'path': '/a'})", Mode.DURABLE),
    ],
)
async def test_what_only_reads_runs_in_memory(room: ProgramsRoom, code: str, mode: Mode) -> None:
    run = await room.begin(code, mode=ProgramMode.AUTO)

    assert (await room.report(run)).whole.mode is mode


async def test_in_memory_it_gives_the_same(room: ProgramsRoom) -> None:
    report = await room.in_memory(READS)

    assert report.text() == 'read /a\n["a", "b"]'
    assert report.whole.mode is Mode.INLINE


async def test_a_task_that_reads_what_another_was_told_takes_it_in(room: ProgramsRoom) -> None:
    report = await room.in_memory("'nobody was called'")
    mine = await room.doors.contexts.get(await room.bot())
    assert not mine.untrusted, "it has computed, and read nothing"

    task = ContextId.mint(BEGINNING, SeededEntropy("other"))
    other = replace(await room.bot(), context=task)
    room.world.contexts[other.space, task] = KnownContext(other.id, "other", BEGINNING)
    await room.report(RunId.parse(report.run), by=other)

    theirs = await room.doors.contexts.get(other)
    assert theirs.untrusted


async def test_in_memory_nothing_is_changed(room: ProgramsRoom) -> None:
    with pytest.raises(NotInline):
        await room.in_memory("await files__write(path='/a')")

    report = await room.in_memory("await call('files.write', {'path': '/a'})")

    assert "PermissionError" in report.text()
    assert room.made == {}


async def test_a_program_is_as_secret_as_what_it_names(room: ProgramsRoom) -> None:
    bot = await room.bot()
    run = await room.begin("await files__read(path='/a')", label=Label(Level.PUBLIC))
    by_name = await room.begin("await call('files.read', {'path': '/a'})")

    shelf = await room.gateway.catalogues.current(bot)
    assert (await room.runs.get(ANA, run)).label.covers(shelf.server(READ.ref.server).label)
    assert (await room.runs.get(ANA, by_name)).label == bot.clearance


@pytest.mark.parametrize(
    ("code", "status"),
    [(READS, WorkflowStatus.DONE), ("await files__delete(path='/a')", WorkflowStatus.WAITING)],
)
async def test_it_is_waited_for_until_it_ends_or_waits_for_people(
    room: ProgramsRoom, code: str, status: WorkflowStatus
) -> None:
    wait, run = room.program_use.wait_for_program, await room.begin(code)

    async with room.working(), asyncio.timeout(30):
        report = await wait(await room.bot(), run, patience=timedelta(seconds=20))

    assert report.status is status


async def test_patience_ends(room: ProgramsRoom) -> None:
    told: list[str] = []
    run = await room.begin(READS)

    class Listening:
        async def progress(self, done: float, total: float | None, message: str | None) -> None:
            told.append(str(message))

    line: Any = Listening()  # of a line it needs this alone
    report = await room.program_use.wait_for_program(
        await room.bot(), run, patience=timedelta(milliseconds=30), line=line
    )

    assert report.status is WorkflowStatus.QUEUED
    assert f'workflow_status(run="{run}", wait=30)' in report.text()
    assert told[0] == "0 of 0 calls so far are over"


async def test_starting_one_is_in_the_audit(room: ProgramsRoom) -> None:
    await room.begin(READS)

    audit = room.doors.audit
    assert isinstance(audit, MemoryAudit)
    act = audit.acts[-1]
    assert act["action"] == "program.started"
    assert "files.read" in str(act)
    assert "print" not in str(act)
