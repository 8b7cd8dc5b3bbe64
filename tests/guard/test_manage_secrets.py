"""The stories of secrets: given by name, listed, taken away, and never told."""

import pytest

from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Role
from portico.guard.core.secret import BadSecret, BadSecretName, SecretNotFound
from portico.guard.manage_secrets import ListSecrets, SetSecret, UnsetSecret
from portico.kernel.json import canonical
from portico.testing.audit import MemoryAudit
from portico.testing.guard import a_person, a_space
from portico.testing.kernel import TickingClock
from portico.testing.secrets import MemorySecrets, NamedUses

CANARY = "canary-51c0ffee"
ADMIN = a_person("root", roles=[Role.ADMIN])
OPERATOR = a_person("op", roles=[Role.OPERATOR])
MEMBER = a_person("ana")
ELSEWHERE = a_person("root", space=a_space("elsewhere"), roles=[Role.ADMIN])


class Room:
    def __init__(self) -> None:
        self.secrets, self.audit = MemorySecrets(), MemoryAudit()
        uses = NamedUses({"github": ["tracker", "code"]})
        self.set = SetSecret(
            secrets=self.secrets, uses=uses, journal=self.audit, clock=TickingClock()
        )
        self.list = ListSecrets(secrets=self.secrets, uses=uses)
        self.unset = UnsetSecret(secrets=self.secrets, journal=self.audit)


@pytest.fixture
def room() -> Room:
    return Room()


async def test_a_secret_is_kept_and_it_is_told_who_uses_it(room: Room) -> None:
    made = await room.set(ADMIN, "github", CANARY)
    await room.set(ADMIN, "aws", "another value")

    assert (made.where, made.used_by) == ("memory", ["tracker", "code"])
    assert await room.secrets.get(ADMIN, "github") == CANARY
    listed = await room.list(OPERATOR)
    assert [(look.secret.name, look.secret.set_by) for look in listed] == [
        ("aws", "root"),
        ("github", "root"),
    ]
    assert listed[1] == made
    assert CANARY not in repr(listed)


async def test_another_space_has_its_own(room: Room) -> None:
    await room.set(ADMIN, "github", CANARY)

    assert await room.list(ELSEWHERE) == []
    with pytest.raises(SecretNotFound):
        await room.unset(ELSEWHERE, "github")


async def test_what_is_unset_is_gone(room: Room) -> None:
    await room.set(ADMIN, "github", CANARY)

    await room.unset(ADMIN, "github")

    assert await room.secrets.get(ADMIN, "github") is None
    with pytest.raises(SecretNotFound):
        await room.unset(ADMIN, "github")


async def test_every_change_is_in_the_audit_without_the_value(room: Room) -> None:
    await room.set(ADMIN, "github", CANARY)
    await room.unset(ADMIN, "github")

    assert room.audit.actions == ["secret.set", "secret.unset"]
    assert CANARY.encode() not in canonical(room.audit.acts)


async def test_only_admins_change_them_and_members_do_not_see_them(room: Room) -> None:
    for caller in (MEMBER, OPERATOR):
        with pytest.raises(NotPermitted, match="secrets:write"):
            await room.set(caller, "github", CANARY)
        with pytest.raises(NotPermitted, match="secrets:write"):
            await room.unset(caller, "github")
    with pytest.raises(NotPermitted, match="secrets:read"):
        await room.list(MEMBER)
    assert room.audit.actions == []


async def test_what_cannot_be_kept_is_refused_before_anything_is_written(room: Room) -> None:
    with pytest.raises(BadSecretName):
        await room.set(ADMIN, "a/b", CANARY)
    with pytest.raises(BadSecretName):
        await room.unset(ADMIN, "a/b")
    with pytest.raises(BadSecret):
        await room.set(ADMIN, "github", "")
    assert room.audit.actions == []
