"""Programs through the whole gateway in memory, beside the plans of its room."""

from dataclasses import replace
from typing import Any

from portico.adapters.monty.interpreter import MontyInterpreter
from portico.engine.core.runs import Activation
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal
from portico.sandbox.requests import Interpreter
from portico.workflows.core.programs import ProgramLimits, ProgramMode, ProgramReport, ProgramSpec
from tests.workflows.plan_room import PlanRoom


class ProgramsRoom(PlanRoom):
    """`files.read`, `files.write` and `files.delete`; the last one needs approval."""

    def __init__(self, interpreter: MontyInterpreter, **more: Any) -> None:
        super().__init__(**more)

        async def opened() -> Interpreter:
            return interpreter

        self.programs = replace(
            self.gateway.programs,
            open_interpreter=opened,
            limits=ProgramLimits(memory=32_000_000, calls=100),
        )
        self.program_use = self.programs.use_cases(self.use.show_workflow)
        kind = self.programs.kind(self.gateway.step_call, self.doors.engines.durable)
        self.kinds = [*self.kinds, kind]

    async def begin(self, code: str, **more: Any) -> RunId:
        given: dict[str, Any] = {"mode": ProgramMode.DURABLE, **more}
        wish = ProgramSpec(code=code, **given)
        started = await self.program_use.start_program(await self.bot(), wish)
        return started.run.id

    async def report(self, run: RunId, by: Principal | None = None) -> ProgramReport:
        return await self.program_use.show_program(by or await self.bot(), run)

    async def program(self, code: str, **more: Any) -> ProgramReport:
        """To its end, or to where it waits."""
        run = await self.begin(code, **more)
        await self.leg(run)
        return await self.report(run)

    async def in_memory(self, code: str, **more: Any) -> ProgramReport:
        run = await self.begin(code, **{"mode": ProgramMode.INLINE, **more})
        side = self.doors.engines.inline
        found = await side.book.get(await self.bot(), run)
        kind = self.programs.kind(self.gateway.step_call, side)
        await self.doors.inline_leg([kind])(Activation(run, found.leg))
        return await self.report(run)
