"""Keys: made for oneself, for others and for programs, listed, rotated and revoked."""

from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.guard.core.errors import (
    KeyEnded,
    KeyNotFound,
    NameTaken,
    NotAuthenticated,
    NotPermitted,
    Overreach,
    PrincipalDisabled,
    PrincipalNotFound,
)
from portico.guard.core.principals import FOR_AGENTS, Role, Scope
from portico.guard.invitations import Invitation
from portico.guard.keys import IssueAgentKey, IssuedKey, KeySpec
from portico.guard.principals import PrincipalChange, PrincipalSpec
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import TEAM, a_person, a_space, an_identity
from portico.testing.memory_store import together
from tests.guard.room import PEPPER, Room

SECRET = Label(Level.RESTRICTED)


async def test_a_key_is_kept_as_a_digest_and_never_as_itself(room: Room) -> None:
    issued = await room.issue_key(room.person("ana"), KeySpec(name="laptop"))

    held = room.world.keys[issued.key.id]
    assert held.digest == issued.key.digest(PEPPER)
    assert held.key == issued.stored
    assert issued.key.secret not in repr(held)


async def test_a_key_of_ones_own_has_all_that_one_has_unless_it_is_narrowed(room: Room) -> None:
    ana = room.person("ana")
    wish = KeySpec(name="laptop", scopes=frozenset({Scope.KEYS_OWN}), clearance=PUBLIC)

    whole = await room.issue_key(ana, KeySpec(name="laptop"))
    narrow = await room.issue_key(ana, wish)

    assert await room.enters(whole.key) == room.through(ana, whole.stored)
    narrowed = await room.enters(narrow.key)
    assert (narrowed.id, narrowed.scopes, narrowed.clearance) == (ana.id, wish.scopes, PUBLIC)


async def test_a_viewer_makes_and_lists_no_keys(room: Room, issue_agent_key: IssueAgentKey) -> None:
    viewer = room.person("ana", Role.VIEWER)

    for ask in (
        room.issue_key(viewer, KeySpec(name="laptop")),
        room.list_keys(viewer, after=None, limit=10),
        issue_agent_key(viewer, KeySpec(name="editor")),
    ):
        with pytest.raises(NotPermitted, match="keys:own"):
            await ask


async def test_a_member_makes_no_keys_for_others_nor_an_operator_for_the_disabled(
    room: Room,
) -> None:
    bob = room.person("bob")
    operator = room.person("olga", Role.OPERATOR)

    with pytest.raises(NotPermitted, match="keys:write") as caught:
        await room.issue_key(room.person("ana"), KeySpec(name="mine now", principal=bob.id))
    room.holds(replace(an_identity("bob"), disabled_at=room.clock.now()))
    with pytest.raises(PrincipalDisabled, match="'bob' is disabled") as disabled:
        await room.issue_key(operator, KeySpec(name="back in", principal=bob.id))

    assert (caught.value.name, caught.value.scope) == ("ana", Scope.KEYS_WRITE)
    assert disabled.value.who == "bob"


async def test_an_operator_makes_keys_for_others_who_may_less(room: Room) -> None:
    bob = room.person("bob", clearance=PUBLIC)

    issued = await room.issue_key(
        room.person("ana", Role.OPERATOR), KeySpec(name="agent", principal=bob.id)
    )

    holder = await room.enters(issued.key)
    assert (holder.id, holder.scopes, holder.clearance) == (bob.id, bob.scopes, bob.clearance)


@pytest.mark.parametrize(
    "wish",
    [
        KeySpec(name="all of it"),
        KeySpec(name="one too many", scopes=frozenset({Scope.SPACE_DELETE}), clearance=PUBLIC),
        KeySpec(name="too secret", scopes=frozenset({Scope.STATUS_READ}), clearance=SECRET),
        KeySpec(name="all the secrets", scopes=frozenset({Scope.STATUS_READ})),
        KeySpec(
            name="a compartment",
            scopes=frozenset[Scope](),
            clearance=Label(Level.TEAM, frozenset({"finance"})),
        ),
    ],
    ids=lambda wish: wish.name,
)
@pytest.mark.requirement("guard:principals:no-escalation")
async def test_an_operator_gets_nothing_of_an_admins_through_a_key(wish: KeySpec) -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN, SECRET)

    with pytest.raises(Overreach):
        await room.issue_key(room.person("ana", Role.OPERATOR), replace(wish, principal=admin.id))

    assert not room.world.keys


