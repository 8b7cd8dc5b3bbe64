"""Hundreds of hostile programs that call tools: nothing is reached that its caller may not have.

Each goes the whole way: a run, turns of the real interpreter, calls through the real guard. What
arrives at a server is written down there."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, cast

import pytest

from portico.adapters.cross_domain.approval_runs import EngineApprovalEvents, EngineApprovalRuns
from portico.adapters.cross_domain.event_sinks import LoggedApprovalEvents
from portico.adapters.inline import InlineBus, InlineRunQueue, InlineRuns
from portico.adapters.monty.interpreter import MontyInterpreter
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.app.gateway_wiring import Limits, assemble_gateway
from portico.engine.core.runs import Activation, QueueConfig, Run, RunStatus
from portico.engine.execution import RunActivation
from portico.engine.runs import Kind, Kinds, RunSpec, StartRun
from portico.gateway.approved_calls import APPROVED_CALL
from portico.gateway.core.calls import ResultId, ToolResult, UpstreamTarget
from portico.gateway.core.catalog_snapshot import Tool, ToolRef
from portico.gateway.core.errors import ResultNotFound, UpstreamTimedOut
from portico.gateway.ports import ClientChannel, Upstreams
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.access_request import Allowed
from portico.guard.core.approvals import Status
from portico.guard.core.authentication import as_principal, principal_of
from portico.guard.core.keys import KeyHolder, Purpose, StoredKey
from portico.guard.core.principals import Identity, Role
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.sandbox.core.requests import CodeEnd
from portico.sandbox.requests import Interpreter
from portico.testing.engine import MemoryEventLog
from portico.testing.gateway import MemoryResults, a_tool, an_approved_server
from portico.testing.gateway_fakes import memory_gateway
from portico.testing.guard import MemoryKeyRing, MemoryRules, a_space, an_identity
from portico.testing.memory_store import BEGINNING, HeldKey, InMemoryStore
from portico.workflows.core.programs import (
    PROGRAM,
    ProgramLimits,
    Source,
    Turn,
    TurnState,
    functions_in,
    is_turn,
    left_from,
    turn_from,
    uses_call,
)
from portico.workflows.programs import FetchToolMetadata, RunProgram, TakeBack
from portico.workflows.programs import Turns as InterpreterTurns
from portico.workflows.run_context import ActFor, Outputs, SealedOutputs, Turns, asker_of
from portico.workflows.step_calls import MakeCall, ReadEnd, StepCall
from tests.engine.room import nothing
from tests.scenarios.hostile_calling_programs import hostile_calling_programs, with_tools
from tests.scenarios.hostile_programs import Hostile

LIMITS: Final = ProgramLimits(
    seconds=0.5,
    whole_seconds=4.0,
    memory=32_000_000,
    depth=100,
    calls=40,
    output=50_000,
    at_once=8,
    stored=20_000_000,
)
UNHURRIED: Final = replace(LIMITS, seconds=30.0, whole_seconds=60.0)
"""For programs that end by another limit, also on a busy machine."""
CALL_TIMEOUT: Final = timedelta(seconds=0.5)
_ANYTHING: Final[JsonObject] = {"type": "object"}
_ASK: Final = Rule(name="mail asks", ruling=Ruling.ASK, tools=("mail.*",))
_LARGE: Final = "The heron stands. " * 20_000

_TOOLS: Final[Mapping[str, Effect]] = {
    "tools.echo": Effect.PURE,
    "tools.fail": Effect.PURE,
    "tools.forever": Effect.PURE,
    "tools.large": Effect.PURE,
    "bank.pay": Effect.LOCAL_READ,
    "vault.read": Effect.LOCAL_READ,
    "mail.send": Effect.LOCAL_WRITE,
    "files.drop": Effect.IRREVERSIBLE,
    "old.tool": Effect.PURE,
}


@dataclass
class Reached:
    """The servers: what came to them, and what each answers."""

    calls: list[tuple[str, JsonObject]] = field(default_factory=list)
    most_at_once: int = 0
    _now: int = 0

    async def stop(self, space: object, server: str) -> None:
        """There is no process."""

    async def call(
        self,
        target: UpstreamTarget,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> ToolResult:
        name = f"{target.server}.{tool}"
        self.calls.append((name, arguments))
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            return await self._answer(name, arguments, timeout)
        finally:
            self._now -= 1

    async def _answer(self, name: str, arguments: JsonObject, timeout: timedelta) -> ToolResult:
        await asyncio.sleep(0)
        match name:
            case "tools.fail":
                return ToolResult([{"type": "text", "text": "it failed"}], failed=True)
            case "tools.forever":
                await asyncio.sleep(timeout.total_seconds())
                raise UpstreamTimedOut(name, timeout.total_seconds())
            case "tools.large":
                return ToolResult([{"type": "text", "text": _LARGE}])
            case _:
                return ToolResult([], structured=dict(arguments))


class HostileCallingRoom:
    def __init__(self, interpreter: MontyInterpreter, limits: ProgramLimits = LIMITS) -> None:
        self.world = world = InMemoryStore()
        identity = an_identity("ana", roles=[Role.MEMBER])
        world.spaces[identity.space] = a_space()
        world.identities.insert((identity.space, identity.id), identity)
        self.stranger = as_principal(an_identity("ben"))
        self._key = _a_key(identity)
        self._change_key(self._key)
        self.caller = principal_of(KeyHolder(self._key, b"", identity))
        self.reached = Reached()
        self.clock, self.bus = SystemClock(), InlineBus()
        self.log = MemoryEventLog(world, self.bus, self.clock)
        self.runs = InlineRuns(self.clock, system_entropy, self.bus, self.log)
        self.line = InlineRunQueue([QueueConfig(name="runs")], self.clock)
        self._interpreter, self._limits = interpreter, limits
        self._stock()
        starting = Kinds([Kind(name=APPROVED_CALL, work=nothing), Kind(name=PROGRAM, work=nothing)])
        self.start_run = StartRun(
            runs=self.runs,
            queue=self.line,
            kinds=starting,
            clock=self.clock,
            entropy=system_entropy,
        )
        self._assemble()

    def take_away(self) -> None:
        """Its key is good for nothing but one tool from now on."""
        self._change_key(replace(self._key, tools=("files.drop",)))

    def reject_everything(self) -> None:
        for place, kept in list(self.world.approvals.items()):
            rejected = replace(kept.approval, status=Status.REJECTED)
            self.world.approvals[place] = replace(kept, approval=rejected)

    def _change_key(self, key: StoredKey) -> None:
        self.world.keys[key.id] = HeldKey(key, b"")

    def _stock(self) -> None:
        space = self.caller.space
        for name in sorted({name.partition(".")[0] for name in _TOOLS}):
            server = an_approved_server(name)
            if name == "vault":
                server = replace(server, label=Label(Level.RESTRICTED))
            self.world.servers[space, server.id] = server
            self.world.tools[space, server.id] = [
                _tool(each) for each in _TOOLS if each.startswith(f"{name}.")
            ]

    def _assemble(self) -> None:
        world, clock, bus = self.world, self.clock, self.bus
        doors = memory_gateway(
            world,
            cast("Upstreams", self.reached),
            bus=bus,
            clock=clock,
            entropy=system_entropy,
            limits=Limits(call_timeout=CALL_TIMEOUT),
            rules=MemoryRules([_ASK]),
            errands=EngineApprovalRuns(
                start_run=self.start_run, runs=self.runs, queue=self.line, bus=bus
            ),
        )
        news = EngineApprovalEvents(
            news=LoggedApprovalEvents(log=self.log, bus=bus),
            runs=self.runs,
            queue=self.line,
            bus=bus,
            clock=clock,
        )
        approvals = replace(doors.approvals, news=news)
        gateway = assemble_gateway(
            replace(doors, approvals=approvals, ask_first=approvals.ask_first())
        )
        self.approvals = approvals.approvals
        self.catalogues = gateway.catalogues
        look_ahead = FetchToolMetadata(catalogues=gateway.catalogues)

        async def effect_of(caller: Principal, ref: ToolRef) -> Effect:
            ahead = await look_ahead(caller, ref)
            return Effect.UNKNOWN if ahead is None else ahead.effect

        self.results = MemoryResults(world)
        self._work = RunProgram(
            act_for=ActFor(
                as_they_are=RevalidatePrincipal(key_ring=MemoryKeyRing(world), clock=clock),
                new_outputs=self.outputs,
                clock=clock,
            ),
            look_ahead=look_ahead,
            step_call=StepCall(
                make=MakeCall(
                    call_tool=gateway.over_http.call_tool,
                    effect_of=effect_of,
                    history=doors.history,
                    servers=Turns(64),
                    runs=Turns(64),
                    clock=clock,
                ),
                read_end=ReadEnd(
                    approvals=approvals.approvals,
                    read_outcome=approvals.read_outcome(),
                    clock=clock,
                ),
            ),
            turns=InterpreterTurns(open_interpreter=self._open, clock=clock, limits=self._limits),
            take_back=TakeBack(
                book=self.runs, approvals=approvals.approvals, withdraw=approvals.withdraw()
            ),
        )

    def outputs(self) -> Outputs:
        return SealedOutputs(
            MemoryResults(self.world), self.clock, system_entropy, timedelta(days=1)
        )

    async def _open(self) -> Interpreter:
        return self._interpreter

    async def ran(self, code: str) -> Run:
        """To its end, or to where it waits for somebody."""
        caller = self.caller
        shelf = await self.catalogues.offered(caller)
        functions = functions_in(code, shelf.tools)
        source = Source(code=code, inputs={}, functions=functions, by_name=uses_call(code))
        kept = await self.outputs().keep(caller, source.as_json())
        given: JsonObject = {
            "program": str(kept.result),
            "asker": asker_of(caller),
            "label": str(caller.clearance),
        }
        run = await self.start_run(caller, RunSpec(kind=PROGRAM, input=given))
        return await self.on(run.id)

    async def on(self, run: RunId) -> Run:
        """It goes on, as far as it can."""
        found = await self.runs.get(self.caller, run)
        kinds = Kinds([Kind(name=PROGRAM, work=self._work)])
        leg = RunActivation(
            journal=self.runs, bus=self.bus, kinds=kinds, clock=self.clock, grace=timedelta(0)
        )
        await leg(Activation(run, found.leg))
        return await self.runs.get(self.caller, run)

    async def turns(self, run: RunId) -> Sequence[Turn]:
        steps = await self.runs.steps(self.caller, run)
        noted = [turn_from(step.output) for step in steps if is_turn(step.name) and step.output]
        return sorted(noted, key=lambda turn: turn.number)

    async def left(self, turn: Turn) -> TurnState:
        return left_from(await self.outputs().get(self.caller, ResultId.parse(turn.stored)))


def _a_key(identity: Identity) -> StoredKey:
    return StoredKey(
        id="k",
        space=identity.space,
        principal=identity.id,
        purpose=Purpose.ACCESS,
        name="ana's",
        scopes=None,
        clearance=identity.clearance,
        tools=("tools.*", "vault.*", "mail.*", "files.*", "old.*"),
        created_at=BEGINNING,
    )


def _tool(name: str) -> Tool:
    tool = a_tool(name, effect=_TOOLS[name], inputSchema=_ANYTHING)
    return replace(tool, accepted_pin="another") if name == "old.tool" else tool


pytestmark = [pytest.mark.scenario, pytest.mark.timeout(900)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
OWN = hostile_calling_programs()
INHERITED = with_tools()
PROGRAMS = [*OWN, *(INHERITED if FULL_SIZE else INHERITED[::4])]
"""Those of the interpreter's own suite have one of their own."""
AT_ONCE = 4
DEADLINE = 120
"""Seconds; only what hangs takes so long."""
GOOD = "import asyncio\n[await tools__echo(value='well'), await call('tools.echo', {'n': 1})]"


