"""The stories of logging in to the console, of seeing where one is, and of logging out."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.audit import Link
from portico.guard.core.errors import (
    KeyNotFound,
    NotAPerson,
    NotAuthenticated,
    NotPermitted,
    Overreach,
)
from portico.guard.core.keys import OpenedWith, Purpose, StoredKey
from portico.guard.core.principals import Role, Scope
from portico.guard.keys import IssuedKey, KeySpec
from portico.guard.principals import PrincipalSpec
from portico.guard.sessions import HANDED_ON, SESSION_LIFETIME
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import TEAM, MemorySessions, a_person, a_space, an_identity
from tests.guard.room import Room

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


async def logged_in(room: Room, who: Principal, wish: KeySpec | None = None) -> IssuedKey:
    """With a key that they have just made."""
    issued = await room.issue_key(who, wish or KeySpec(name="laptop"))
    return await room.open_session(issued.key.reveal(), f"{who.name}'s browser")


def acts(room: Room) -> list[dict[str, object]]:
    links: list[Link] = [*room.world.audit.values()]
    return [json.loads(link.text)["act"] for link in links]


async def test_a_session_is_as_wide_as_its_key_and_a_use_of_it(room: Room, ana: Principal) -> None:
    scopes = frozenset({Scope.KEYS_OWN, Scope.TOOLS_CALL})
    wish = KeySpec(name="laptop", scopes=scopes, clearance=PUBLIC, tools=("git.*",))
    issued = await room.issue_key(ana, wish)

    session = await room.open_session(issued.key.reveal(), "Firefox on Linux")

    made = session.stored.created_at
    assert session.stored == replace(
        issued.stored,
        id=session.key.id,
        purpose=Purpose.SESSION,
        name="Firefox on Linux",
        opened_with=OpenedWith(issued.stored.id, None),
        created_at=made,
        expires_at=made + SESSION_LIFETIME,
    )
    assert (await room.show_key(ana, issued.stored.id)).last_used_at is not None
    entered = await room.in_session(session.key)
    with_key = await room.enters(issued.key)
    assert entered == replace(with_key, key=session.stored.id)


async def test_a_session_ends_after_a_fortnight_and_never_later_than_its_key(room: Room) -> None:
    ana = room.person("ana")
    key = await room.issue_key(ana, KeySpec(name="week", lifetime=7 * DAY))
    short = await room.open_session(key.key.reveal(), "one")
    long = await logged_in(room, ana, KeySpec(name="month", lifetime=30 * DAY))

    assert short.stored.expires_at == key.stored.expires_at
    assert long.stored.expires_at == long.stored.created_at + SESSION_LIFETIME
    room.clock.turn(SESSION_LIFETIME)
    for session in (short, long):
        with pytest.raises(NotAuthenticated):
            await room.in_session(session.key)


async def test_a_key_made_in_a_session_lives_as_one_made_with_its_key(
    room: Room, ana: Principal
) -> None:
    whole = await logged_in(room, ana)
    endless = await room.in_session(whole.key)
    month = await room.issue_key(ana, KeySpec(name="month", lifetime=30 * DAY))
    bounded = await room.open_session(month.key.reveal(), "browser")

    free = await room.issue_key(endless, KeySpec(name="free"))
    bound = await room.issue_key(await room.in_session(bounded.key), KeySpec(name="bound"))

    assert endless.whole
    assert (whole.stored.scopes, free.stored.scopes, free.stored.expires_at) == (None, None, None)
    assert bound.stored.expires_at == month.stored.expires_at


async def test_only_an_access_key_of_ours_logs_in_and_all_else_is_refused_alike(room: Room) -> None:
    admin = room.person("root", Role.ADMIN)
    wish = PrincipalSpec(kind=PrincipalKind.PERSON, name="bob", clearance=TEAM)
    invitation = await room.invite_person(admin, wish)
    session = await logged_in(room, admin)
    revoked = await room.issue_key(admin, KeySpec(name="revoked"))
    await room.revoke_key(admin, revoked.stored.id)
    count = len(room.world.keys)

    refusals: set[str] = set()
    for shown in (
        "",
        "a.token.of_somebody",
        invitation.key.reveal(),
        session.key.reveal(),
        revoked.key.reveal(),
    ):
        with pytest.raises(NotAuthenticated) as caught:
            await room.open_session(shown, "browser")
        refusals.add(f"{caught.value} {caught.value.fix}")

    assert len(refusals) == 1
    assert len(room.world.keys) == count


@pytest.mark.parametrize("kind", [PrincipalKind.AGENT, PrincipalKind.WORKER])
async def test_the_key_of_a_program_logs_nobody_in(kind: PrincipalKind, room: Room) -> None:
    admin = room.person("root", Role.ADMIN)
    scout = an_identity("scout", kind=kind)
    room.holds(scout)
    issued = await room.issue_key(admin, KeySpec(name="scout's", principal=scout.id))

    with pytest.raises(NotAPerson, match="'scout'") as caught:
        await room.open_session(issued.key.reveal(), "browser")

    assert caught.value.code == "session_for_people"
    assert await room.list_sessions(admin) == []


class TooLate(MemorySessions):
    """Somebody else is quicker."""

    def __init__(self, room: Room, first: Callable[[], Awaitable[None]]) -> None:
        super().__init__(room.world)
        self._first = first

    async def open(self, caller: Principal, session: StoredKey, digest: bytes) -> None:
        await self._first()
        await super().open(caller, session, digest)


async def test_a_key_that_ended_or_whose_holder_is_disabled_logs_nobody_in(room: Room) -> None:
    ana = room.person("ana")
    issued = await room.issue_key(ana, KeySpec(name="laptop"))
    too_late = TooLate(room, lambda: room.revoke_key(ana, issued.stored.id))
    open_session = replace(room.open_session, sessions=too_late)

    with pytest.raises(NotAuthenticated):
        await open_session(issued.key.reveal(), "browser")

    assert await room.list_sessions(ana) == []

    session = await logged_in(room, room.person("bob"))

    room.holds(replace(an_identity("bob"), disabled_at=room.clock.now()))

    with pytest.raises(NotAuthenticated):
        await room.in_session(session.key)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("  Firefox \t 150\n on\u00a0Linux ", "Firefox 150 on Linux"),
        ("a\x00b\x1b[31mc\u202ed\ud800", "ab[31mcd"),
        ("", "a browser"),
        ("\x00\n", "a browser"),
        ("x" * 300, "x" * 100),
    ],
    ids=["spaces", "controls", "nothing", "nothing to see", "too long"],
)
async def test_what_a_browser_says_of_itself_is_made_plain(said: str, name: str) -> None:
    room = Room()
    issued = await room.issue_key(room.person("ana"), KeySpec(name="laptop"))

    session = await room.open_session(issued.key.reveal(), said)

    assert session.stored.name == name


async def test_a_member_lists_their_own_sessions_and_an_operator_all_last_used_first() -> None:
    room = Room()
    ana, bob = room.person("ana"), room.person("bob", Role.OPERATOR)
    first, second = await logged_in(room, ana), await logged_in(room, ana)
    bobs = await logged_in(room, bob)
    await room.in_session(first.key)

    own = await room.list_sessions(ana)
    every = await room.list_sessions(bob)

    assert [each.id for each in own] == [first.stored.id, second.stored.id]
    assert [each.id for each in every] == [first.stored.id, bobs.stored.id, second.stored.id]


async def test_whoever_may_make_no_keys_sees_where_they_are_logged_in_too(room: Room) -> None:
    admin, viewer = room.person("root", Role.ADMIN), room.person("eve", Role.VIEWER)
    issued = await room.issue_key(admin, KeySpec(name="eve's", principal=viewer.id))
    session = await room.open_session(issued.key.reveal(), "browser")
    inside = await room.in_session(session.key)

    assert [each.id for each in await room.list_sessions(inside)] == [session.stored.id]
    await room.end_session(inside, session.stored.id)

    assert await room.list_sessions(inside) == []
    with pytest.raises(NotAuthenticated):
        await room.in_session(session.key)


async def test_what_has_ended_is_not_listed(room: Room, ana: Principal) -> None:
    ended, short = await logged_in(room, ana), KeySpec(name="short", lifetime=HOUR)
    await logged_in(room, ana, short)
    kept = await logged_in(room, ana)

    await room.end_session(ana, ended.stored.id)
    room.clock.turn(HOUR)

    assert [each.id for each in await room.list_sessions(ana)] == [kept.stored.id]


async def test_a_session_is_ended_once_however_often_one_logs_out(room: Room) -> None:
    ana = room.person("ana")
    session = await logged_in(room, ana)

    await room.end_session(ana, session.stored.id)
    await room.end_session(ana, session.stored.id)

    told = [(act["action"], act["subject"]) for act in acts(room)]
    assert told == [
        ("key.issued", session.stored.opened_with and session.stored.opened_with.key),
        ("session.opened", session.stored.id),
        ("session.ended", session.stored.id),
    ]


async def test_the_audit_tells_with_which_key_somebody_logged_in_and_holds_no_secret() -> None:
    room = Room()
    issued = await room.issue_key(room.person("ana"), KeySpec(name="laptop"))

    session = await room.open_session(issued.key.reveal(), "Firefox")

    opened = acts(room)[-1]
    assert opened["key"] == issued.stored.id
    facts = opened["facts"]
    assert isinstance(facts, dict)
    assert (facts["opened_with"], facts["name"]) == (issued.stored.id, "Firefox")
    assert session.key.secret not in json.dumps(acts(room))


async def test_neither_a_key_nor_anybody_elses_session_is_one_to_end(room: Room) -> None:
    """A member's are their own; an admin's those of the space."""
    admin, member = room.person("root", Role.ADMIN), room.person("ana")
    key = await room.issue_key(admin, KeySpec(name="a key"))
    roots = await room.open_session(key.key.reveal(), "browser")
    elsewhere = a_space("elsewhere")
    room.holds(an_identity("stranger", space=elsewhere), space=elsewhere)
    theirs = await logged_in(room, a_person("stranger", space=elsewhere))

    for who, its in (
        (member, roots.stored.id),
        (admin, key.stored.id),
        (admin, theirs.stored.id),
        (admin, "nowhere"),
    ):
        with pytest.raises(KeyNotFound) as caught:
            await room.end_session(who, its)
        assert caught.value.key_id == its

    assert [each.id for each in await room.list_sessions(admin)] == [roots.stored.id]
    await room.enters(key.key)
    for session in (roots, theirs):
        await room.in_session(session.key)


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_an_operator_logs_out_whoever_is_below_them_and_nobody_above(room: Room) -> None:
    operator = room.person("olga", Role.OPERATOR)
    above = await logged_in(room, room.person("root", Role.ADMIN))
    below = await logged_in(room, room.person("bob"))

    await room.end_session(operator, below.stored.id)
    with pytest.raises(Overreach):
        await room.end_session(operator, above.stored.id)

    await room.in_session(above.key)
    with pytest.raises(NotAuthenticated):
        await room.in_session(below.key)


async def test_whoever_may_only_read_keys_logs_nobody_else_out(room: Room) -> None:
    bobs = await logged_in(room, room.person("bob"))
    wish = KeySpec(name="reader", scopes=frozenset({Scope.KEYS_READ}))
    issued = await room.issue_key(room.person("ana", Role.OPERATOR), wish)
    reader = await room.enters(issued.key)

    assert [each.id for each in await room.list_sessions(reader)] == [bobs.stored.id]
    with pytest.raises(NotPermitted, match="keys:write"):
        await room.end_session(reader, bobs.stored.id)


async def test_a_session_is_not_among_the_keys_and_is_not_managed_as_one(
    room: Room, admin: Principal
) -> None:
    session = await logged_in(room, admin)

    listed = await room.list_keys(admin, after=None, limit=10)

    assert [key.purpose for key in listed] == [Purpose.ACCESS]
    for ask in (
        room.show_key(admin, session.stored.id),
        room.rotate_key(admin, session.stored.id, HOUR),
        room.revoke_key(admin, session.stored.id),
    ):
        with pytest.raises(KeyNotFound):
            await ask
    await room.in_session(session.key)


@pytest.mark.requirement("guard:keys:revoke")
async def test_with_a_key_all_that_was_opened_with_it_ends_and_nothing_else(room: Room) -> None:
    ana = room.person("ana")
    lost = await room.issue_key(ana, KeySpec(name="lost"))
    sessions = [await room.open_session(lost.key.reveal(), name) for name in ("one", "two")]
    other = await logged_in(room, ana)

    await room.revoke_key(ana, lost.stored.id)

    for session in sessions:
        with pytest.raises(NotAuthenticated):
            await room.in_session(session.key)
    revoked = {room.world.keys[it.stored.id].key.revoked_at for it in (lost, *sessions)}
    assert len(revoked) == 1
    await room.in_session(other.key)


@pytest.mark.requirement("guard:keys:rotate-with-overlap")
async def test_with_a_rotated_key_its_sessions_end_after_the_overlap(room: Room) -> None:
    ana = room.person("ana")
    old = await room.issue_key(ana, KeySpec(name="laptop"))
    session = await room.open_session(old.key.reveal(), "browser")

    new = await room.rotate_key(ana, old.stored.id, DAY)

    inside = await room.in_session(session.key)
    ends = room.world.keys[old.stored.id].key.expires_at
    assert inside.until == ends
    assert (await room.issue_key(inside, KeySpec(name="k"))).stored.expires_at == ends
    room.clock.turn(DAY)
    with pytest.raises(NotAuthenticated):
        await room.in_session(session.key)
    await room.open_session(new.key.reveal(), "browser")


async def test_a_session_that_was_carried_to_a_browser_is_exchanged_once(room: Room) -> None:
    issued = await room.issue_key(room.person("ana"), KeySpec(name="laptop"))
    carried = await room.open_session(issued.key.reveal(), "portico ui", HANDED_ON)

    taken = await room.take_session(carried.key.reveal(), "Firefox on Linux")

    assert carried.stored.expires_at == carried.stored.created_at + HANDED_ON
    assert taken.stored.name == "Firefox on Linux"
    assert taken.stored.opened_with == carried.stored.opened_with
    assert taken.stored.expires_at == taken.stored.created_at + SESSION_LIFETIME
    assert (await room.in_session(taken.key)).name == "ana"
    for again in (carried.key.reveal(), issued.key.reveal(), "nothing"):
        with pytest.raises(NotAuthenticated):
            await room.take_session(again, "Firefox on Linux")


async def test_nobody_leaves_the_session_of_another(room: Room) -> None:
    ana, bob = room.person("ana"), room.person("bob")
    session = await logged_in(room, ana)

    with pytest.raises(KeyNotFound):
        await room.leave_session(bob, session.stored.id)

    assert (await room.in_session(session.key)).name == "ana"
    await room.leave_session(ana, session.stored.id)
    await room.leave_session(ana, session.stored.id)
    assert [act["action"] for act in acts(room)].count("session.left") == 1
