"""The ways to a tool that go through a run: a step of a plan, and a call of a program.

Who acts is whoever the wish says, as they are when the call is made; engine, journal and the
keeping of values are in memory. The program is pretended: what an interpreter does to it is the
matter of `test_hostile_calling`, here it is what its calls may do.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, cast

from portico.adapters.inline import InlineBus, InlineRunQueue, InlineRuns
from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.engine.core.runs import Activation, QueueConfig
from portico.engine.execution import RunActivation
from portico.engine.ports import RunQueries
from portico.engine.runs import Kind, Kinds, RunSpec, StartRun
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.durable import Durable, Work
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.sandbox.core.requests import CodeEnd, CodeLimits, CodeOutcome, Pending, Raised
from portico.sandbox.requests import Interpreter
from portico.testing.memory_store import SeededEntropy, TickingClock
from portico.workflows.core.plan import Plan, Step
from portico.workflows.core.plan_documents import plan_document
from portico.workflows.core.plan_learning import PlanEnd
from portico.workflows.core.programs import Source, function_name, functions_in, uses_call
from portico.workflows.execution import RunPlan
from portico.workflows.programs import FetchToolMetadata, RunProgram
from portico.workflows.programs import Turns as InterpreterTurns
from portico.workflows.run_context import ActFor, Acting, MemoryOutputs, Turns
from portico.workflows.step_calls import MakeCall, ReadEnd, StepCall
from tests.scenarios.effect_oracle import Verdict
from tests.scenarios.effect_paths import Direct, House, Path
from tests.scenarios.effect_world import Wish

_EXPRESSIONS: Final = JmespathExpressions()


class _Engine:
    """Runs of one house: each is carried out as far as it comes by itself."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.clock, self._entropy = TickingClock(step=timedelta(0)), SeededEntropy("runs")
        self._bus = InlineBus()
        self.runs = InlineRuns(self.clock, self._entropy, self._bus)
        self._line = InlineRunQueue([QueueConfig(name="runs")], self.clock)
        self.outputs = MemoryOutputs(self.clock, self._entropy)
        self.step_call = StepCall(
            make=MakeCall(
                call_tool=house.call_tool,
                effect_of=self._effect_of,
                history=house.history,
                servers=Turns(8),
                runs=Turns(8),
                clock=self.clock,
            ),
            read_end=cast("ReadEnd", None),
        )

    async def carry_out(self, caller: Principal, work: Work, given: JsonObject) -> None:
        kinds = Kinds([Kind(name="work", work=work)])
        start = StartRun(
            runs=self.runs, queue=self._line, kinds=kinds, clock=self.clock, entropy=self._entropy
        )
        run = await start(caller, RunSpec(kind="work", input=given, label=PUBLIC))
        leg = RunActivation(
            journal=self.runs, bus=self._bus, kinds=kinds, clock=self.clock, grace=timedelta(0)
        )
        await leg(Activation(run.id, run.leg))

    def act_for(self, durable: Durable, _given: JsonObject) -> Acting:
        async def as_now() -> Principal:
            return self._house.caller(self._house.wish)

        return Acting(
            durable=durable,
            outputs=self.outputs,
            as_now=as_now,
            clock=self.clock,
            label=PUBLIC,
        )

    async def _effect_of(self, caller: Principal, ref: ToolRef) -> Effect:
        try:
            return (await self._house.catalogues.current(caller)).find(ref).effect
        except PorticoError:
            return Effect.UNKNOWN


@dataclass(frozen=True)
class AsWorkflow:
    """One step of a plan; what it is given is written in it, or an input of it."""

    name: str = "workflow"

    async def __call__(self, house: House, wish: Wish) -> None:
        engine, caller = _Engine(house), house.caller(wish)
        plan = Plan(steps=[Step(id="only", tool=wish.tool, arguments=dict(wish.arguments))])
        content: JsonObject = {"plan": plan_document(plan), "inputs": {}}
        kept = await engine.outputs.keep(caller, content)
        work = RunPlan(
            act_for=cast("ActFor", engine.act_for),
            step_call=engine.step_call,
            expressions=_EXPRESSIONS,
            history=house.history,
            book=cast("RunQueries", engine.runs),
            observer=list[PlanEnd]().append,
        )
        await engine.carry_out(caller, work, {"plan": str(kept.result)})

    def expected(self, house: House, wish: Wish) -> Verdict | None:
        return Direct().expected(house, wish)


@dataclass(frozen=True)
class AsProgram:
    """One call of a program, in each of the ways in which it can be written."""

    name: str = "program"

    async def __call__(self, house: House, wish: Wish) -> None:
        engine, caller = _Engine(house), house.caller(wish)
        pending = _written(wish)
        code = f"await {pending.function}(...)"
        shelf = await house.catalogues.offered(caller)
        source = Source(
            code=code,
            inputs={},
            functions=functions_in(code, shelf.tools),
            by_name=uses_call(code),
        )
        kept = await engine.outputs.keep(caller, source.as_json())
        work = RunProgram(
            act_for=engine.act_for,
            look_ahead=FetchToolMetadata(catalogues=house.catalogues),
            step_call=engine.step_call,
            turns=InterpreterTurns(open_interpreter=_opened(_OneCall(pending)), clock=engine.clock),
            take_back=_nothing_is_left,
        )
        await engine.carry_out(caller, work, {"program": str(kept.result)})

    def expected(self, house: House, wish: Wish) -> Verdict | None:
        return Direct().expected(house, wish)


async def _nothing_is_left(acting: Acting) -> None:
    """It waits for its only call."""


def _written(wish: Wish) -> Pending:
    tool, given = str(wish.tool), wish.arguments
    match wish.forged:
        case "no":
            return Pending(number=0, function=function_name(wish.tool), named=given)
        case "arguments":
            return Pending(number=0, function=function_name(wish.tool), arguments=[given])
        case "person":
            return Pending(number=0, function="call", arguments=[tool, given])
        case "tool":
            return Pending(number=0, function="call", named={"tool": tool, "arguments": given})
        case "definition":
            return Pending(number=0, function="call", arguments=[tool], named={"arguments": given})


def _opened(interpreter: Interpreter) -> Callable[[], Awaitable[Interpreter]]:
    async def opened() -> Interpreter:
        return interpreter

    return opened


@dataclass
class _OneCall:
    """Calls one function, and gives what that gave."""

    pending: Pending
    given: list[Mapping[int, JsonValue]] = field(default_factory=list)

    async def run(self, program: str, limits: CodeLimits, **_: object) -> CodeOutcome:
        raise NotImplementedError

    async def start(
        self,
        program: str,
        limits: CodeLimits,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        functions: Sequence[str] = (),
    ) -> CodeOutcome:
        if self.pending.function not in functions:
            return CodeOutcome(end=CodeEnd.RAISED, error="NameError")
        return CodeOutcome(end=CodeEnd.WAITING, snapshot=b"one", pending=[self.pending])

    async def resume(
        self,
        snapshot: bytes,
        limits: CodeLimits,
        results: Mapping[int, JsonValue],
        *,
        errors: Mapping[int, Raised] | None = None,
    ) -> CodeOutcome:
        if errors:
            return CodeOutcome(end=CodeEnd.RAISED, error=errors[0].text)
        return CodeOutcome(result=results[0])


RUN_PATHS: Final[tuple[Path, ...]] = (AsWorkflow(), AsProgram())