@pytest.fixture
async def interpreter() -> AsyncIterator[MontyInterpreter]:
    async with MontyInterpreter(processes=4) as opened:
        yield opened


def test_there_are_two_hundred_different_ones_of_its_own() -> None:
    assert len({hostile.program for hostile in OWN}) == len(OWN) >= 200


async def told(interpreter: MontyInterpreter, hostile: Hostile) -> CodeEnd:
    """Raises `TimeoutError` for one without an end."""
    limits = LIMITS if CodeEnd.TOO_LONG in hostile.ends else UNHURRIED
    room = HostileCallingRoom(interpreter, limits)
    async with asyncio.timeout(DEADLINE):
        run = await room.ran(hostile.program)
    turns = await room.turns(run.id)
    last, left = turns[-1], await room.left(turns[-1])
    _nothing_was_reached(room, hostile.program)
    _no_more_than_allowed(room, turns, left)
    assert last.end in hostile.ends, (hostile, last.end, left.error)
    assert (run.status is RunStatus.WAITING) == bool(run.waits_for)
    assert bool(room.world.approvals) == hostile.family.startswith("asking"), hostile
    if run.status is not RunStatus.WAITING:
        assert last.over
        assert (run.status is RunStatus.DONE) == (last.end is CodeEnd.FINISHED), run.failure
    return last.end