@pytest.mark.requirement("guard:keys:never-widen")
async def test_a_narrow_key_makes_no_wider_one(room: Room) -> None:
    ana = room.person("ana", Role.ADMIN, SECRET)
    wish = KeySpec(name="narrow", scopes=frozenset({Scope.KEYS_OWN}), clearance=TEAM)
    narrowed = await room.enters((await room.issue_key(ana, wish)).key)

    for wider in (
        KeySpec(name="all"),
        KeySpec(name="more", scopes=frozenset({Scope.SPACE_READ})),
        KeySpec(name="higher", scopes=frozenset({Scope.KEYS_OWN}), clearance=SECRET),
    ):
        with pytest.raises(Overreach):
            await room.issue_key(narrowed, wider)


async def test_neither_whoever_nor_a_key_that_is_in_another_space_exists(room: Room) -> None:
    elsewhere = a_space("elsewhere")
    stranger = a_person("stranger", space=elsewhere)
    room.holds(an_identity("stranger", space=elsewhere), space=elsewhere)
    theirs = await room.issue_key(stranger, KeySpec(name="theirs"))
    admin = room.person("root", Role.ADMIN, SECRET)

    with pytest.raises(PrincipalNotFound):
        await room.issue_key(admin, KeySpec(name="spy", principal=stranger.id))
    for ask in managed(room, admin, theirs):
        with pytest.raises(KeyNotFound):
            await ask
    assert await room.list_keys(admin, after=None, limit=10) == []


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_a_key_made_for_somebody_does_not_grow_when_they_are_promoted(room: Room) -> None:
    """The operator keeps a copy of bob's key, and waits until an admin makes bob an admin."""
    operator, bob = room.person("ana", Role.OPERATOR), room.person("bob")
    kept = await room.issue_key(operator, KeySpec(name="for bob", principal=bob.id))

    room.person("bob", Role.ADMIN)

    assert (await room.enters(kept.key)).scopes <= operator.scopes


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_an_operator_makes_no_key_however_narrow_in_the_name_of_an_admin(room: Room) -> None:
    operator, admin = room.person("olga", Role.OPERATOR), room.person("root", Role.ADMIN)
    narrow = KeySpec(
        name="k", principal=admin.id, scopes=frozenset({Scope.KEYS_OWN}), clearance=PUBLIC
    )

    with pytest.raises(Overreach):
        await room.issue_key(operator, narrow)


@pytest.mark.requirement("guard:keys:expiry")
async def test_a_key_that_ends_makes_none_that_lives_longer(room: Room) -> None:
    short = await room.issue_key(
        room.person("ana"), KeySpec(name="a day", lifetime=timedelta(days=1))
    )
    ana = await room.enters(short.key)

    for_ever = await room.issue_key(ana, KeySpec(name="for ever"))
    longer = await room.issue_key(ana, KeySpec(name="longer", lifetime=timedelta(days=9)))
    rotated = await room.rotate_key(ana, short.stored.id, timedelta(hours=1))

    ends = {each.stored.expires_at for each in (for_ever, longer, rotated)}
    assert ends == {short.stored.expires_at}


@pytest.mark.requirement("guard:keys:never-widen")
async def test_a_narrow_key_does_not_widen_itself_to_a_compartment_of_its_holder() -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN, clearance=Label(Level.TEAM, frozenset({"finance"})))
    narrow = await room.issue_key(admin, KeySpec(name="narrow", clearance=TEAM))

    with pytest.raises(Overreach, match="finance"):
        await room.issue_key(
            await room.enters(narrow.key), KeySpec(name="wide", clearance=admin.clearance)
        )


HOUR, DAY = timedelta(hours=1), timedelta(days=1)


async def test_a_member_lists_their_own_keys_and_an_operator_all(room: Room) -> None:
    ana, bob = room.person("ana"), room.person("bob", Role.OPERATOR)
    for name in ("one", "two"):
        await room.issue_key(ana, KeySpec(name=f"ana's {name}"))
    await room.issue_key(bob, KeySpec(name="bob's"))

    own = await room.list_keys(ana, after=None, limit=10)
    all_ = await room.list_keys(bob, after=None, limit=10)

    assert [key.name for key in own] == ["ana's one", "ana's two"]
    assert [key.name for key in all_] == ["ana's one", "ana's two", "bob's"]


