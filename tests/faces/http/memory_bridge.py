"""The bridge behind the HTTP face, on in-memory doors."""

from collections.abc import Sequence

from portico.bridge.core.scan import found
from portico.faces.http.bridge_use_cases import BridgeUseCases
from portico.main.assemble import Doors
from portico.main.assemble_bridge import BridgeDoors, ask_to_lower, assemble_bridge
from portico.main.assemble_workflows import WorkflowDoors
from portico.testing.bridge_declassifications import MemoryDeclassifications, PlainSigning
from portico.testing.bridge_leases import MemoryLeases
from portico.testing.bridge_memory import MemoryAttachments, MemoryMemory
from portico.testing.bridge_messages import MemoryMessages
from portico.testing.bridge_read_state import MemoryMessageSearch, MemoryReadState
from portico.testing.bridge_talk import MemoryConversations, MemoryPeople, MemoryProjects
from portico.testing.bridge_work import MemoryPresences, MemoryWorks
from portico.testing.contexts import MemoryTaskContexts
from portico.testing.world import MemoryWorld


def memory_bridge(world: MemoryWorld, doors: Doors, plans: WorkflowDoors) -> BridgeUseCases:
    return assemble_bridge(
        BridgeDoors(
            projects=MemoryProjects(world),
            conversations=MemoryConversations(world, doors.clock),
            messages=MemoryMessages(world),
            read_state=MemoryReadState(world),
            people=MemoryPeople(world),
            search=MemoryMessageSearch(world, meaning),
            meaning=meaning,
            memory=MemoryMemory(world, doors.clock),
            attachments=MemoryAttachments(world),
            leases=MemoryLeases(world, doors.clock),
            works=MemoryWorks(world),
            presences=MemoryPresences(world),
            declassifications=MemoryDeclassifications(world),
            scan=found,
            signing=PlainSigning(),
            ask=ask_to_lower(plans.approvals, plans.engines.durable),
            contexts=MemoryTaskContexts(world),
            key_ring=doors.key_ring,
            seal=doors.seal,
            bus=doors.bus,
            together=doors.together,
            audit=doors.audit,
            clock=doors.clock,
            entropy=doors.entropy,
            look=0.5,
        )
    )


async def meaning(texts: Sequence[str]) -> Sequence[Sequence[float]]:
    """Of each letter, how often it is there."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [[float(text.lower().count(letter)) for letter in letters] for text in texts]
