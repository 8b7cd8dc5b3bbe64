"""The story of a program: turns and calls, waits and crashes, limits."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.adapters.monty.interpreter import MontyInterpreter
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.runs import RunStatus
from portico.gateway.core.calls import ResultId
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.guard.core.vault import VaultClosed
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.sandbox.core.requests import CodeEnd
from portico.workflows.programs import ToolMetadata
from portico.workflows.run_context import DependencyUnavailable, MemoryOutputs
from tests.engine.room import ANA
from tests.workflows.program_room import SMALL, ProgramRoom


@pytest.fixture
async def interpreter() -> AsyncIterator[MontyInterpreter]:
    async with MontyInterpreter(processes=2) as opened:
        yield opened


@pytest.fixture(name="room")
def usual_room(interpreter: MontyInterpreter) -> ProgramRoom:
    return ProgramRoom(interpreter)


async def test_a_program_without_calls_is_one_turn(room: ProgramRoom) -> None:
    run = await room.carried_out("print('hello', who)\n[1, 2]", who="ana")

    left = await room.left(run.id)
    assert run.status is RunStatus.DONE
    assert (left.printed, left.result) == ("hello ana\n", [1, 2])
    assert [turn.number for turn in await room.turns(run.id)] == [1]


async def test_calls_are_awaited_and_give_what_the_tools_gave(room: ProgramRoom) -> None:
    code = (
        "a = await tools__echo(value={'n': 1})\nprint(a)\n"
        "b = await call('tools.echo', {'value': 'x'})\n[a['n'], b]"
    )

    assert await room.result(code) == [1, "x"]
    assert room.tools.made == [("tools.echo", {"value": {"n": 1}}), ("tools.echo", {"value": "x"})]


async def test_gathered_calls_run_beside_each_other(interpreter: MontyInterpreter) -> None:
    both = asyncio.Barrier(5)

    async def together(arguments: JsonObject) -> JsonValue:
        await both.wait()
        return arguments["n"]

    room = ProgramRoom(interpreter, tools={"tools.together": together})
    code = "import asyncio\nawait asyncio.gather(*[tools__together(n=n) for n in range(5)])"

    assert await room.result(code) == [0, 1, 2, 3, 4]


async def test_no_more_calls_than_allowed_are_made_at_the_same_time(
    interpreter: MontyInterpreter,
) -> None:
    now = most = 0

    async def counted(arguments: JsonObject) -> JsonValue:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        now -= 1
        return arguments["n"]

    room = ProgramRoom(interpreter, replace(SMALL, at_once=3), {"tools.counted": counted})
    code = "import asyncio\nawait asyncio.gather(*[tools__counted(n=n) for n in range(20)])"

    assert await room.result(code) == list(range(20))
    assert most == 3


async def test_a_chain_goes_on_while_another_call_is_slow(interpreter: MontyInterpreter) -> None:
    last = asyncio.Event()

    async def slow(_: JsonObject) -> JsonValue:
        await last.wait()
        return "slow"

    async def quick(arguments: JsonObject) -> JsonValue:
        if arguments["n"] == 2:
            last.set()
        return arguments["n"]

    room = ProgramRoom(interpreter, tools={"tools.slow": slow, "tools.quick": quick})
    code = (
        "import asyncio\nasync def chain():\n    for n in range(3):\n"
        "        await tools__quick(n=n)\n    return n\n"
        "await asyncio.gather(tools__slow(), chain())"
    )

    assert await room.result(code) == ["slow", 2]


async def test_an_error_that_nobody_catches_ends_it(room: ProgramRoom) -> None:
    run = await room.carried_out("print('before')\nawait tools__fail()")

    left = await room.left(run.id)
    assert run.status is RunStatus.FAILED
    assert run.failure is not None
    assert run.failure.code == "program_failed"
    assert "no such file" not in run.failure.message
    assert left.printed == "before\n"
    assert "RuntimeError: no such file" in str(left.error)


async def test_a_call_that_is_none_is_an_error_at_once(room: ProgramRoom) -> None:
    code = (
        "got = []\nfor f in [lambda: tools__echo(1), lambda: call(2), lambda: call('x')]:\n"
        "    try:\n        await f()\n    except (TypeError, ValueError) as error:\n"
        "        got.append(str(error)[:20])\nlen(got)"
    )

    run = await room.carried_out(code)

    assert (await room.left(run.id)).result == 3
    assert room.tools.wishes == []
    assert len(await room.turns(run.id)) == 1


async def test_a_text_that_is_no_program_says_so(room: ProgramRoom) -> None:
    run = await room.carried_out("def")

    assert run.status is RunStatus.FAILED
    assert "cannot be run" in str((await room.left(run.id)).error)


async def test_the_journal_has_nothing_that_was_said(room: ProgramRoom) -> None:
    run = await room.carried_out(
        "print('secret-1')\nawait call('tools.echo', {'value': 'secret-2'})"
    )

    turns = [step for step in await room.steps(run.id) if step.name.startswith("turn-")]
    assert len(turns) == 2
    assert "secret" not in repr([turns, run.input, run.result])


async def test_what_somebody_left_out_is_an_error_inside(interpreter: MontyInterpreter) -> None:
    room = ProgramRoom(interpreter, waiting={"tools.echo"})
    run = await room.carried_out(
        "try:\n    await tools__echo()\nexcept RuntimeError as e:\n    x = str(e)\nx"
    )

    await room.said(run.id, "~approval:call-1:1", "no")
    run = await room.leg(run.id)

    assert (await room.left(run.id)).result == "not called: nobody wanted it"


async def test_others_go_on_while_one_waits_for_somebody(interpreter: MontyInterpreter) -> None:
    room = ProgramRoom(interpreter, waiting={"tools.fail"})
    code = (
        "import asyncio\nasync def chain():\n    for n in range(3):\n"
        "        print(await tools__echo(value=n))\n"
        "await asyncio.gather(chain(), tools__fail())"
    )

    run = await room.carried_out(code)

    assert run.status is RunStatus.WAITING
    assert [arguments for _, arguments in room.tools.made] == [{"value": n} for n in range(3)]


async def test_time_that_people_take_is_not_counted(interpreter: MontyInterpreter) -> None:
    room = ProgramRoom(interpreter, waiting={"tools.echo"})
    run = await room.carried_out("await tools__echo(value=1)")

    room.clock.turn(timedelta(hours=5))
    await room.said(run.id, "~approval:call-1:1", "yes")
    run = await room.leg(run.id)

    assert run.status is RunStatus.DONE
    assert (await room.turns(run.id))[-1].whole < SMALL.whole_seconds


async def test_time_that_calls_take_is_counted(interpreter: MontyInterpreter) -> None:
    async def long(_: JsonObject) -> JsonValue:
        room.clock.turn(timedelta(seconds=15))
        return None

    room = ProgramRoom(interpreter, tools={"tools.long": long})

    run = await room.carried_out("for _ in range(3):\n    await tools__long()")

    turns = await room.turns(run.id)
    assert [turn.end for turn in turns] == [CodeEnd.WAITING, CodeEnd.WAITING, CodeEnd.TOO_LONG]
    assert len(room.tools.made) == 2
    patience = [wish.timeout for wish in room.tools.wishes]
    assert patience == [timedelta(seconds=20), timedelta(seconds=5)]
    assert "20 seconds altogether" in str((await room.left(run.id)).error)


async def test_too_many_calls_end_it(interpreter: MontyInterpreter) -> None:
    room = ProgramRoom(interpreter, replace(SMALL, calls=5))

    run = await room.carried_out("while True:\n    await tools__echo(value=1)")

    assert (await room.turns(run.id))[-1].end is CodeEnd.TOO_MANY_CALLS
    assert len(room.tools.made) == 5


async def test_one_that_leaves_too_much_behind_is_ended(interpreter: MontyInterpreter) -> None:
    room = ProgramRoom(interpreter, replace(SMALL, stored=2_000_000))

    run = await room.carried_out("x = 'x' * 900000\nwhile True:\n    await tools__echo(value=1)")

    assert (await room.turns(run.id))[-1].end is CodeEnd.TOO_LARGE
    assert len(room.tools.made) == 2


async def test_a_turn_waits_in_line_for_an_interpreter(room: ProgramRoom) -> None:
    room.busy = 1

    assert await room.result("1 + 1") == 2


async def test_one_whose_snapshot_is_gone_says_so(interpreter: MontyInterpreter) -> None:
    room = ProgramRoom(interpreter, waiting={"tools.echo"})
    run = await room.carried_out("await tools__echo(value=1)")
    source = await room.outputs.get(ANA, ResultId.parse(str(run.input["program"])))
    room.outputs = MemoryOutputs(room.clock, room.entropy)
    await room.outputs.keep(ANA, source, ResultId.parse(str(run.input["program"])))

    await room.said(run.id, "~approval:call-1:1", "yes")
    run = await room.leg(run.id)

    assert run.status is RunStatus.FAILED
    assert (run.failure and run.failure.code) == "result_not_found"


async def test_calls_under_way_are_seen_to_their_end(interpreter: MontyInterpreter) -> None:
    ended = []

    async def slow(_: JsonObject) -> JsonValue:
        await asyncio.sleep(0.05)
        ended.append("slow")
        return None

    room = ProgramRoom(interpreter, tools={"tools.slow": slow})
    code = "import asyncio\nawait asyncio.gather(tools__slow(), tools__fail())"

    run = await room.carried_out(code)

    assert run.status is RunStatus.FAILED
    assert ended == ["slow"]
    assert room.taken_back == 1


CHAINS = """
import asyncio
async def chain(name):
    got = []
    for n in range(3):
        got.append(await tools__echo(value=name + str(n)))
        print(got[-1])
    return got
