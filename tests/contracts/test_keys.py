"""What the guard may rely on of `Keys`, `KeyRing`, `Sessions` and `TrustedClients`."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.errors import KeyEnded, KeyNotFound
from portico.guard.core.keys import ApiKey, OpenedWith, Purpose, StoredKey
from portico.guard.core.principals import Identity, Scope
from portico.guard.ports import Keys
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.doors import PEPPER, REFUSED, Doors, a_session, another_id

LATER = BEGINNING + timedelta(days=1)
PROOF = b"x" * 32


@pytest.fixture
def keys(doors: Doors) -> Keys:
    return doors.keys


@pytest.fixture
async def bob(doors: Doors, root: Principal) -> Identity:
    return await doors.joined(root, "bob")


@pytest.fixture
async def key(doors: Doors, root: Principal, bob: Identity) -> StoredKey:
    return await doors.key_of(root, bob)


async def still_open(doors: Doors, caller: Principal) -> list[StoredKey]:
    return [*await doors.sessions.still_open(caller, of=None, at=BEGINNING, limit=9)]


async def test_a_key_comes_back_as_it_was_put_in(
    doors: Doors, root: Principal, bob: Identity
) -> None:
    """A key for everything is none for nothing, and one for every tool is none for no tool."""
    bob = replace(bob, tools=("mail.*",))
    await doors.principals.save(root, bob)
    minted = ApiKey.mint(SeededEntropy("full"))
    full = StoredKey(
        id=minted.id,
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
    added = [
        full,
        *(replace(another_id(full, str(tools)), tools=tools) for tools in (None, ())),
        *(
            replace(another_id(full, f"s{each}"), scopes=each)
            for each in (None, frozenset[Scope]())
        ),
    ]

    for each in added:
        await doors.keys.add(root, each, minted.digest(PEPPER))

    for each in added:
        found = await doors.key_ring.find(each.id)
        assert found is not None
        assert await doors.keys.get(root, each.id) == found.key == each
        assert (found.identity, found.digest) == (bob, minted.digest(PEPPER))


async def test_the_ring_finds_keys_of_any_space_with_their_holders(doors: Doors) -> None:
    admins = [await doors.founded(name) for name in ("one", "other")]
    holders = [await doors.joined(admin, "bob") for admin in admins]
    stored = [await doors.key_of(*each) for each in zip(admins, holders, strict=True)]

    for key, bob in zip(stored, holders, strict=True):
        found = await doors.key_ring.find(key.id)
        assert found is not None
        assert (found.key, found.identity) == (key, bob)
        assert found.digest == ApiKey.mint(SeededEntropy(f"k of {bob.id}")).digest(PEPPER)
    every = await doors.key_ring.find_all([*(key.id for key in stored), "nowhere"])
    assert {holder.key.id: holder.key for holder in every} == {key.id: key for key in stored}
    assert {holder.identity.space for holder in every} == {admin.space for admin in admins}
    assert await doors.key_ring.find_all([]) == []
    assert await doors.key_ring.find("nowhere") is None


async def test_a_key_is_given_an_end_and_its_last_use_is_noted(
    doors: Doors, root: Principal, key: StoredKey
) -> None:
    await doors.key_ring.used(root, key.id, LATER)
    given = await doors.keys.expire(root, key, LATER)
    by_who_read_it_before = await doors.keys.expire(root, key, LATER)

    assert (given, by_who_read_it_before) == (True, False)
    now = replace(key, expires_at=LATER, last_used_at=LATER)
    assert await doors.keys.get(root, key.id) == now


async def test_ending_somebodys_invitations_ends_no_keys_and_nobody_elses(
    doors: Doors, root: Principal, bob: Identity, key: StoredKey
) -> None:
    """They are on no page."""
    cat = await doors.joined(root, "cat")
    links = [
        replace(another_id(each, f"link of {each.id}"), purpose=Purpose.INVITATION)
        for each in (key, await doors.key_of(root, cat))
    ]
    for link in links:
        await doors.keys.add(root, link, PROOF)
        assert await doors.keys.get(root, link.id) == link

    await doors.keys.end_invitations(root, bob.id, LATER)

    ended = [(await doors.keys.get(root, link.id)).revoked_at for link in links]
    assert ended == [LATER, None]
    assert [*await doors.keys.page(root, of=bob.id, after=None, limit=10)] == [key]


@pytest.mark.requirement("guard:invitations:single-use")
async def test_a_key_is_revoked_once_by_one_of_those_who_try(
    keys: Keys, root: Principal, key: StoredKey
) -> None:
    heard = await asyncio.gather(*(keys.revoke(root, key.id, BEGINNING) for _ in range(4)))

    assert sorted(heard) == [False, False, False, True]
    assert not await keys.revoke(root, key.id, LATER)
    assert not await keys.expire(root, key, LATER)
    assert await keys.get(root, key.id) == replace(key, revoked_at=BEGINNING)
    assert not await keys.revoke(root, "nowhere", LATER)
    with pytest.raises(KeyNotFound):
        await keys.get(root, "nowhere")


async def test_keys_are_paged_by_age_and_each_is_seen_once(
    doors: Doors, root: Principal, bob: Identity, key: StoredKey
) -> None:
    made = [key]
    for number, age in enumerate([3, 1, 1, 1, 2]):
        made.append(
            replace(another_id(key, str(number)), created_at=BEGINNING + timedelta(days=age))
        )
        await doors.keys.add(root, made[-1], PROOF)
    eves = await doors.key_of(root, await doors.joined(root, "eve"))

    seen: list[StoredKey] = []
    after = None
    while page := await doors.keys.page(root, of=bob.id, after=after, limit=2):
        assert len(page) <= 2
        seen += page
        after = page[-1].id

    assert [each.created_at for each in seen] == sorted(each.created_at for each in made)
    assert {each.id for each in seen} == {each.id for each in made}
    assert len(seen) == 6
    of_all = await doors.keys.page(root, of=None, after=None, limit=10)
    assert len(of_all) == 8  # with the admin's first
    assert {*(each.id for each in made), eves.id} < {each.id for each in of_all}
    assert [*await doors.keys.page(root, of=None, after="nowhere", limit=10)] == []


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_keys_and_sessions_of_another_space_do_not_exist(
    doors: Doors, root: Principal
) -> None:
    acme = await doors.founded("acme")
    theirs = await doors.key_of(acme, await doors.joined(acme, "bob"))
    session = await doors.session_of(acme, theirs)

    with pytest.raises(KeyNotFound):
        await doors.keys.get(root, theirs.id)
    assert not await doors.keys.expire(root, theirs, LATER)
    await doors.keys.end_invitations(root, theirs.principal, LATER)
    await doors.key_ring.used(root, theirs.id, LATER)
    assert not await doors.keys.revoke(root, theirs.id, LATER)
    all_ = await doors.keys.page(root, of=None, after=None, limit=10)
    of_them = await doors.keys.page(root, of=theirs.principal, after=None, limit=10)
    behind = await doors.keys.page(root, of=None, after=theirs.id, limit=10)
    with pytest.raises((KeyEnded, *REFUSED)):
        await doors.session_of(root, theirs, "smuggled")

    assert {key.space for key in all_} == {root.space}
    assert [*of_them, *behind, *await still_open(doors, root)] == []
    assert await doors.keys.get(acme, theirs.id) == theirs
    assert await still_open(doors, acme) == [session]


@pytest.mark.requirement("guard:spaces:walls")
async def test_no_key_is_put_into_another_space_or_into_the_hands_of_its_people(
    doors: Doors, root: Principal, bob: Identity
) -> None:
    acme = await doors.founded("acme")
    theirs = await doors.key_of(acme, await doors.joined(acme, "bob"))
    smuggled = another_id(theirs)
    of_bob = replace(theirs, space=root.space, principal=bob.id)

    for refused in (smuggled, replace(smuggled, space=root.space), of_bob):
        with pytest.raises(REFUSED):
            await doors.keys.add(root, refused, PROOF)

    assert await doors.key_ring.find(smuggled.id) is None
    found = await doors.key_ring.find(theirs.id)
    assert found is not None
    assert found.key == theirs


async def test_a_session_comes_back_as_it_was_opened_and_is_on_no_page_of_keys(
    doors: Doors, root: Principal, bob: Identity, key: StoredKey
) -> None:
    opened, openers = [], [key]
    for until in (None, BEGINNING + timedelta(days=30)):
        opener = replace(another_id(key, str(until)), expires_at=until, tools=("git.*",))
        opener = replace(opener, scopes=frozenset({Scope.KEYS_OWN}))
        await doors.keys.add(root, opener, PROOF)
        openers.append(opener)

        session = await doors.session_of(root, opener)

        found = await doors.key_ring.find(session.id)
        assert found is not None
        assert found.key == await doors.keys.get(root, session.id) == session
        assert session.opened_with == OpenedWith(opener.id, until)
        opened.append(session)
    assert {each.id for each in await still_open(doors, root)} == {each.id for each in opened}
    page = await doors.keys.page(root, of=bob.id, after=None, limit=10)
    assert {each.id for each in page} == {each.id for each in openers}


async def test_sessions_are_listed_by_their_last_use_for_one_or_for_all_until_they_end(
    doors: Doors, root: Principal
) -> None:
    bobs, eves = [await doors.key_of(root, await doors.joined(root, it)) for it in ("ben", "eve")]
    one, two, three = [await doors.session_of(root, bobs, name) for name in ("1", "2", "3")]
    others, revoked = [await doors.session_of(root, eves, name) for name in ("4", "5")]
    for hours, session in enumerate((two, others, one), start=1):
        await doors.key_ring.used(root, session.id, BEGINNING + timedelta(hours=hours))
    short = replace(a_session(bobs, "short"), expires_at=LATER)
    await doors.sessions.open(root, short, PROOF)
    await doors.keys.revoke(root, revoked.id, BEGINNING)

    of_bob = await doors.sessions.still_open(root, of=bobs.principal, at=LATER, limit=10)
    of_all = await doors.sessions.still_open(root, of=None, at=LATER, limit=2)
    every = await doors.sessions.still_open(root, of=None, at=LATER, limit=10)

    assert [session.id for session in of_bob] == [one.id, two.id, three.id]
    assert [session.id for session in of_all] == [one.id, others.id]
    assert {session.id for session in every} == {one.id, two.id, three.id, others.id}


@pytest.mark.requirement("guard:keys:revoke")
async def test_with_a_key_what_was_opened_with_it_is_revoked(
    doors: Doors, root: Principal, bob: Identity
) -> None:
    """And with a session nothing else."""
    lost, other = [await doors.key_of(root, bob, name) for name in ("lost", "other")]
    before, session = [await doors.session_of(root, lost, name) for name in ("before", "b")]
    kept = await doors.session_of(root, other)

    assert await doors.keys.revoke(root, before.id, BEGINNING)
    assert not await doors.keys.revoke(root, before.id, LATER)
    for untouched in (lost, session):
        assert await doors.keys.get(root, untouched.id) == untouched

    assert await doors.keys.revoke(root, lost.id, LATER)
    assert await doors.keys.get(root, session.id) == replace(session, revoked_at=LATER)
    assert (await doors.keys.get(root, before.id)).revoked_at == BEGINNING
    assert await doors.keys.get(root, kept.id) == kept
    assert await doors.keys.get(root, other.id) == other


async def test_what_was_opened_with_a_key_ends_no_later_than_it(
    doors: Doors, root: Principal, bob: Identity, key: StoredKey
) -> None:
    other = await doors.key_of(root, bob, "other")
    session, elsewhere = await doors.session_of(root, key), await doors.session_of(root, other)
    sooner = replace(a_session(key, "sooner"), expires_at=BEGINNING)
    await doors.sessions.open(root, sooner, PROOF)

    assert await doors.keys.expire(root, key, LATER)
    assert not await doors.keys.expire(root, key, BEGINNING)

    opened_with = OpenedWith(key.id, LATER)
    for its, ends in ((session, LATER), (sooner, BEGINNING)):
        now = await doors.keys.get(root, its.id)
        assert now == replace(its, expires_at=ends, opened_with=opened_with)
    assert await doors.keys.get(root, elsewhere.id) == elsewhere


async def test_nothing_is_opened_with_a_key_that_is_not_as_it_was_read(
    doors: Doors, root: Principal, bob: Identity, key: StoredKey
) -> None:
    revoked, ending = [await doors.key_of(root, bob, name) for name in ("revoked", "ending")]
    invitation = replace(another_id(revoked, "i"), purpose=Purpose.INVITATION)
    await doors.keys.add(root, invitation, PROOF)
    session = await doors.session_of(root, key)
    await doors.keys.revoke(root, revoked.id, LATER)
    await doors.keys.expire(root, ending, LATER)

    nowhere = replace(revoked, id="nowhere")
    for opener in (revoked, ending, invitation, replace(session, opened_with=None), nowhere):
        with pytest.raises(KeyEnded):
            await doors.session_of(root, opener)

    assert await still_open(doors, root) == [session]


async def test_of_those_who_log_in_while_their_key_is_revoked_nobody_is_left_inside(
    doors: Doors, root: Principal, key: StoredKey
) -> None:
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

    assert await still_open(doors, root) == []


@pytest.mark.requirement("guard:spaces:walls")
async def test_a_session_belongs_to_a_key_of_the_same_holder_and_nothing_else_does(
    doors: Doors, root: Principal, key: StoredKey
) -> None:
    acme = await doors.founded("acme")
    eves = await doors.key_of(root, await doors.joined(root, "eve"))
    theirs = await doors.key_of(acme, await doors.joined(acme, "bob"))
    good = a_session(key)

    for odd in (
        *(replace(good, opened_with=OpenedWith(of, None)) for of in (eves.id, theirs.id, "none")),
        replace(good, opened_with=None),
        replace(good, expires_at=None),
        replace(good, purpose=Purpose.ACCESS),
    ):
        with pytest.raises(REFUSED):
            await doors.keys.add(root, odd, PROOF)

    await doors.keys.add(root, good, PROOF)


@pytest.mark.requirement("guard:spaces:walls")
async def test_a_key_speaks_for_whoever_its_own_space_trusts_it_with_and_nobody_else(
    doors: Doors, root: Principal, key: StoredKey
) -> None:
    acme, trusted = await doors.founded("acme"), doors.trusted
    assert await trusted.person(root, key.id) is None

    await trusted.trust(root, key.id, root.id)
    await trusted.trust(acme, key.id, None)
    assert await trusted.person(acme, key.id) is None
    assert await trusted.person(root, key.id) == root.id

    await trusted.trust(root, key.id, None)
    await trusted.trust(root, "nothing", root.id)
    for nobodys in (key.id, "nothing"):
        assert await trusted.person(root, nobodys) is None
    with pytest.raises(REFUSED):
        await trusted.trust(root, key.id, acme.id)
