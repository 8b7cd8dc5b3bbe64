"""Approved calls in processes that can be killed at any point, and a house to ask in.

The catalogue, the gate and the call are the real ones; the tool is the outside oracle, which is
told what it was called with and under which approval.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import psycopg

from portico.adapters.dbos.run_queue import DbosRunQueue
from portico.adapters.inline import InlineBus
from portico.adapters.postgres.gateway.results import PostgresResults
from portico.adapters.postgres.guard.approvals import PostgresApprovals
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.guard.keys import PostgresKeyRing, PostgresKeys
from portico.adapters.postgres.guard.principals import PostgresPrincipals
from portico.adapters.postgres.transaction import EnqueueAfterCommit, Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.app.gateway_wiring import assemble_gateway
from portico.app.guard import GatewaySide, open_approvals
from portico.app.guard_wiring import ApprovalDependencies
from portico.app.shared_dependencies import SharedDependencies
from portico.engine.runs import Kinds
from portico.gateway.core.calls import Called, ToolResult, UpstreamTarget
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.ports import ClientChannel
from portico.gateway.results import StoreResult
from portico.guard.core.approvals import Approval, ApprovalGrant
from portico.guard.core.authentication import as_principal, principal_of
from portico.guard.core.keys import ApiKey
from portico.guard.core.principals import Role
from portico.kernel.clock import Clock
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal, PrincipalKind
from portico.settings.guard import ApprovalsSettings
from portico.testing.engine import MemoryBus
from portico.testing.gateway import ScriptedUpstreams, a_tool, an_approved_server, seen, text
from portico.testing.gateway_fakes import memory_gateway
from portico.testing.guard import MemoryAudit, MemoryRules, a_space, an_identity
from portico.testing.memory_store import InMemoryStore
from portico.testing.secrets import MemoryVault
from tests.contracts.doors import a_key
from tests.storm.house import House
from tests.storm.worker import Orders, Wire, until_killed

DELETE = a_tool("files.delete", "Deletes a file for good.", effect=Effect.IRREVERSIBLE)
POINTS = ("before claim", "after claim", "after call", "after outcome")
_ticket: ContextVar[ApprovalGrant | None] = ContextVar("ticket", default=None)


class OracleUpstreams(ScriptedUpstreams):
    """The server of the one tool there is: what it does is seen outside."""

    def __init__(self, oracle: Wire | None) -> None:
        super().__init__(offers={"files": seen()})
        self._oracle = oracle

    async def call(
        self,
        target: UpstreamTarget,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> ToolResult:
        ticket = _ticket.get()
        assert self._oracle is not None, "only workers call it"
        await self._oracle.ask(
            approval=None if ticket is None else str(ticket.approval), arguments=dict(arguments)
        )
        return text(str(arguments["path"]))


class ClaimsAnyway(PostgresApprovals):
    """Without the condition that makes an approval good for one use."""

    async def claim(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        await super().claim(caller, approval, now)
        return True


class Pointed:
    """Where a worker that makes an approved call can die."""

    def __init__(self, conductor: Wire) -> None:
        self._conductor = conductor

    async def at(self, point: str, approval: object) -> None:
        await self._conductor.ask(point=point, pid=os.getpid(), approval=str(approval))

    def approvals(self, inner: PostgresApprovals) -> PostgresApprovals:
        pointed, claim = self, inner.claim

        class PointedApprovals(type(inner)):  # type: ignore[misc] # ty: ignore[unsupported-base] # whichever it is
            async def claim(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
                await pointed.at("before claim", approval)
                claimed = await claim(caller, approval, now)
                if claimed:
                    await pointed.at("after claim", approval)
                return claimed

        return PointedApprovals(inner._transactions)

    def together(self, inner: Any) -> Any:
        @asynccontextmanager
        async def together(caller: Principal) -> AsyncIterator[None]:
            async with inner(caller):
                yield
            await self.at("after outcome", "")

        return together

    def calling(self, call_tool: Any) -> Any:
        async def calling(
            caller: Principal,
            ref: ToolRef,
            arguments: JsonObject,
            *,
            whole: bool,
            ticket: ApprovalGrant,
        ) -> Called:
            _ticket.set(ticket)
            called: Called = await call_tool(caller, ref, arguments, whole=whole, ticket=ticket)
            await self.at("after call", ticket.approval)
            return called

        return calling


def a_gateway(
    space: SpaceId, transactions: Transactions, upstreams: OracleUpstreams, **doors: Any
) -> Any:
    """A real one with one tool that cannot be undone; nobody has made a rule about it."""
    world = InMemoryStore()
    world.spaces[space] = a_space()
    server = an_approved_server("files")
    world.servers[space, server.id] = server
    world.tools[space, server.id] = [DELETE]
    made = memory_gateway(
        world,
        upstreams,
        bus=MemoryBus(),
        clock=SystemClock(),
        entropy=system_entropy,
        **doors,
    )
    policy = replace(
        made.policy,
        rules=MemoryRules(),
        contexts=PostgresTaskContexts(transactions, SystemClock()),
    )
    made = replace(made, policy=policy, gate=policy.gate(), contexts=policy.contexts)
    return made.history, assemble_gateway(made).over_http.call_tool


def approval_doors(
    transactions: Transactions, clock: Clock, bus: InlineBus, line: EnqueueAfterCommit, history: Any
) -> ApprovalDependencies:
    results = PostgresResults(transactions, MemoryVault())
    side = GatewaySide(
        rules=MemoryRules(),
        contexts=PostgresTaskContexts(transactions, clock),
        history=history,
        results=results,
        keep_result=StoreResult(
            results=results, clock=clock, entropy=system_entropy, page_size=20_000
        ),
    )
    outside = SharedDependencies(
        transactions=transactions,
        bus=bus,
        audit=MemoryAudit(),
        clock=clock,
        entropy=system_entropy,
        vault=MemoryVault(),
    )
    return open_approvals(ApprovalsSettings(wait_seconds=0), outside, line, side, base_url="")


def with_points(
    doors: ApprovalDependencies, store: PostgresApprovals, pointed: Pointed
) -> ApprovalDependencies:
    return replace(
        doors, approvals=pointed.approvals(store), unit_of_work=pointed.together(doors.unit_of_work)
    )


def main(orders: Orders) -> None:
    logging.disable(logging.CRITICAL)
    conductor = Wire(orders.conductor)
    pointed = Pointed(conductor)

    def kinds(transactions: Transactions, bus: InlineBus) -> Kinds:
        line = EnqueueAfterCommit(DbosRunQueue(orders.engine), transactions)
        upstreams = OracleUpstreams(Wire(orders.oracle))
        history, call_tool = a_gateway(SpaceId.parse(orders.space), transactions, upstreams)
        doors = approval_doors(transactions, SystemClock(), bus, line, history)
        store = (PostgresApprovals if orders.single_use else ClaimsAnyway)(transactions)
        made = with_points(doors, store, pointed)
        return Kinds([made.kind(pointed.calling(call_tool))])

    asyncio.run(until_killed(orders, conductor, kinds))


@dataclass(slots=True)
class ApprovalHouse:
    """Who asks, who answers, and the doors that they do it through."""

    house: House
    doors: ApprovalDependencies
    call_tool: Any
    bots: Sequence[Principal]
    people: Sequence[Principal]
    owner: psycopg.Connection

    async def call(self, bot: Principal, path: str) -> Called:
        called: Called = await self.call_tool(bot, DELETE.ref, {"path": path})
        return called

    async def found(self, approval: str) -> Approval:
        return await self.doors.approvals.get(self.house.ana, ApprovalId.parse(approval))

    def over(self, approval: str) -> bool:
        """Its time passes, at once. Whether it had not been used by then."""
        found = self.owner.execute(
            "WITH over AS (UPDATE portico.approval SET expires_at = now() - interval '1 second'"
            " WHERE approval_id = %s AND claimed_at IS NULL RETURNING run_id),"
            " woken AS (UPDATE portico.run SET wakes_at = now() FROM over"
            " WHERE run.run_id = over.run_id AND status = 'waiting')"
            " SELECT run_id FROM over",
            [ApprovalId.parse(approval).value],
        ).fetchone()
        return found is not None


@asynccontextmanager
async def approval_house(house: House) -> AsyncIterator[ApprovalHouse]:
    clock = SystemClock()
    async with open_pool(house.addresses.app, 6) as pool:
        transactions = Transactions(pool)
        line = EnqueueAfterCommit(DbosRunQueue(str(house.addresses.engine)), transactions)
        history, _ = a_gateway(house.ana.space, transactions, OracleUpstreams(None))
        doors = approval_doors(transactions, clock, InlineBus(), line, history)
        _, call_tool = a_gateway(
            house.ana.space, transactions, OracleUpstreams(None), ask_first=doors.ask_first()
        )
        join = partial(_joined, transactions, house.ana)
        bots = [await join(f"bot {n}", PrincipalKind.AGENT, Role.MEMBER) for n in (1, 2)]
        people = [house.ana, await join("ben", PrincipalKind.PERSON, Role.OPERATOR)]
        joining = asyncio.create_task(line.run())
        owner = psycopg.connect(str(house.addresses.owner), autocommit=True)
        try:
            yield ApprovalHouse(house, doors, call_tool, bots, people, owner)
        finally:
            joining.cancel()
            owner.close()


async def _joined(
    transactions: Transactions, ana: Principal, name: str, kind: PrincipalKind, role: Role
) -> Principal:
    identity = replace(an_identity(name, kind=kind, roles=[role]), space=ana.space)
    key = ApiKey.mint(system_entropy)
    await PostgresPrincipals(transactions).add(ana, identity)
    await PostgresKeys(transactions).add(ana, a_key(identity, key, name), key.digest(b"storm"))
    holder = await PostgresKeyRing(transactions).find(key.id)
    assert holder is not None
    return principal_of(holder) if kind is PrincipalKind.AGENT else as_principal(identity)
