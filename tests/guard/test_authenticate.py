"""The story of a key that is shown at the door."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.api_key import ApiKey, KeyHolder
from portico.guard.core.errors import NotAuthenticated
from portico.guard.core.roles import Scope
from portico.guard.issue_key import IssuedKey, KeyWish
from portico.testing.guard import an_identity
from portico.testing.kernel import SeededEntropy
from tests.guard.room import Room


async def ana_with_a_key(room: Room) -> IssuedKey:
    return await room.issue_key(room.person("ana"), KeyWish(name="laptop"))


async def test_a_key_lets_its_holder_in() -> None:
    room = Room()
    issued = await ana_with_a_key(room)

    entry = await room.authenticate(issued.key.reveal())

    assert entry.principal == room.through(room.person("ana"), issued.stored)
    assert entry.key_id == issued.stored.id


async def test_a_narrowed_key_lets_in_somebody_who_may_less() -> None:
    room = Room()
    wish = KeyWish(name="status page", scopes=frozenset({Scope.STATUS_READ}))
    issued = await room.issue_key(room.person("ana"), wish)

    principal = await room.enters(issued.key)

    assert principal.scopes == {Scope.STATUS_READ}


@pytest.mark.requirement("guard:keys:only-the-living-open")
async def test_whatever_is_wrong_the_refusal_is_the_same() -> None:
    room = Room()
    ana = room.person("ana")
    revoked = await room.issue_key(ana, KeyWish(name="revoked"))
    await room.revoke_key(ana, revoked.stored.id)
    expired = await room.issue_key(ana, KeyWish(name="short", lifetime=timedelta(seconds=1)))
    disabled = await room.issue_key(room.person("bob"), KeyWish(name="bob's"))
    room.holds(replace(an_identity("bob"), disabled_at=room.clock.now()))
    unknown = ApiKey.mint(SeededEntropy("a stranger"))
    guessed = ApiKey(revoked.key.id, unknown.secret)

    refusals: set[str] = set()
    for shown in (
        "",
        "Bearer",
        "ptc_",
        revoked.key.reveal()[:-1],
        *(key.reveal() for key in (revoked.key, expired.key, disabled.key, unknown, guessed)),
    ):
        with pytest.raises(NotAuthenticated) as caught:
            await room.authenticate(shown)
        refusals.add(f"{caught.value} {caught.value.fix}")

    assert len(refusals) == 1


async def test_a_session_lets_in_where_a_cookie_is_shown_and_nowhere_else() -> None:
    room = Room()
    issued = await ana_with_a_key(room)
    session = await room.open_session(issued.key.reveal(), "Firefox")

    entry = await room.authenticate.session(session.key.reveal())

    assert entry.principal == room.through(room.person("ana"), session.stored)
    assert entry.key_id == session.stored.id
    with pytest.raises(NotAuthenticated):
        await room.authenticate(session.key.reveal())
    with pytest.raises(NotAuthenticated):
        await room.authenticate.session(issued.key.reveal())


async def test_in_the_session_of_whoever_may_make_no_keys_the_session_is_still_known() -> None:
    room = Room()
    issued = await room.issue_key(
        room.person("ana"), KeyWish(name="reader", scopes=frozenset({Scope.TOOLS_READ}))
    )
    session = await room.open_session(issued.key.reveal(), "Firefox")

    entry = await room.authenticate.session(session.key.reveal())

    assert entry.key_id == session.stored.id
    assert entry.principal.key == issued.stored.id


@pytest.mark.requirement("guard:keys:only-the-living-open")
async def test_whatever_is_wrong_with_a_cookie_the_refusal_is_the_same() -> None:
    room = Room()
    ana = room.person("ana")
    issued = await ana_with_a_key(room)
    ended, guessed, old = [
        await room.open_session(issued.key.reveal(), name) for name in ("a", "b", "c")
    ]
    await room.end_session(ana, ended.stored.id)
    unknown = ApiKey.mint(SeededEntropy("a stranger"))
    room.clock.turn(timedelta(days=14))

    refusals: set[str] = set()
    for shown in (
        "",
        "a.token.of_somebody",
        *(
            key.reveal()
            for key in (ended.key, ApiKey(guessed.key.id, unknown.secret), old.key, unknown)
        ),
    ):
        with pytest.raises(NotAuthenticated) as caught:
            await room.authenticate.session(shown)
        refusals.add(f"{caught.value} {caught.value.fix}")

    assert len(refusals) == 1


async def test_a_token_of_others_is_no_session_and_opens_none() -> None:
    room = Room()
    issued = await ana_with_a_key(room)
    holder = await room.authenticate.access(issued.key.reveal())

    async def of_token(_text: str) -> KeyHolder:
        return holder

    authenticate = replace(room.authenticate, of_token=of_token)

    assert (await authenticate("a.token.of_somebody")).key_id == issued.stored.id
    for way_in in (authenticate.session, authenticate.access):
        with pytest.raises(NotAuthenticated):
            await way_in("a.token.of_somebody")


@pytest.mark.requirement("guard:keys:last-used")
async def test_the_last_use_is_noted_but_not_more_than_once_a_minute() -> None:
    room = Room()
    issued = await ana_with_a_key(room)

    noted = []
    for wait in (0, 10, 60, 5):
        room.clock.turn(timedelta(seconds=wait))
        await room.enters(issued.key)
        noted.append(room.world.keys[issued.key.id].key.last_used_at)

    assert noted[0] is not None
    assert noted[0] == noted[1]
    assert noted[2] is not None
    assert noted[2] > noted[0]
    assert noted[2] == noted[3]
