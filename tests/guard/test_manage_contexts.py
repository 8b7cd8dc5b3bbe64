"""Tasks that somebody opens for themselves."""

from dataclasses import replace

import pytest

from portico.guard.core.errors import ContextNotFound, ContextRefused, NotPermitted
from portico.guard.core.roles import Role
from portico.guard.manage_contexts import CloseContext, EnterContext, ListContexts, OpenContext
from portico.kernel.label import PUBLIC
from portico.kernel.principal import PrincipalKind
from portico.testing.audit import MemoryAudit
from portico.testing.contexts import MemoryTaskContexts
from portico.testing.guard import a_person, an_identity
from portico.testing.kernel import SeededEntropy, TickingClock
from portico.testing.world import MemoryWorld, together

ANA, BOB = a_person("ana"), a_person("bob")
VIEWER = a_person("ana", roles=[Role.VIEWER])
AGENT = replace(ANA, kind=PrincipalKind.AGENT)


class Room:
    def __init__(self) -> None:
        world, clock = MemoryWorld(), TickingClock()
        for each in map(an_identity, ("ana", "bob")):
            world.identities.insert((each.space, each.id), each)
        book = MemoryTaskContexts(world)
        self.audit = MemoryAudit()
        self.open = OpenContext(
            book=book, together=together, audit=self.audit, clock=clock, entropy=SeededEntropy()
        )
        self.list = ListContexts(book=book)
        self.close = CloseContext(book=book, together=together, audit=self.audit, clock=clock)
        self.enter = EnterContext(book=book)


@pytest.fixture
def room() -> Room:
    return Room()


async def test_a_task_is_opened_clean_and_entered_by_whoever_opened_it(room: Room) -> None:
    task = await room.open(ANA, "quarter")

    assert (task.name, task.label, task.untrusted) == ("quarter", PUBLIC, False)
    assert await room.enter(ANA, task.id) == replace(ANA, context=task.id)
    assert await room.list(ANA) == [task]


async def test_nobody_enters_lists_or_closes_anothers(room: Room) -> None:
    task = await room.open(ANA, "quarter")

    assert await room.list(BOB) == []
    with pytest.raises(ContextNotFound):
        await room.enter(BOB, task.id)
    with pytest.raises(ContextNotFound):
        await room.close(BOB, task.id)


async def test_a_closed_task_is_entered_no_more(room: Room) -> None:
    task = await room.open(ANA, "quarter")

    await room.close(ANA, task.id)

    assert await room.list(ANA) == []
    with pytest.raises(ContextNotFound):
        await room.enter(ANA, task.id)


async def test_an_agent_neither_opens_nor_enters_one(room: Room) -> None:
    task = await room.open(ANA, "quarter")

    with pytest.raises(ContextRefused):
        await room.open(AGENT, "clean")
    with pytest.raises(ContextRefused):
        await room.enter(AGENT, task.id)


async def test_it_takes_the_scope(room: Room) -> None:
    task = await room.open(ANA, "quarter")

    with pytest.raises(NotPermitted):
        await room.open(VIEWER, "mine")
    with pytest.raises(NotPermitted):
        await room.list(VIEWER)
    with pytest.raises(NotPermitted):
        await room.close(VIEWER, task.id)
    with pytest.raises(NotPermitted):
        await room.enter(VIEWER, task.id)


async def test_opening_and_closing_are_in_the_audit_and_failing_to_is_not(room: Room) -> None:
    opened = await room.open(ANA, "a task")

    with pytest.raises(ContextNotFound):
        await room.close(BOB, opened.id)
    await room.close(ANA, opened.id)

    assert [(act["action"], act["subject"]) for act in room.audit.acts] == [
        ("context.opened", str(opened.id)),
        ("context.closed", str(opened.id)),
    ]