async def test_keys_are_listed_page_after_page(room: Room, ana: Principal) -> None:
    for number in range(5):
        await room.issue_key(ana, KeySpec(name=str(number)))

    pages, after = [], None
    while page := await room.list_keys(ana, after=after, limit=2):
        pages.append([key.name for key in page])
        after = page[-1].id

    assert pages == [["0", "1"], ["2", "3"], ["4"]]


def managed(room: Room, by: Principal, key: IssuedKey | Invitation) -> list[Awaitable[Any]]:
    """All that is done to one key."""
    return [
        room.show_key(by, key.key.id),
        room.rotate_key(by, key.key.id, HOUR),
        room.revoke_key(by, key.key.id),
    ]


async def test_invitations_and_keys_of_others_are_hidden(
    room: Room, admin: Principal, ana: Principal
) -> None:
    wish = PrincipalSpec(kind=PrincipalKind.PERSON, name="bob", clearance=TEAM)
    invited = await room.invite_person(admin, wish)

    assert await room.list_keys(admin, after=None, limit=10) == []
    for ask in managed(room, admin, invited):
        with pytest.raises(KeyNotFound):
            await ask

    bobs = await room.issue_key(room.person("bob"), KeySpec(name="bob's"))

    for ask in managed(room, ana, bobs):
        with pytest.raises(KeyNotFound) as caught:
            await ask
        assert caught.value.key_id == bobs.stored.id


async def test_whoever_may_only_read_keys_changes_none(room: Room) -> None:
    bobs = await room.issue_key(room.person("bob"), KeySpec(name="bob's"))
    operator = room.person("ana", Role.OPERATOR)
    wish = KeySpec(name="reader", scopes=frozenset({Scope.KEYS_READ}))
    reader = await room.enters((await room.issue_key(operator, wish)).key)

    assert await room.show_key(reader, bobs.stored.id) == bobs.stored
    with pytest.raises(NotPermitted, match="keys:write"):
        await room.revoke_key(reader, bobs.stored.id)
    with pytest.raises(NotPermitted, match="keys:write"):
        await room.rotate_key(reader, bobs.stored.id, HOUR)


@pytest.mark.requirement("guard:keys:rotate-with-overlap")
async def test_both_keys_work_during_the_overlap(room: Room, ana: Principal) -> None:
    old = await room.issue_key(ana, KeySpec(name="laptop"))

    new = await room.rotate_key(ana, old.stored.id, DAY)
    newest = await room.rotate_key(ana, new.stored.id, timedelta(0))

    assert (await room.enters(old.key)).id == (await room.enters(newest.key)).id == ana.id
    with pytest.raises(NotAuthenticated):
        await room.enters(new.key)
    room.clock.turn(DAY)
    assert newest.stored.name == "laptop"
    assert await room.enters(newest.key) == room.through(ana, newest.stored)
    with pytest.raises(NotAuthenticated):
        await room.enters(old.key)


async def test_a_rotated_key_is_as_narrow_as_the_old_one(room: Room, ana: Principal) -> None:
    scopes = frozenset({Scope.KEYS_OWN})
    wish = KeySpec(name="week", scopes=scopes, clearance=PUBLIC, lifetime=7 * DAY, tools=GIT)
    old = await room.issue_key(ana, wish)
    await room.enters(old.key)

    room.clock.turn(DAY)
    new = await room.rotate_key(ana, old.stored.id, HOUR)

    assert old.stored.expires_at == old.stored.created_at + 7 * DAY
    assert (new.stored.scopes, new.stored.clearance) == (scopes, PUBLIC)
    assert new.stored.expires_at == new.stored.created_at + 7 * DAY
    assert new.stored.last_used_at is None
    assert (await room.enters(new.key)).tools == (GIT,)


async def test_what_has_ended_is_not_rotated(room: Room, ana: Principal) -> None:
    revoked = await room.issue_key(ana, KeySpec(name="revoked"))
    expired = await room.issue_key(ana, KeySpec(name="expired", lifetime=HOUR))
    await room.revoke_key(ana, revoked.stored.id)
    room.clock.turn(HOUR)

    for key in (revoked, expired):
        with pytest.raises(KeyEnded) as caught:
            await room.rotate_key(ana, key.stored.id, HOUR)
        assert caught.value.key_id == key.stored.id


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_an_operator_does_not_rotate_an_admins_key_into_their_own_hands(room: Room) -> None:
    admins = await room.issue_key(room.person("root", Role.ADMIN), KeySpec(name="root's"))

    with pytest.raises(Overreach):
        await room.rotate_key(room.person("ana", Role.OPERATOR), admins.stored.id, DAY)

    assert len(room.world.keys) == 1


