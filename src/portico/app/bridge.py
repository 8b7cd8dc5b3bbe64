"""The bridge on its real doors, and what goes on for it in the background."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from portico.adapters.cross_domain.embeddings import MessageMeaning
from portico.adapters.crypto import AesSivSeal, Ed25519Signing
from portico.adapters.postgres.bridge.conversations import (
    PostgresConversations,
    PostgresPresences,
    PostgresProjects,
)
from portico.adapters.postgres.bridge.declassification import PostgresDeclassifications
from portico.adapters.postgres.bridge.leases import PostgresLeases
from portico.adapters.postgres.bridge.memory import PostgresAttachments, PostgresMemory
from portico.adapters.postgres.bridge.messages import PostgresMessages, PostgresReadState
from portico.adapters.postgres.bridge.search import (
    MessageGraphs,
    PostgresMessageSearch,
    PostgresMessageVectors,
)
from portico.adapters.postgres.bridge.work_items import PostgresWorks
from portico.adapters.postgres.guard.principals import PostgresPeople
from portico.adapters.postgres.transaction import BusAfterCommit, EnginePool
from portico.app.assemble_bridge import BridgeDoors, ask_to_lower, assemble_bridge
from portico.app.background import Lasting, ended, kept_up
from portico.app.gateway import Opened
from portico.app.ground import Ground
from portico.app.outside import Outside
from portico.bridge.core.declassification import found
from portico.bridge.declassification import DECLASSIFICATION, CarryOutDeclassification
from portico.bridge.search import EmbedMessages
from portico.engine.runs import Kind
from portico.interfaces.http.use_cases import BridgeUseCases, UseCases
from portico.interfaces.mcp.bridge.definitions import BridgeUses
from portico.kernel.clock import Clock

_EMBEDDING: Final = timedelta(seconds=5)
"""How long what was said may be without a vector, where there is time for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedBridge:
    """The bridge of one process."""

    use_cases: BridgeUseCases
    lowering: CarryOutDeclassification
    kinds: Sequence[Kind]
    lasting: Mapping[str, Lasting]

    @property
    def rooms(self) -> Mapping[str, object]:
        """What faces are given, by the names that they know it by."""
        return {"bridge": self.use_cases}

    def over_mcp(self, came_in: UseCases, clock: Clock, version: str) -> BridgeUses:
        return BridgeUses(
            authenticate=came_in.authenticate,
            enter_context=came_in.enter_context,
            bridge=self.use_cases,
            clock=clock,
            version=version,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as background:
            tasks = [
                background.create_task(kept_up(each), name=name)
                for name, each in self.lasting.items()
            ]
            try:
                yield
            finally:
                await ended(tasks)


def open_bridge(ground: Ground, outside: Outside, opened: Opened) -> OpenedBridge:
    meaning = MessageMeaning(opened.gateway.over_http.find_tools.look_up.static)
    doors = _doors(ground, outside, opened, meaning)
    lowering = _carrying_out(doors, opened)
    return OpenedBridge(
        use_cases=assemble_bridge(doors),
        lowering=lowering,
        kinds=[Kind(name=DECLASSIFICATION, work=lowering)],
        lasting={"what messages mean": partial(_embedding, ground, outside, meaning)},
    )


def _doors(
    ground: Ground, outside: Outside, opened: Opened, meaning: MessageMeaning
) -> BridgeDoors:
    transactions, clock, pepper = outside.transactions, outside.clock, ground.pepper()
    plans = opened.gateway.programs.workflows
    return BridgeDoors(
        projects=PostgresProjects(transactions),
        conversations=PostgresConversations(transactions, clock),
        messages=PostgresMessages(transactions),
        read_state=PostgresReadState(transactions),
        people=PostgresPeople(transactions),
        search=PostgresMessageSearch(transactions, lambda: meaning.model),
        meaning=meaning,
        memory=PostgresMemory(transactions, clock),
        attachments=PostgresAttachments(transactions),
        leases=PostgresLeases(transactions),
        works=PostgresWorks(transactions),
        presences=PostgresPresences(transactions),
        declassifications=PostgresDeclassifications(transactions),
        scan=partial(found, known=ground.secrets.known_in),
        signing=Ed25519Signing.from_pepper(pepper),
        ask=ask_to_lower(plans.approvals, plans.engines.durable),
        contexts=plans.contexts,
        key_ring=plans.approvals.key_ring,
        seal=AesSivSeal.from_pepper(pepper),
        bus=BusAfterCommit(outside.bus, transactions),
        together=transactions.begin,
        audit=outside.audit,
        clock=clock,
        entropy=outside.entropy,
    )


def _carrying_out(doors: BridgeDoors, opened: Opened) -> CarryOutDeclassification:
    approvals = opened.gateway.programs.workflows.approvals
    return CarryOutDeclassification(
        approvals=approvals.approvals,
        messages=doors.messages,
        declassifications=doors.declassifications,
        scan=doors.scan,
        signing=doors.signing,
        key_ring=doors.key_ring,
        news=approvals.news,
        audit=doors.audit,
        together=doors.together,
        bus=doors.bus,
        clock=doors.clock,
        entropy=doors.entropy,
    )


async def _embedding(ground: Ground, outside: Outside, meaning: MessageMeaning) -> None:
    """Until cancelled. Without the engine's address nobody here knows in which spaces there is
    something to do."""
    address = ground.store.addresses.engine
    if address is None:
        return
    model = await asyncio.to_thread(lambda: meaning.model)
    engine = EnginePool(address, 1)
    async with engine.pool:
        owner = ground.store.addresses.owner
        graphs = None if owner is None else MessageGraphs(owner)
        vectors = PostgresMessageVectors(outside.transactions, engine, model, graphs)
        await EmbedMessages(vectors=vectors, meaning=meaning).every(_EMBEDDING)
