"""What the guard may rely on of `Keys`, `KeyRing` and `Sessions`."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from portico.guard.core.api_key import ApiKey, OpenedWith, Purpose, StoredKey
from portico.guard.core.errors import KeyEnded, KeyNotFound
from portico.guard.core.roles import Scope
from portico.kernel.label import Label, Level
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import PEPPER, REFUSED, Doors, a_session, another_id

LATER = BEGINNING + timedelta(days=1)


async def test_a_key_comes_back_as_it_was_put_in(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = await doors.joined(root, "bob")
    key = ApiKey.mint(SeededEntropy("full"))
    full = StoredKey(
        id=key.id,
        space=bob.space,
        principal=bob.id,
        purpose=Purpose.ACCESS,
        name="everything in it, é 😀",
        scopes=frozenset({Scope.KEYS_OWN, Scope.STATUS_READ}),
        clearance=Label(Level.CONFIDENTIAL, frozenset({"finance", "legal"})),
        tools=("git.*", "mail.send"),
        created_at=BEGINNING + timedelta(microseconds=1),
        expires_at=LATER,
        last_used_at=BEGINNING,
        revoked_at=LATER,
    )

    await doors.keys.add(root, full, key.digest(PEPPER))

    assert await doors.keys.get(root, full.id) == full


@pytest.mark.parametrize("scopes", [None, frozenset[Scope]()])
async def test_a_key_for_everything_is_not_a_key_for_nothing(
    doors: Doors, scopes: frozenset[Scope] | None
) -> None:
    root = await doors.founded("home")
    bob = await doors.joined(root, "bob")
    key = replace(another_id(await doors.key_of(root, bob)), scopes=scopes)

    await doors.keys.add(root, key, b"x" * 32)

    assert (await doors.keys.get(root, key.id)).scopes == scopes


@pytest.mark.parametrize("tools", [None, (), ("git.*",)])
async def test_a_key_for_every_tool_is_not_a_key_for_none(
    doors: Doors, tools: tuple[str, ...] | None
) -> None:
    root = await doors.founded("home")
    bob = replace(await doors.joined(root, "bob"), tools=("mail.*",))
    await doors.principals.save(root, bob)
    key = replace(another_id(await doors.key_of(root, bob)), tools=tools)

    await doors.keys.add(root, key, b"x" * 32)

    found = await doors.key_ring.find(key.id)
    assert found is not None
    assert found.key.tools == tools
    assert found.identity.tools == ("mail.*",)
    assert (await doors.keys.get(root, key.id)).tools == tools


async def test_a_key_that_is_not_there_is_not_found(doors: Doors) -> None:
    root = await doors.founded("home")

    with pytest.raises(KeyNotFound):
        await doors.keys.get(root, "nowhere")


async def test_the_ring_finds_a_key_of_any_space_with_its_holder(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    for admin in (home, acme):
        bob = await doors.joined(admin, "bob")
        stored = await doors.key_of(admin, bob)

        found = await doors.key_ring.find(stored.id)

        assert found is not None
        assert (found.key, found.identity) == (stored, bob)
        assert found.digest == ApiKey.mint(SeededEntropy(f"k of {bob.id}")).digest(PEPPER)


async def test_the_ring_has_no_key_that_was_never_made(doors: Doors) -> None:
    await doors.founded("home")

    assert await doors.key_ring.find("nowhere") is None


async def test_the_ring_finds_several_keys_in_one_look(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    stored = [await doors.key_of(admin, await doors.joined(admin, "bob")) for admin in (home, acme)]

    found = await doors.key_ring.find_all([*(key.id for key in stored), "nowhere"])

    assert {holder.key.id: holder.key for holder in found} == {key.id: key for key in stored}
    assert {holder.identity.space for holder in found} == {home.space, acme.space}
    assert await doors.key_ring.find_all([]) == []


async def test_the_ring_notes_the_last_use(doors: Doors) -> None:
    root = await doors.founded("home")
    key = await doors.key_of(root, await doors.joined(root, "bob"))

    await doors.key_ring.used(root, key.id, LATER)

    assert await doors.keys.get(root, key.id) == replace(key, last_used_at=LATER)


async def test_a_key_is_given_an_end(doors: Doors) -> None:
    root = await doors.founded("home")
    key = await doors.key_of(root, await doors.joined(root, "bob"))

    given = await doors.keys.expire(root, key, LATER)
    by_who_read_it_before = await doors.keys.expire(root, key, LATER)

    assert (given, by_who_read_it_before) == (True, False)
    assert await doors.keys.get(root, key.id) == replace(key, expires_at=LATER)


async def test_a_key_that_is_revoked_is_given_no_other_end(doors: Doors) -> None:
    root = await doors.founded("home")
    key = await doors.key_of(root, await doors.joined(root, "bob"))
    await doors.keys.revoke(root, key.id, LATER)

    assert not await doors.keys.expire(root, key, LATER)


async def test_ending_somebodys_invitations_ends_no_keys_and_nobody_elses(doors: Doors) -> None:
    root = await doors.founded("home")
    bob, cat = await doors.joined(root, "bob"), await doors.joined(root, "cat")
    links = {}
    for who in (bob, cat):
        link = replace(
            another_id(await doors.key_of(root, who), f"link of {who.name}"),
            purpose=Purpose.INVITATION,
        )
        await doors.keys.add(root, link, b"\0" * 32)
        links[who.name] = link

    await doors.keys.end_invitations(root, bob.id, LATER)

    assert (await doors.keys.get(root, links["bob"].id)).revoked_at == LATER
    assert (await doors.keys.get(root, links["cat"].id)).revoked_at is None
    kept = await doors.keys.page(root, of=bob.id, after=None, limit=10)
    assert [key.revoked_at for key in kept] == [None]


async def test_a_key_is_revoked_once(doors: Doors) -> None:
    root = await doors.founded("home")
    key = await doors.key_of(root, await doors.joined(root, "bob"))

    first = await doors.keys.revoke(root, key.id, BEGINNING)
    second = await doors.keys.revoke(root, key.id, LATER)

    assert (first, second) == (True, False)
    assert await doors.keys.get(root, key.id) == replace(key, revoked_at=BEGINNING)


@pytest.mark.requirement("guard:invitations:single-use")
async def test_of_several_who_revoke_at_once_one_hears_that_it_was_them(doors: Doors) -> None:
    root = await doors.founded("home")
    key = await doors.key_of(root, await doors.joined(root, "bob"))

    heard = await asyncio.gather(*(doors.keys.revoke(root, key.id, LATER) for _ in range(4)))

    assert sorted(heard) == [False, False, False, True]


async def test_revoking_what_is_not_there_is_nobodys_doing(doors: Doors) -> None:
    root = await doors.founded("home")

    assert not await doors.keys.revoke(root, "nowhere", LATER)


async def test_keys_are_paged_by_age_and_each_is_seen_once(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = await doors.joined(root, "bob")
    base = await doors.key_of(root, bob)
    ages = [3, 1, 1, 1, 2]
    made = [
        replace(another_id(base, str(n)), created_at=BEGINNING + timedelta(days=age))
        for n, age in enumerate(ages)
    ]
    for key in made:
        await doors.keys.add(root, key, b"x" * 32)

    seen: list[StoredKey] = []
    after = None
    while page := await doors.keys.page(root, of=bob.id, after=after, limit=2):
        assert len(page) <= 2
        seen += page
        after = page[-1].id

    assert [key.created_at for key in seen] == sorted(key.created_at for key in [base, *made])
    assert {key.id for key in seen} == {key.id for key in [base, *made]}
    assert len(seen) == 6


async def test_a_page_may_be_of_one_holders_keys_or_of_all(doors: Doors) -> None:
    root = await doors.founded("home")
    bob, eve = await doors.joined(root, "bob"), await doors.joined(root, "eve")
    bobs, eves = await doors.key_of(root, bob), await doors.key_of(root, eve)

    of_bob = await doors.keys.page(root, of=bob.id, after=None, limit=10)
    of_all = await doors.keys.page(root, of=None, after=None, limit=10)

    assert [key.id for key in of_bob] == [bobs.id]
    assert len(of_all) == 3  # with the admin's first
    assert {bobs.id, eves.id} < {key.id for key in of_all}


async def test_invitations_are_on_no_page(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = await doors.joined(root, "bob")
    invitation = replace(another_id(await doors.key_of(root, bob)), purpose=Purpose.INVITATION)
    await doors.keys.add(root, invitation, b"x" * 32)

    page = await doors.keys.page(root, of=bob.id, after=None, limit=10)

    assert invitation.id not in {key.id for key in page}
    assert await doors.keys.get(root, invitation.id) == invitation


async def test_the_page_after_a_key_that_is_not_there_is_empty(doors: Doors) -> None:
    root = await doors.founded("home")

    assert list(await doors.keys.page(root, of=None, after="nowhere", limit=10)) == []


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_keys_of_another_space_do_not_exist(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    theirs = await doors.key_of(acme, await doors.joined(acme, "bob"))

    with pytest.raises(KeyNotFound):
        await doors.keys.get(home, theirs.id)
    assert not await doors.keys.expire(home, theirs, LATER)
    await doors.keys.end_invitations(home, theirs.principal, LATER)
    await doors.key_ring.used(home, theirs.id, LATER)
    revoked = await doors.keys.revoke(home, theirs.id, LATER)
    all_ = await doors.keys.page(home, of=None, after=None, limit=10)
    of_them = await doors.keys.page(home, of=theirs.principal, after=None, limit=10)
    behind = await doors.keys.page(home, of=None, after=theirs.id, limit=10)

    assert not revoked
    assert {key.space for key in all_} == {home.space}
    assert [*of_them, *behind] == []
    assert await doors.keys.get(acme, theirs.id) == theirs


@pytest.mark.requirement("guard:spaces:walls")
async def test_no_key_is_put_into_another_space_or_into_the_hands_of_its_people(
    doors: Doors,
) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    theirs = await doors.key_of(acme, await doors.joined(acme, "bob"))
    smuggled = another_id(theirs)

    with pytest.raises(REFUSED):
        await doors.keys.add(home, smuggled, b"x" * 32)
    with pytest.raises(REFUSED):
        await doors.keys.add(home, replace(smuggled, space=home.space), b"x" * 32)

    assert await doors.key_ring.find(smuggled.id) is None


async def test_an_id_is_given_once_in_all_spaces(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    bob = await doors.joined(home, "bob")
    taken = await doors.key_of(acme, await doors.joined(acme, "bob"))

    with pytest.raises(REFUSED):
        await doors.keys.add(home, replace(taken, space=home.space, principal=bob.id), b"x" * 32)

    found = await doors.key_ring.find(taken.id)
    assert found is not None
    assert found.key == taken


@pytest.mark.parametrize("until", [None, BEGINNING + timedelta(days=30)])
async def test_a_session_comes_back_as_it_was_opened(doors: Doors, until: datetime | None) -> None:
    root = await doors.founded("home")
    key = another_id(await doors.key_of(root, await doors.joined(root, "bob")))
    key = replace(key, expires_at=until, scopes=frozenset({Scope.KEYS_OWN}), tools=("git.*",))
    await doors.keys.add(root, key, b"x" * 32)

    session = await doors.session_of(root, key)

    found = await doors.key_ring.find(session.id)
    assert found is not None
    assert found.key == await doors.keys.get(root, session.id) == session
    assert session.opened_with == OpenedWith(key.id, until)
    assert list(await doors.sessions.still_open(root, of=None, at=BEGINNING, limit=9)) == [session]


async def test_sessions_are_on_no_page_of_keys(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = await doors.joined(root, "bob")
    key = await doors.key_of(root, bob)
    await doors.session_of(root, key)

    assert list(await doors.keys.page(root, of=bob.id, after=None, limit=10)) == [key]


async def test_sessions_are_listed_by_their_last_use_for_one_or_for_all(doors: Doors) -> None:
    root = await doors.founded("home")
    bobs, eves = [await doors.key_of(root, await doors.joined(root, it)) for it in ("bob", "eve")]
    one, two, three = [await doors.session_of(root, bobs, name) for name in ("1", "2", "3")]
    others = await doors.session_of(root, eves)
    for hours, session in enumerate((two, others, one), start=1):
        await doors.key_ring.used(root, session.id, BEGINNING + timedelta(hours=hours))

    of_bob = await doors.sessions.still_open(root, of=bobs.principal, at=LATER, limit=10)
    of_all = await doors.sessions.still_open(root, of=None, at=LATER, limit=2)

    assert [session.id for session in of_bob] == [one.id, two.id, three.id]
    assert [session.id for session in of_all] == [one.id, others.id]


async def test_sessions_that_have_ended_are_not_listed(doors: Doors) -> None:
    root = await doors.founded("home")
    key = await doors.key_of(root, await doors.joined(root, "bob"))
    kept, revoked = [await doors.session_of(root, key, name) for name in ("1", "2")]
    short = replace(a_session(key, "short"), expires_at=LATER)
    await doors.sessions.open(root, short, b"x" * 32)
    await doors.keys.revoke(root, revoked.id, BEGINNING)

    found = await doors.sessions.still_open(root, of=None, at=LATER, limit=10)

    assert list(found) == [kept]


@pytest.mark.requirement("guard:keys:revoke")
async def test_with_a_key_what_was_opened_with_it_is_revoked(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = await doors.joined(root, "bob")
    lost, other = [await doors.key_of(root, bob, name) for name in ("lost", "other")]
    before, session = [await doors.session_of(root, lost, name) for name in ("before", "b")]
    kept = await doors.session_of(root, other)
    await doors.keys.revoke(root, before.id, BEGINNING)

    assert await doors.keys.revoke(root, lost.id, LATER)

    assert await doors.keys.get(root, session.id) == replace(session, revoked_at=LATER)
    assert (await doors.keys.get(root, before.id)).revoked_at == BEGINNING
    assert await doors.keys.get(root, kept.id) == kept
    assert await doors.keys.get(root, other.id) == other


async def test_ending_a_session_ends_neither_its_key_nor_its_neighbours(doors: Doors) -> None:
    root = await doors.founded("home")
    key = await doors.key_of(root, await doors.joined(root, "bob"))
    ended, kept = [await doors.session_of(root, key, name) for name in ("1", "2")]

    assert await doors.keys.revoke(root, ended.id, LATER)
    assert not await doors.keys.revoke(root, ended.id, LATER)

    assert await doors.keys.get(root, key.id) == key
    assert await doors.keys.get(root, kept.id) == kept


async def test_what_was_opened_with_a_key_ends_no_later_than_it(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = await doors.joined(root, "bob")
    key, other = [await doors.key_of(root, bob, name) for name in ("k", "other")]
    session, elsewhere = await doors.session_of(root, key), await doors.session_of(root, other)
    sooner = replace(a_session(key, "sooner"), expires_at=BEGINNING)
    await doors.sessions.open(root, sooner, b"x" * 32)

    assert await doors.keys.expire(root, key, LATER)
    assert not await doors.keys.expire(root, key, BEGINNING)

    opened_with = OpenedWith(key.id, LATER)
    for its, ends in ((session, LATER), (sooner, BEGINNING)):
        now = await doors.keys.get(root, its.id)
        assert now == replace(its, expires_at=ends, opened_with=opened_with)
    assert await doors.keys.get(root, elsewhere.id) == elsewhere


async def test_nothing_is_opened_with_a_key_that_is_not_as_it_was_read(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = await doors.joined(root, "bob")
    revoked, ending = [await doors.key_of(root, bob, name) for name in ("revoked", "ending")]
    invitation = replace(another_id(revoked, "i"), purpose=Purpose.INVITATION)
    await doors.keys.add(root, invitation, b"x" * 32)
    session = await doors.session_of(root, await doors.key_of(root, bob))
    await doors.keys.revoke(root, revoked.id, LATER)
    await doors.keys.expire(root, ending, LATER)

    nowhere = replace(revoked, id="nowhere")
    for opener in (revoked, ending, invitation, replace(session, opened_with=None), nowhere):
        with pytest.raises(KeyEnded):
            await doors.session_of(root, opener)

    still = await doors.sessions.still_open(root, of=None, at=BEGINNING, limit=10)
    assert list(still) == [session]


async def test_of_those_who_log_in_while_their_key_is_revoked_nobody_is_left_inside(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    key = await doors.key_of(root, await doors.joined(root, "bob"))

    async def logs_in(number: int) -> None:
        with suppress(KeyEnded):
            async with doors.together(root):
                await doors.session_of(root, key, str(number))
                await asyncio.sleep(0.01)

    await asyncio.gather(
        *(logs_in(number) for number in range(3)),
        doors.keys.revoke(root, key.id, LATER),
        *(logs_in(number) for number in range(3, 6)),
    )

    assert list(await doors.sessions.still_open(root, of=None, at=BEGINNING, limit=10)) == []


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_sessions_of_another_space_do_not_exist(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    key = await doors.key_of(acme, await doors.joined(acme, "bob"))
    theirs = await doors.session_of(acme, key)

    assert list(await doors.sessions.still_open(home, of=None, at=BEGINNING, limit=10)) == []
    assert not await doors.keys.revoke(home, key.id, LATER)
    assert not await doors.keys.expire(home, key, LATER)
    with pytest.raises((KeyEnded, *REFUSED)):
        await doors.session_of(home, key, "smuggled")

    assert list(await doors.sessions.still_open(acme, of=None, at=BEGINNING, limit=9)) == [theirs]


@pytest.mark.requirement("guard:spaces:walls")
async def test_a_session_belongs_to_a_key_of_the_same_holder_and_nothing_else_does(
    doors: Doors,
) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    bobs, eves = [await doors.key_of(home, await doors.joined(home, it)) for it in ("bob", "eve")]
    theirs = await doors.key_of(acme, await doors.joined(acme, "bob"))
    good = a_session(bobs)

    for odd in (
        replace(good, opened_with=OpenedWith(eves.id, None)),
        replace(good, opened_with=OpenedWith(theirs.id, None)),
        replace(good, opened_with=OpenedWith("nowhere", None)),
        replace(good, opened_with=None),
        replace(good, expires_at=None),
        replace(good, purpose=Purpose.ACCESS),
    ):
        with pytest.raises(REFUSED):
            await doors.keys.add(home, odd, b"x" * 32)

    await doors.keys.add(home, good, b"x" * 32)
