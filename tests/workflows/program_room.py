"""Programs in the engine's room: the interpreter is real, tools are functions of the test."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from portico.adapters.monty.interpreter import MontyInterpreter
from portico.engine.core.errors import StepFailed
from portico.engine.core.runs import Run
from portico.engine.runs import Kind
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.durable import Durable
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.sandbox.core.errors import CodeBusy
from portico.sandbox.requests import Interpreter
from portico.workflows.core.plan_values import step_document
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
from portico.workflows.programs import RunProgram, ToolMetadata, Turns
from portico.workflows.run_context import (
    Acting,
    CallResult,
    LeftOut,
    MemoryOutputs,
    Succeeded,
    WentWrong,
)
from portico.workflows.step_calls import CallSpec
from tests.engine.room import ANA, Room

Tool = Callable[[JsonObject], Awaitable[JsonValue]]
SMALL = ProgramLimits(seconds=1.0, whole_seconds=20.0, memory=32_000_000, calls=100, output=50_000)


async def echo(arguments: JsonObject) -> JsonValue:
    return arguments.get("value")


async def fail(_: JsonObject) -> JsonValue:
    raise ValueError("no such file")


@dataclass
class Tools:
    """Calls that are steps, of functions; some wait for somebody's word first."""

    tools: dict[str, Tool]
    waiting: set[str] = field(default_factory=set)
    made: list[tuple[str, JsonObject]] = field(default_factory=list)
    wishes: list[CallSpec] = field(default_factory=list)

    async def __call__(self, acting: Acting, wish: CallSpec) -> CallResult:
        self.wishes.append(wish)
        name = str(wish.tool)
        if name in self.waiting:
            word = await acting.durable.wait_for_signal(f"~approval:{wish.step}:1")
            if word != "yes":
                return LeftOut("nobody wanted it")

        async def action(_key: str) -> JsonValue:
            arguments = await wish.arguments()
            self.made.append((name, arguments))
            return await self.tools[name](arguments)

        try:
            given = await acting.durable.step(wish.step, action)
        except StepFailed as error:
            return WentWrong(error.failure)
        text = given if isinstance(given, str) else None
        content: list[JsonObject] = [{"type": "text", "text": text or ""}]
        answer = ToolResult(content, None if text is not None else given)
        kept = await acting.outputs.keep(await acting.requester(), step_document(answer))
        return Succeeded(kept.result, kept.size)


class ProgramRoom(Room):
    def __init__(
        self,
        interpreter: MontyInterpreter,
        limits: ProgramLimits = SMALL,
        tools: Mapping[str, Tool] | None = None,
        waiting: set[str] | None = None,
    ) -> None:
        self.tools = Tools({"tools.echo": echo, "tools.fail": fail, **(tools or {})})
        self.tools.waiting = waiting or set()
        self._interpreter = interpreter
        self._limits = limits
        self.busy = 0
        self.taken_back = 0
        self.effect: Effect | None = None
        self.waits = True
        super().__init__(Kind(name=PROGRAM, work=self.work))
        self.outputs = MemoryOutputs(self.clock, self.entropy)

    async def work(self, durable: Durable, given: JsonObject) -> JsonValue:
        turns = Turns(open_interpreter=self.interpreter, clock=self.clock, limits=self._limits)
        run = RunProgram(
            act_for=self.act_for,
            look_ahead=self.ahead,
            step_call=self.tools,
            turns=turns,
            take_back=self.take_back,
        )
        return await run(durable, given)

    async def take_back(self, acting: Acting) -> None:
        self.taken_back += 1

    async def ahead(self, caller: Principal, ref: ToolRef) -> ToolMetadata | None:
        return None if self.effect is None else ToolMetadata(self.effect)

    async def interpreter(self) -> Interpreter:
        if self.busy:
            self.busy -= 1
            raise CodeBusy("others wait")
        return self._interpreter

    def act_for(self, durable: Durable, given: JsonObject) -> Acting:
        async def as_now() -> Principal:
            return ANA

        return Acting(
            durable=durable,
            outputs=self.outputs,
            as_now=as_now,
            clock=self.clock,
            label=ANA.clearance,
            waits=self.waits,
        )

    async def begin(self, code: str, **inputs: JsonValue) -> RunId:
        refs = map(ToolRef.parse, self.tools.tools)
        source = Source(
            code=code, inputs=inputs, functions=functions_in(code, refs), by_name=uses_call(code)
        )
        kept = await self.outputs.keep(ANA, source.as_json())
        return await self.start(PROGRAM, program=str(kept.result))

    async def carried_out(self, code: str, **inputs: JsonValue) -> Run:
        return await self.leg(await self.begin(code, **inputs))

    async def said(self, run: RunId, topic: str, word: str) -> None:
        await self.runs.signal(ANA, run, topic, word)

    async def turns(self, run: RunId) -> list[Turn]:
        noted = [step for step in await self.steps(run) if is_turn(step.name) and step.output]
        return sorted((turn_from(step.output) for step in noted), key=lambda turn: turn.number)

    async def left(self, run: RunId) -> TurnState:
        """By the last turn so far."""
        return left_from(await self.outputs.get(ANA, (await self.turns(run))[-1].handle))

    async def result(self, code: str, **inputs: JsonValue) -> JsonValue:
        run = await self.carried_out(code, **inputs)
        left = await self.left(run.id)
        assert run.failure is None, (run.failure, left.error)
        return left.result