@pytest.mark.requirement("guard:keys:revoke")
async def test_a_revoked_key_opens_nothing_and_may_be_revoked_again(room: Room) -> None:
    ana = room.person("ana")
    issued = await room.issue_key(ana, KeySpec(name="leaked"))

    await room.revoke_key(ana, issued.stored.id)
    first = await room.show_key(ana, issued.stored.id)
    await room.revoke_key(ana, issued.stored.id)

    assert await room.show_key(ana, issued.stored.id) == first
    with pytest.raises(NotAuthenticated):
        await room.enters(issued.key)


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_an_operator_shuts_out_whoever_is_below_them_and_nobody_above(room: Room) -> None:
    admin, operator = room.person("root", Role.ADMIN), room.person("olga", Role.OPERATOR)
    bob = room.person("bob")
    above = await room.issue_key(admin, KeySpec(name="root's"))
    below = await room.issue_key(bob, KeySpec(name="bob's"))

    await room.revoke_key(operator, below.stored.id)
    with pytest.raises(Overreach):
        await room.revoke_key(operator, above.stored.id)

    await room.authenticate(above.key.reveal())
    with pytest.raises(NotAuthenticated):
        await room.authenticate(below.key.reveal())


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_nobody_rotates_their_own_key_who_may_make_none_of_their_own(room: Room) -> None:
    """Its successor is at a clean task: for a program that would be forgetting what it read."""
    operator = room.person("ana", Role.OPERATOR)
    scopes = frozenset({Scope.KEYS_READ, Scope.KEYS_WRITE})
    narrow = await room.issue_key(operator, KeySpec(name="narrow", scopes=scopes))
    program = await room.enters(narrow.key)

    with pytest.raises(NotPermitted, match="keys:own"):
        await room.rotate_key(program, narrow.stored.id, HOUR)

    await room.revoke_key(program, narrow.stored.id)
    with pytest.raises(NotAuthenticated):
        await room.enters(narrow.key)


GIT = ("git.*",)


async def listed(room: Room, name: str = "ana", role: Role = Role.MEMBER) -> Principal:
    """Somebody who came with a key for git alone."""
    issued = await room.issue_key(room.person(name, role), KeySpec(name="git", tools=GIT))
    return await room.enters(issued.key)


async def test_a_listed_key_makes_no_wider_one(room: Room) -> None:
    ana = await listed(room)

    same = await room.issue_key(ana, KeySpec(name="another"))
    narrow = await room.issue_key(ana, KeySpec(name="narrow", tools=("git.get_*",)))

    assert ana.tools == (await room.enters(same.key)).tools == (GIT,)
    assert (await room.enters(narrow.key)).tools == (("git.get_*",),)
    for wide in [("*",), ("git.*", "mail.send"), ("git*",)]:
        with pytest.raises(Overreach, match=r"git\.\*"):
            await room.issue_key(ana, KeySpec(name="wide", tools=wide))


async def test_a_listed_key_does_not_rotate_a_wider_one_of_the_same_person(room: Room) -> None:
    wide = await room.issue_key(room.person("ana"), KeySpec(name="wide"))
    ana = await listed(room)

    with pytest.raises(Overreach):
        await room.rotate_key(ana, wide.key.id, DAY)


async def test_a_principal_s_list_counts_for_each_of_its_keys(room: Room) -> None:
    root, bob = room.person("root", Role.ADMIN), room.person("bob")
    issued = await room.issue_key(bob, KeySpec(name="bob's"))

    changed = await room.change_principal(root, bob.id, PrincipalChange(tools=GIT))

    assert changed.tools == GIT
    assert (await room.enters(issued.key)).tools == (GIT,)
    more = await room.issue_key(await room.enters(issued.key), KeySpec(name="more"))
    assert more.stored.tools is None
    assert (await room.enters(more.key)).tools == (GIT,)


async def test_two_lists_that_are_alike_are_still_two(room: Room) -> None:
    root, bob = room.person("root", Role.ADMIN), await listed(room, "bob")
    await room.change_principal(root, bob.id, PrincipalChange(tools=GIT))
    issued = await room.issue_key(room.person("bob"), KeySpec(name="git", tools=GIT))

    more = await room.issue_key(await room.enters(issued.key), KeySpec(name="more"))

    assert more.stored.tools == GIT


