"""Hundreds of hostile programs that call tools: nothing is reached that its caller may not have.

Each goes the whole way: a run, turns of the real interpreter, calls through the real guard. What
arrives at a server is written down there.
"""

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from portico.adapters.monty.interpreter import MontyInterpreter
from portico.box.core.code import CodeEnd
from portico.engine.core.run import RunStatus
from portico.gateway.core.call import ResultId
from portico.gateway.core.errors import ResultNotFound
from portico.gateway.core.program.left import Left
from portico.gateway.core.program.turn import Turn
from portico.guard.core.act import Allowed
from tests.scenarios.hostile_calling_programs import hostile_calling_programs, with_tools
from tests.scenarios.hostile_calling_room import LIMITS, HostileCallingRoom
from tests.scenarios.hostile_programs import Hostile

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(900)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
OWN = hostile_calling_programs()
INHERITED = with_tools()
PROGRAMS = [*OWN, *(INHERITED if FULL_SIZE else INHERITED[::4])]
"""Those of the interpreter's own suite have one of their own."""
AT_ONCE = 4
DEADLINE = 6 * LIMITS.whole_seconds
GOOD = "import asyncio\n[await tools__echo(value='well'), await call('tools.echo', {'n': 1})]"


@pytest.fixture
async def interpreter() -> AsyncIterator[MontyInterpreter]:
    async with MontyInterpreter(processes=4) as opened:
        yield opened


def test_there_are_two_hundred_different_ones_of_its_own() -> None:
    assert len({hostile.program for hostile in OWN}) == len(OWN) >= 200


async def told(interpreter: MontyInterpreter, hostile: Hostile) -> CodeEnd:
    """Raises `TimeoutError` for one without an end."""
    room = HostileCallingRoom(interpreter)
    async with asyncio.timeout(DEADLINE):
        run = await room.ran(hostile.program)
    turns = await room.turns(run.id)
    last, left = turns[-1], await room.left(turns[-1])
    _nothing_was_reached(room, hostile.program)
    _no_more_than_allowed(room, turns, left)
    assert last.end in hostile.ends, (hostile, last.end, left.error, left.result)
    assert (run.status is RunStatus.WAITING) == bool(run.waits_for)
    assert bool(room.world.approvals) == hostile.family.startswith("asking"), hostile
    if run.status is not RunStatus.WAITING:
        assert last.over
        assert (run.status is RunStatus.DONE) == (last.end is CodeEnd.FINISHED), run.failure
    return last.end


def _nothing_was_reached(room: HostileCallingRoom, program: str) -> None:
    reached = {name for name, _ in room.reached.calls}
    assert reached <= {"tools.echo", "tools.fail", "tools.forever", "tools.large"}, program


def _no_more_than_allowed(room: HostileCallingRoom, turns: Sequence[Turn], left: Left) -> None:
    assert len(room.reached.calls) <= LIMITS.calls
    assert room.reached.most_at_once <= LIMITS.at_once
    assert turns[-1].size <= LIMITS.kept + LIMITS.memory
    assert len(left.printed.encode()) <= LIMITS.output
    assert len(json.dumps(left.result)) <= 6 * LIMITS.output
    assert len(left.error or "") <= 5_000
    assert all(turn.whole <= 2 * LIMITS.whole_seconds for turn in turns)


@pytest.mark.requirement("programs:hostile:contained")
async def test_hundreds_of_hostile_programs_reach_nothing(
    interpreter: MontyInterpreter, capsys: pytest.CaptureFixture[str]
) -> None:
    ends: Counter[str] = Counter()
    for first in range(0, len(PROGRAMS), AT_ONCE):
        async with asyncio.TaskGroup() as group:
            batch = PROGRAMS[first : first + AT_ONCE]
            tasks = [group.create_task(told(interpreter, each)) for each in batch]
        ends.update(task.result() for task in tasks)
        if first % (10 * AT_ONCE) == 0:
            room = HostileCallingRoom(interpreter)
            run = await room.ran(GOOD)
            good = await room.left((await room.turns(run.id))[-1])
            assert good.result == [{"value": "well"}, {"n": 1}]

    with capsys.disabled():
        print(f"\n{len(PROGRAMS)} hostile programs with tools: {dict(ends)}")
    expected = {CodeEnd.FINISHED, CodeEnd.RAISED, CodeEnd.WAITING, CodeEnd.TOO_MANY_CALLS}
    for end in expected | {CodeEnd.TOO_LONG}:
        assert ends[end] >= 5, f"hardly one ended as {end}: they are not what they should be"