def _nothing_was_reached(room: HostileCallingRoom, program: str) -> None:
    reached = {name for name, _ in room.reached.calls}
    assert reached <= {"tools.echo", "tools.fail", "tools.forever", "tools.large"}, program


def _no_more_than_allowed(room: HostileCallingRoom, turns: Sequence[Turn], left: TurnState) -> None:
    assert len(room.reached.calls) <= LIMITS.calls
    assert room.reached.most_at_once <= LIMITS.at_once
    assert turns[-1].size <= LIMITS.stored + LIMITS.memory
    assert len(left.printed.encode()) <= LIMITS.output
    assert len(json.dumps(left.result)) <= 6 * LIMITS.output
    assert len(left.error or "") <= 5_000


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
@pytest.mark.planted
async def test_without_the_guard_they_would_be_noticed(
    tool: str, interpreter: MontyInterpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.guard.policy.decide", lambda *_: Allowed("nobody", "cares"))
    hostile = Hostile("red", f"await call({tool!r}, {{}})", frozenset(CodeEnd))

    with pytest.raises(AssertionError, match=tool):
        await told(interpreter, hostile)


async def test_a_snapshot_that_was_changed_is_not_taken_up(interpreter: MontyInterpreter) -> None:
    """Whoever can write into the database can end a program, and not make it another."""
    room = HostileCallingRoom(interpreter)
    run = await room.ran("await call('mail.send', {})\nawait call('bank.pay', {})")
    assert run.status is RunStatus.WAITING
    [turn] = await room.turns(run.id)
    place = (room.caller.space, ResultId.parse(turn.stored))
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
        (room.caller.space, ResultId.parse((await room.turns(run.id))[0].stored))
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
        await room.outputs().get(room.stranger, ResultId.parse(turn.stored))


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
