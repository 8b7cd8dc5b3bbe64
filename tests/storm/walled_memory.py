"""The same house upon the doors in memory, which have the same walls: to try the oracles on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from portico.adapters.seals.aes_siv import AesSivSeal
from portico.adapters.seals.signing import Ed25519Signing
from portico.bridge.core.scan import found
from portico.main.assemble_bridge import BridgeDoors
from portico.testing.approvals import MemoryApprovals
from portico.testing.bridge_declassifications import MemoryDeclassifications
from portico.testing.bridge_leases import MemoryLeases
from portico.testing.bridge_memory import MemoryAttachments, MemoryMemory
from portico.testing.bridge_messages import MemoryMessages
from portico.testing.bridge_read_state import MemoryMessageSearch, MemoryReadState
from portico.testing.bridge_talk import MemoryConversations, MemoryPeople, MemoryProjects
from portico.testing.bridge_work import MemoryPresences, MemoryWorks
from portico.testing.contexts import MemoryTaskContexts
from portico.testing.gateway import MemoryResults
from portico.testing.guard import (
    MemoryKeyRing,
    MemoryKeys,
    MemoryPrincipals,
    MemorySpaces,
    a_space,
)
from portico.testing.world import MemoryWorld, together
from tests.storm.walled_house import PEPPER, WalledHouse, meaning
from tests.storm.walled_inside import Inside, as_root, root_of


@asynccontextmanager
async def memory_house(*, space: str = "home") -> AsyncIterator[WalledHouse]:
    """The same upon the doors in memory, which have the same walls: to try the oracles on."""
    world = MemoryWorld()
    inside = Inside(space)
    root, approvals = root_of(space), MemoryApprovals(world)
    await MemorySpaces(world).found(a_space(space), *root)
    yield WalledHouse(
        doors=BridgeDoors(
            projects=MemoryProjects(world),
            conversations=MemoryConversations(world, inside.clock),
            messages=MemoryMessages(world),
            read_state=MemoryReadState(world),
            people=MemoryPeople(world),
            search=MemoryMessageSearch(world, meaning),
            meaning=meaning,
            memory=MemoryMemory(world, inside.clock),
            attachments=MemoryAttachments(world),
            leases=MemoryLeases(world, inside.clock),
            works=MemoryWorks(world),
            presences=MemoryPresences(world),
            declassifications=MemoryDeclassifications(world),
            scan=found,
            signing=Ed25519Signing.from_pepper(PEPPER),
            ask=inside.ask(approvals, together),
            contexts=MemoryTaskContexts(world),
            key_ring=MemoryKeyRing(world),
            seal=AesSivSeal.from_pepper(PEPPER),
            bus=inside.bus,
            together=together,
            audit=inside.audit,
            clock=inside.clock,
            entropy=inside.entropy,
        ),
        principals=MemoryPrincipals(world),
        keys=MemoryKeys(world),
        approvals=approvals,
        results=MemoryResults(world),
        runs=inside.runs,
        errands=inside.errands,
        embed=_nothing_to_do,
        root=as_root(root[0], root[1]),
        space_name=space,
    )


async def _nothing_to_do() -> None:
    pass