x = await asyncio.gather(*[chain(name) for name in "abc"])
await tools__echo(value=x)
"""


async def test_wherever_it_is_broken_off_it_comes_to_the_same_result(
    interpreter: MontyInterpreter,
) -> None:
    undisturbed = await ProgramRoom(interpreter).result(CHAINS)

    for after in range(1, 11):
        broken = asyncio.Event()
        calls = 0

        async def echo(arguments: JsonObject) -> JsonValue:
            nonlocal calls
            calls += 1
            if calls == after:  # noqa: B023 # called within this turn
                broken.set()  # noqa: B023 # likewise
            await asyncio.sleep(0.001)
            return arguments["value"]

        room = ProgramRoom(interpreter, tools={"tools.echo": echo})
        run = await room.begin(CHAINS)
        await room.crash(run, broken)
        ended = await room.leg(run)

        assert ended.status is RunStatus.DONE, after
        assert (await room.left(run)).result == undisturbed
        assert calls <= 10 + 3, "what was noted is not called again"


async def test_nothing_that_a_call_needs_is_looked_up_outside_of_its_step(
    interpreter: MontyInterpreter,
) -> None:
    """What it came to is noted by then: it has not failed because the store is away."""

    class StoreAway(ProgramRoom):
        async def ahead(self, caller: Principal, ref: ToolRef) -> ToolMetadata | None:
            raise StoreUnavailable("it restarts")

    room = StoreAway(interpreter)

    assert await room.result("await tools__echo(value=3)") == 3


async def test_what_is_not_there_is_not_told_to_the_program(interpreter: MontyInterpreter) -> None:
    async def closed(_: JsonObject) -> JsonValue:
        raise DependencyUnavailable(VaultClosed())

    room = ProgramRoom(interpreter, tools={"tools.closed": closed})
    code = (
        "try:\n    await tools__closed()\nexcept Exception:\n    await tools__echo(value='instead')"
    )

    run = await room.carried_out(code)

    assert (run.failure and run.failure.code) == VaultClosed.code
    assert [name for name, _ in room.tools.made] == ["tools.closed"]
