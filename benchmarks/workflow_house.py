"""The gateway and the engine of `just bench workflow`, opened in the process that measures."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from benchmarks.workflow_bare import walked
from benchmarks.workflow_shapes import Shape
from portico.adapters.dbos.deferred_queue import DeferredQueue
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.app.app_context import AppContext
from portico.app.gateway import Opened, open_gateway
from portico.app.run_workers import carry_out_runs, every_kind, kept_up
from portico.app.secrets import SecretDependencies, open_audit
from portico.app.shared_dependencies import SharedDependencies
from portico.app.use_cases import use_cases
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.workflows.core.plan import ArgumentTemplate, Plan, Reference, Step
from portico.workflows.core.plan_report import Mode, WorkflowReport, WorkflowStatus
from portico.workflows.runs import WorkflowSpec

_PATIENCE: Final = timedelta(minutes=10)


class DidNotEnd(Exception):
    """A plan under measurement came to something else than its end."""


@dataclass(frozen=True, slots=True)
class WorkflowHouse:
    opened: Opened
    caller: Principal
    """The agent that `init` has left a key for, as every client comes in."""

    async def plan(self, plan: Plan, mode: Mode) -> WorkflowReport:
        use = self.opened.gateway.over_http.workflows
        started = await use.start_workflow(self.caller, WorkflowSpec(plan=plan, mode=mode))
        report = await use.wait_for_workflow(self.caller, started.run.id, patience=_PATIENCE)
        if report.status is not WorkflowStatus.DONE:
            raise DidNotEnd(str(report.as_json())[:2000])
        return report

    async def calls(self, shape: Shape, server: str) -> None:
        """The same calls, and nobody who keeps account of them."""
        call, ref = self.opened.gateway.over_http.call_tool, ToolRef(server, "look")

        async def one(name: str) -> None:
            needs: JsonValue = list(shape.needs[name])
            given: JsonObject = {"step": name, "seconds": shape.nominal, "given": needs}
            await call(self.caller, ref, given)

        await walked(shape, one)


def plan_of(shape: Shape, server: str) -> Plan:
    """Each step is given the names of those that it needs, as they say them: as long as what the
    bare client gives. Whole answers would grow from step to step."""

    def step(name: str, needs: Sequence[str]) -> Step:
        given: ArgumentTemplate = [Reference(each, "json.step") for each in needs]
        arguments: dict[str, ArgumentTemplate] = {
            "step": name,
            "seconds": shape.nominal,
            "given": given,
        }
        return Step(id=name, tool=ToolRef(server, "look"), arguments=arguments)

    steps = [step(name, needs) for name, needs in shape.needs.items()]
    return Plan(steps=steps, output=Reference(steps[-1].id, "text"), has_output=True)


@asynccontextmanager
async def workflow_house() -> AsyncIterator[WorkflowHouse]:
    """As a server opens it, without its faces."""
    ground = AppContext()
    addresses, clock = ground.store.addresses, SystemClock()
    bus, line = PostgresBus(addresses.app, system_entropy), DeferredQueue()
    secret_doors = SecretDependencies(ground)
    async with open_pool(addresses.app, 8) as pool, asyncio.TaskGroup() as background:
        transactions = Transactions(pool)
        auditing = open_audit(ground, transactions)
        outside = SharedDependencies(
            transactions=transactions,
            bus=bus,
            audit=auditing.audit,
            clock=clock,
            entropy=system_entropy,
            vault=secret_doors.vault,
            keeper=secret_doors.references,
            queue=line,
        )
        opened = open_gateway(ground, outside)
        kinds = every_kind(clock, *opened.kinds)
        await secret_doors.start()
        lasting = [
            background.create_task(each)
            for each in (
                bus.run(),
                kept_up(auditing.run),
                secret_doors.keep_up(),
                carry_out_runs(ground, outside, kinds, line),
            )
        ]
        key = await asyncio.to_thread(ground.agent_key_file.read_text)
        entry = await use_cases(ground, transactions).authenticate(key.strip())
        async with opened.running(_no_files):
            yield WorkflowHouse(opened, entry.principal)
        for task in lasting:
            task.cancel()


async def _no_files() -> None:
    """What other clients' files describe is not measured here."""
