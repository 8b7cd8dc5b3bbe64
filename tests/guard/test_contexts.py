"""Tasks that somebody opens for themselves, and secrets that are given by name and never told."""

from dataclasses import replace

import pytest

from portico.guard.contexts import CloseContext, EnterContext, ListContexts, OpenContext
from portico.guard.core.errors import ContextNotFound, ContextRefused, NotPermitted
from portico.guard.core.principals import Role
from portico.guard.core.secrets import InvalidSecret, InvalidSecretName, SecretNotFound
from portico.guard.secrets import ListSecrets, SetSecret, UnsetSecret
from portico.kernel.json import canonical
from portico.kernel.label import PUBLIC
from portico.kernel.principal import PrincipalKind
from portico.testing.guard import MemoryAudit, MemoryTaskContexts, a_person, a_space, an_identity
from portico.testing.memory_store import InMemoryStore, SeededEntropy, TickingClock, together
from portico.testing.secrets import MemorySecrets, NamedUses

ANA, BOB = a_person("ana"), a_person("bob")
VIEWER = a_person("ana", roles=[Role.VIEWER])
AGENT = replace(ANA, kind=PrincipalKind.AGENT)


class Room:
    def __init__(self) -> None:
        world, clock = InMemoryStore(), TickingClock()
        for each in map(an_identity, ("ana", "bob")):
            world.identities.insert((each.space, each.id), each)
        book = MemoryTaskContexts(world)
        self.audit = MemoryAudit()
        self.open = OpenContext(
            book=book, unit_of_work=together, audit=self.audit, clock=clock, entropy=SeededEntropy()
        )
        self.list = ListContexts(book=book)
        self.close = CloseContext(book=book, unit_of_work=together, audit=self.audit, clock=clock)
        self.enter = EnterContext(book=book)


@pytest.fixture
def room() -> Room:
    return Room()


async def test_a_task_is_opened_clean_and_entered_by_whoever_opened_it(room: Room) -> None:
    task = await room.open(ANA, "quarter")

    assert (task.name, task.label, task.untrusted) == ("quarter", PUBLIC, False)
    assert await room.enter(ANA, task.id) == replace(ANA, context=task.id)
    assert await room.list(ANA) == [task]


async def test_nobody_enters_a_task_of_others_or_a_closed_one(room: Room) -> None:
    task = await room.open(ANA, "quarter")

    assert await room.list(BOB) == []
    with pytest.raises(ContextNotFound):
        await room.enter(BOB, task.id)
    with pytest.raises(ContextNotFound):
        await room.close(BOB, task.id)

    await room.close(ANA, task.id)

    assert await room.list(ANA) == []
    with pytest.raises(ContextNotFound):
        await room.enter(ANA, task.id)


async def test_it_takes_the_scope_and_an_agent_neither_opens_nor_enters_one(room: Room) -> None:
    task = await room.open(ANA, "quarter")

    with pytest.raises(ContextRefused):
        await room.open(AGENT, "clean")
    with pytest.raises(ContextRefused):
        await room.enter(AGENT, task.id)

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


CANARY = "canary-51c0ffee"
ADMIN = a_person("root", roles=[Role.ADMIN])
OPERATOR = a_person("op", roles=[Role.OPERATOR])
MEMBER = a_person("ana")
ELSEWHERE = a_person("root", space=a_space("elsewhere"), roles=[Role.ADMIN])


class Cabinet:
    def __init__(self) -> None:
        self.secrets, self.audit = MemorySecrets(), MemoryAudit()
        uses = NamedUses({"github": ["tracker", "code"]})
        self.set = SetSecret(
            secrets=self.secrets, uses=uses, journal=self.audit, clock=TickingClock()
        )
        self.list = ListSecrets(secrets=self.secrets, uses=uses)
        self.unset = UnsetSecret(secrets=self.secrets, journal=self.audit)


@pytest.fixture
def cabinet() -> Cabinet:
    return Cabinet()


async def test_a_secret_is_kept_and_it_is_told_who_uses_it(cabinet: Cabinet) -> None:
    made = await cabinet.set(ADMIN, "github", CANARY)
    await cabinet.set(ADMIN, "aws", "another value")

    assert (made.where, made.used_by) == ("memory", ["tracker", "code"])
    assert await cabinet.secrets.get(ADMIN, "github") == CANARY
    listed = await cabinet.list(OPERATOR)
    assert [(look.secret.name, look.secret.set_by) for look in listed] == [
        ("aws", "root"),
        ("github", "root"),
    ]
    assert listed[1] == made
    assert CANARY not in repr(listed)


async def test_another_space_has_its_own(cabinet: Cabinet) -> None:
    await cabinet.set(ADMIN, "github", CANARY)

    assert await cabinet.list(ELSEWHERE) == []
    with pytest.raises(SecretNotFound):
        await cabinet.unset(ELSEWHERE, "github")


async def test_what_is_unset_is_gone_and_in_the_audit(cabinet: Cabinet) -> None:
    await cabinet.set(ADMIN, "github", CANARY)

    await cabinet.unset(ADMIN, "github")

    assert await cabinet.secrets.get(ADMIN, "github") is None
    with pytest.raises(SecretNotFound):
        await cabinet.unset(ADMIN, "github")
    assert cabinet.audit.actions == ["secret.set", "secret.unset"]
    assert CANARY.encode() not in canonical(cabinet.audit.acts)


async def test_only_admins_change_them_and_members_do_not_see_them(cabinet: Cabinet) -> None:
    for caller in (MEMBER, OPERATOR):
        with pytest.raises(NotPermitted, match="secrets:write"):
            await cabinet.set(caller, "github", CANARY)
        with pytest.raises(NotPermitted, match="secrets:write"):
            await cabinet.unset(caller, "github")
    with pytest.raises(NotPermitted, match="secrets:read"):
        await cabinet.list(MEMBER)
    assert cabinet.audit.actions == []


async def test_what_cannot_be_kept_is_refused_before_anything_is_written(cabinet: Cabinet) -> None:
    with pytest.raises(InvalidSecretName):
        await cabinet.set(ADMIN, "a/b", CANARY)
    with pytest.raises(InvalidSecretName):
        await cabinet.unset(ADMIN, "a/b")
    with pytest.raises(InvalidSecret):
        await cabinet.set(ADMIN, "github", "")
    assert cabinet.audit.actions == []
