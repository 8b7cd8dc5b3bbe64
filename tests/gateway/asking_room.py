"""The gateway, the guard and the engine in memory: an agent asks, people answer, runs call."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

from portico.adapters.cross_domain.approval_runs import EngineApprovalRuns
from portico.adapters.cross_domain.event_sinks import APPROVALS, LoggedApprovalEvents
from portico.adapters.inline import InlineBus, InlineRunQueue, InlineRuns
from portico.app.gateway_wiring import assemble_gateway
from portico.engine.core.runs import Activation, QueueConfig, Run
from portico.engine.execution import RunActivation
from portico.engine.ports import Journal
from portico.engine.runs import Kind, Kinds, StartRun
from portico.gateway.approved_calls import APPROVED_CALL
from portico.gateway.core.calls import Called
from portico.gateway.core.catalog_snapshot import Tool
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Approval, Via
from portico.guard.core.authentication import as_principal, principal_of
from portico.guard.core.errors import ApprovalPending
from portico.guard.core.keys import ApiKey, Purpose, StoredKey
from portico.guard.core.principals import Role
from portico.guard.core.rules import Rule
from portico.kernel.ids import ApprovalId
from portico.kernel.principal import Principal, PrincipalKind
from portico.learning.core.prefetch_gates import PrefetchLimits
from portico.testing.engine import MemoryEventLog
from portico.testing.gateway import ScriptedUpstreams, an_approved_server, seen
from portico.testing.gateway_fakes import memory_gateway
from portico.testing.guard import MemoryKeyRing, MemoryKeys, MemoryRules, a_space, an_identity
from portico.testing.memory_store import BEGINNING, InMemoryStore, SeededEntropy, TickingClock
from tests.engine.room import nothing
from tests.gateway.open_room import DELETE, READ, WRITE

ANA = as_principal(an_identity("ana", roles=[Role.OPERATOR]))
BEN = as_principal(an_identity("ben", roles=[Role.OPERATOR]))
_BOT = an_identity("bot", kind=PrincipalKind.AGENT)


class GuardedRoom:
    """`files.read`, `files.write` and `files.delete`; the last one needs approval."""

    def __init__(
        self,
        *,
        queue: QueueConfig | None = None,
        rules: Sequence[Rule] = (),
        ahead: PrefetchLimits | None = None,
    ) -> None:
        self.world = world = InMemoryStore()
        world.spaces[ANA.space] = a_space()
        for each in ("ana", "ben"):
            identity = an_identity(each, roles=[Role.OPERATOR])
            world.identities.insert((identity.space, identity.id), identity)
        world.identities.insert((_BOT.space, _BOT.id), _BOT)
        self.clock = TickingClock(step=timedelta(milliseconds=1))
        self.bus, self.entropy = InlineBus(), SeededEntropy()
        self.log = MemoryEventLog(world, self.bus, self.clock)
        self.runs = InlineRuns(self.clock, self.entropy, self.bus, self.log)
        self.line = InlineRunQueue([queue or QueueConfig(name="runs")], self.clock)
        server = an_approved_server("files")
        world.servers[ANA.space, server.id] = server
        world.tools[ANA.space, server.id] = [READ, WRITE, DELETE]
        self.upstreams = ScriptedUpstreams(offers={"files": seen()})
        kinds = Kinds([Kind(name=APPROVED_CALL, work=nothing)])
        self.start_run = StartRun(
            runs=self.runs, queue=self.line, kinds=kinds, clock=self.clock, entropy=self.entropy
        )
        self.base = memory_gateway(
            world,
            self.upstreams,
            bus=self.bus,
            clock=self.clock,
            entropy=self.entropy,
            rules=MemoryRules(rules),
            errands=EngineApprovalRuns(
                start_run=self.start_run, runs=self.runs, queue=self.line, bus=self.bus
            ),
            ahead=ahead,
        )
        self.news = LoggedApprovalEvents(log=self.log, bus=self.bus)
        key = ApiKey.mint(self.entropy)
        self.key = StoredKey(
            id=key.id,
            space=_BOT.space,
            principal=_BOT.id,
            purpose=Purpose.ACCESS,
            name="bot's",
            scopes=None,
            clearance=_BOT.clearance,
            created_at=BEGINNING,
        )
        self._digest = key.digest(b"pepper")

    async def bot(self) -> Principal:
        """As it comes in, with its key."""
        if self.key.id not in self.world.keys:
            await MemoryKeys(self.world).add(ANA, self.key, self._digest)
        holder = await MemoryKeyRing(self.world).find(self.key.id)
        assert holder is not None
        return principal_of(holder)

    def run_leg(self, kinds: Sequence[Kind], journal: Journal | None = None) -> RunActivation:
        return RunActivation(
            journal=journal or self.runs,
            bus=self.bus,
            kinds=Kinds(kinds),
            clock=self.clock,
            grace=timedelta(0),
        )


class AskingRoom(GuardedRoom):
    def __init__(
        self,
        *,
        wait: timedelta = timedelta(0),
        queue: QueueConfig | None = None,
        rules: Sequence[Rule] = (),
        **doors: Any,
    ) -> None:
        super().__init__(queue=queue, rules=rules)
        self.approvals = replace(self.base.approvals, wait=wait, news=self.news, **doors)
        made = replace(self.base, approvals=self.approvals, ask_first=self.approvals.ask_first())
        self.use = assemble_gateway(made).over_http
        self.kind = self.approvals.kind(self.use.call_tool)

    async def call(self, tool: Tool = DELETE, *, path: str = "/a") -> Called:
        return await self.use.call_tool(await self.bot(), tool.ref, {"path": path})

    async def asked(self, path: str = "/a") -> Approval:
        try:
            await self.call(path=path)
        except ApprovalPending as pending:
            return await self.seen(pending.approval)
        raise AssertionError("nobody was asked")

    async def seen(self, approval: str | ApprovalId) -> Approval:
        return await self.approvals.approvals.get(ANA, ApprovalId.parse(str(approval)))

    async def answer(
        self,
        approval: Approval,
        kind: AnswerKind = AnswerKind.ONCE,
        *,
        by: Principal = ANA,
        **more: Any,
    ) -> Approval:
        reply = Reply(kind=kind, via=Via.CLI, **more)
        return await self.use.approvals.answer_approval(by, approval.id, reply)

    async def approved(self, path: str = "/a") -> Approval:
        """Asked for, and somebody said yes; it was not made yet."""
        asked = await self.asked(path)
        await self.answer(asked)
        return asked

    async def leg(self, approval: Approval, journal: Journal | None = None) -> Run:
        """The run behind it goes as far as it can, here and now."""
        run = await self.runs.get(ANA, approval.run)
        await self.run_leg([self.kind], journal)(Activation(run.id, run.leg))
        return await self.runs.get(ANA, approval.run)

    @asynccontextmanager
    async def working(self, *kinds: Kind) -> AsyncIterator[None]:
        async with self.line.working(self.run_leg([self.kind, *kinds]), self.runs.due):
            yield

    async def told(self) -> Sequence[str]:
        page = await self.log.read(ANA, APPROVALS, after=0, limit=1000)
        return [entry.type for entry in page.entries]

    async def until_ended(self, approval: Approval) -> Approval:
        async with asyncio.timeout(30):
            while (found := await self.seen(approval.id)).outcome is None:  # noqa: ASYNC110 # seen only so
                await asyncio.sleep(0.005)
        return found