@pytest.mark.parametrize("tool", ["bank.pay", "mail.send", "files.drop"])
async def test_without_the_guard_they_would_be_noticed(
    tool: str, interpreter: MontyInterpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.guard.decide.decide", lambda *_: Allowed("nobody", "cares"))
    hostile = Hostile("red", f"await call({tool!r}, {{}})", frozenset(CodeEnd))

    with pytest.raises(AssertionError, match=tool):
        await told(interpreter, hostile)


async def test_a_snapshot_that_was_changed_is_not_taken_up(interpreter: MontyInterpreter) -> None:
    """Whoever can write into the database can end a program, and not make it another."""
    room = HostileCallingRoom(interpreter)
    run = await room.ran("await call('mail.send', {})\nawait call('bank.pay', {})")
    assert run.status is RunStatus.WAITING
    [turn] = await room.turns(run.id)
    place = (room.caller.space, ResultId.parse(turn.kept))
    kept = room.world.results[place]
    middle = len(kept.sealed) // 2
    forged = kept.sealed[:middle] + bytes([kept.sealed[middle] ^ 1]) + kept.sealed[middle + 1 :]
    room.world.results[place] = replace(kept, sealed=forged)

    await room.runs.signal(room.caller, run.id, run.waits_for[0], None)
    ended = await room.on(run.id)

    assert ended.status is RunStatus.FAILED
    assert ended.failure is not None
    assert ended.failure.code == "result_not_found"
    assert room.reached.calls == []


async def test_the_snapshot_of_one_program_is_not_that_of_another(
    interpreter: MontyInterpreter,
) -> None:
    """Moved to another's place it does not open."""
    room = HostileCallingRoom(interpreter)
    one = await room.ran("await call('mail.send', {})\n1")
    other = await room.ran("await call('mail.send', {'n': 2})\n2")
    places = [
        (room.caller.space, ResultId.parse((await room.turns(run.id))[0].kept))
        for run in (one, other)
    ]
    room.world.results[places[0]] = room.world.results[places[1]]

    await room.runs.signal(room.caller, one.id, one.waits_for[0], None)
    ended = await room.on(one.id)

    assert ended.status is RunStatus.FAILED
    assert ended.failure is not None
    assert ended.failure.code == "result_not_found"


async def test_somebody_elses_snapshot_is_nobody_elses(interpreter: MontyInterpreter) -> None:
    room = HostileCallingRoom(interpreter)
    run = await room.ran("x = 'secret'\nawait call('mail.send', {})")
    [turn] = await room.turns(run.id)

    with pytest.raises(ResultNotFound):
        await room.outputs().get(room.stranger, ResultId.parse(turn.kept))


async def test_a_program_goes_on_with_what_its_caller_may_by_then(
    interpreter: MontyInterpreter,
) -> None:
    """The rest of a program is not carried out with rights that were taken away meanwhile."""
    room = HostileCallingRoom(interpreter)
    code = (
        "try:\n    await call('mail.send', {})\nexcept BaseException:\n    pass\n"
        "await tools__echo(value=1)"
    )
    run = await room.ran(code)
    assert run.status is RunStatus.WAITING

    room.take_away()
    room.reject_everything()
    await room.runs.signal(room.caller, run.id, run.waits_for[0], None)
    ended = await room.on(run.id)

    left = await room.left((await room.turns(run.id))[-1])
    assert ended.status is RunStatus.FAILED
    assert "PermissionError: 'ana' may not use tools.echo" in str(left.error)
    assert room.reached.calls == []
