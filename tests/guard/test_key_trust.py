"""The story of whose word a program passes on."""

import pytest

from portico.guard.core.errors import (
    KeyNotFound,
    NotPermitted,
    Overreach,
    OwnRequest,
    PersonNeeded,
    PrincipalNotFound,
)
from portico.guard.core.principals import Role
from portico.guard.key_trust import ShowTrust, TrustClient
from portico.guard.keys import KeySpec
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import MemoryAudit, MemoryTrustedClients, an_identity
from portico.testing.memory_store import BEGINNING, SeededEntropy, together
from tests.guard.room import Room


class Story:
    def __init__(self) -> None:
        self.room = Room()
        self.trusted = MemoryTrustedClients(self.room.world)
        self.audit = MemoryAudit()
        self.trust = TrustClient(
            keys=self.room.keys,
            principals=self.room.principals,
            trusted=self.trusted,
            audit=self.audit,
            unit_of_work=together,
        )
        self.show = ShowTrust(keys=self.room.keys, trusted=self.trusted)
        self.bot = self.room.person("bot")

    async def key(self, of: Principal | None = None) -> str:
        return (await self.room.issue_key(of or self.bot, KeySpec(name="editor"))).key.id


async def test_an_operator_trusts_a_program_with_their_own_word_and_takes_it_back() -> None:
    story = Story()
    ana, key = story.room.person("ana", Role.OPERATOR), await story.key()

    await story.trust(ana, key, ana.id)
    named = await story.show(ana, key)
    await story.trust(ana, key, None)

    assert named == ana.id
    assert await story.show(ana, key) is None
    assert story.audit.actions == ["key.trusted", "key.trusted"]


async def test_another_persons_word_is_lent_only_by_whoever_may_change_people() -> None:
    story = Story()
    ana, key = story.room.person("ana", Role.OPERATOR), await story.key()
    bea = story.room.person("bea", Role.OPERATOR)
    root = story.room.person("root", Role.ADMIN)

    with pytest.raises(NotPermitted, match="principals:write"):
        await story.trust(ana, key, bea.id)
    await story.trust(root, key, bea.id)

    assert await story.show(root, key) == bea.id


async def test_only_the_word_of_a_person_who_is_not_above_is_lent_and_not_for_their_own() -> None:
    story = Story()
    root, key = story.room.person("root", Role.ADMIN), await story.key()
    boss = story.room.person("boss", Role.ADMIN, clearance=Label(Level.RESTRICTED))

    with pytest.raises(Overreach):
        await story.trust(root, key, boss.id)

    root = story.room.person("root", Role.ADMIN)

    with pytest.raises(OwnRequest):
        await story.trust(root, await story.key(root), root.id)

    root, key = story.room.person("root", Role.ADMIN), await story.key()
    helper = an_identity("helper", kind=PrincipalKind.AGENT)
    story.room.holds(helper)

    with pytest.raises(PersonNeeded):
        await story.trust(root, key, helper.id)
    with pytest.raises(PrincipalNotFound):
        await story.trust(root, key, PrincipalId.mint(BEGINNING, SeededEntropy("x")))


async def test_members_neither_see_nor_say_it_and_an_invitation_is_no_key() -> None:
    story = Story()
    key, bob = await story.key(), story.room.person("bob")
    root = story.room.person("root", Role.ADMIN)

    for act in (story.show(bob, key), story.trust(bob, key, None)):
        with pytest.raises(NotPermitted):
            await act
    with pytest.raises(KeyNotFound):
        await story.trust(root, "nothing", None)