async def test_an_admin_with_a_list_gives_as_much_as_they_have_and_nobody_more(
    room: Room,
) -> None:
    admin, bob = await listed(room, "root", Role.ADMIN), room.person("bob")
    wish = PrincipalSpec(kind=PrincipalKind.AGENT, name="agent", clearance=TEAM, tools=GIT)

    for ask in (
        room.add_principal(admin, replace(wish, tools=None)),
        room.change_principal(admin, bob.id, PrincipalChange(tools=("*",))),
        room.issue_key(admin, KeySpec(name="bob's", principal=bob.id)),
        room.invite_again(admin, bob.id),
    ):
        with pytest.raises(Overreach):
            await ask

    agent = await room.add_principal(admin, wish)
    key = await room.issue_key(admin, KeySpec(name="bob's", principal=bob.id, tools=GIT))
    assert agent.tools == GIT
    assert (await room.enters(key.key)).tools == (GIT,)


async def test_an_agent_that_is_made_for_a_listed_key_has_its_list_itself(
    room: Room, issue_agent_key: IssueAgentKey
) -> None:
    admin = await listed(room, "root", Role.ADMIN)

    issued = await issue_agent_key(admin, KeySpec(name="desktop", tools=GIT))

    assert (await room.enters(issued.key)).tools == (GIT, GIT)
    with pytest.raises(Overreach):
        await issue_agent_key(admin, KeySpec(name="wider"))


@pytest.fixture
def issue_agent_key(room: Room) -> IssueAgentKey:
    return IssueAgentKey(
        add_principal=room.add_principal, issue_key=room.issue_key, unit_of_work=together
    )


async def test_an_admin_gets_a_new_agent_that_answers_nothing(
    room: Room, issue_agent_key: IssueAgentKey
) -> None:
    ana = room.person("ana", Role.ADMIN, clearance=Label(Level.RESTRICTED))

    issued = await issue_agent_key(ana, KeySpec(name="editor", lifetime=timedelta(days=7)))
    agent = await room.enters(issued.key)

    assert (agent.kind, agent.name, agent.clearance) == (PrincipalKind.AGENT, "editor", TEAM)
    assert agent.scopes == FOR_AGENTS
    assert issued.stored.expires_at is not None
    assert not agent.scopes & {Scope.APPROVALS_ANSWER, Scope.KEYS_OWN, Scope.CONTEXTS_OPEN}
    with pytest.raises(NameTaken):
        await issue_agent_key(ana, KeySpec(name="editor"))


async def test_an_agent_is_cleared_for_no_more_than_its_maker(
    room: Room, issue_agent_key: IssueAgentKey
) -> None:
    ana = room.person("ana", Role.ADMIN, clearance=PUBLIC)
    root = room.person("root", Role.ADMIN)
    wish = KeySpec(name="narrow", scopes=frozenset({Scope.TOOLS_READ}), clearance=PUBLIC)

    low = await room.enters((await issue_agent_key(ana, KeySpec(name="editor"))).key)
    narrow = await room.enters((await issue_agent_key(root, wish)).key)

    assert low.clearance == PUBLIC
    assert (narrow.scopes, narrow.clearance) == ({Scope.TOOLS_READ}, PUBLIC)


@pytest.mark.parametrize("role", [Role.MEMBER, Role.OPERATOR])
async def test_whoever_adds_nobody_gets_a_key_of_their_own_with_what_a_program_may(
    room: Room, issue_agent_key: IssueAgentKey, role: Role
) -> None:
    ana = room.person("ana", role)

    program = await room.enters((await issue_agent_key(ana, KeySpec(name="editor"))).key)

    assert (program.id, program.scopes) == (ana.id, FOR_AGENTS)


async def test_a_program_is_refused_what_only_a_person_has(
    room: Room, issue_agent_key: IssueAgentKey
) -> None:
    ana = room.person("ana", Role.ADMIN)
    wish = KeySpec(name="editor", scopes=frozenset({Scope.APPROVALS_ANSWER}))

    with pytest.raises(Overreach, match="approvals:answer"):
        await issue_agent_key(ana, wish)

    assert [each.name for each in room.world.identities.values()] == ["ana"]
