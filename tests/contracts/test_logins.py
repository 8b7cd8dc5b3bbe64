"""Tokens and logins, wherever they are kept: each person's own, once, and nobody else's."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from portico.gateway.core.servers import Http
from portico.guard.core.errors import NameTaken
from portico.guard.core.keys import ApiKey, Purpose, StoredKey
from portico.guard.core.oauth_logins import (
    Attempt,
    ClientRegistration,
    LoginClient,
    LoginPlace,
    Tokens,
    digest_of,
)
from portico.guard.core.principals import Scope
from portico.kernel.principal import Principal
from portico.testing.gateway import a_server
from portico.testing.guard import a_space, an_identity
from portico.testing.memory_store import BEGINNING, SeededEntropy
from portico.testing.secrets import SIGN_IN
from tests.contracts.doors import REFUSED, Doors

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EARLY = NOW - timedelta(minutes=1)
URL = "https://tools.example/mcp"
KNOWN = ClientRegistration(
    server=SIGN_IN, client_id="c", secret="hush", method="none", resource=URL
)


def tokens(name: str) -> Tokens:
    return Tokens(
        access=f"access of {name}",
        refresh="r",
        expires_at=NOW,
        scope="x",
        url=URL,
        known=KNOWN,
    )


async def a_town(doors: Doors) -> tuple[Principal, LoginPlace, LoginPlace]:
    """An admin, and two people with a server that they could log in to."""
    root = await doors.founded("home")
    server = a_server("tools", launch=Http(URL))
    await doors.servers.add(root, server)
    places = []
    for name in ("ana", "ben"):
        who = await doors.joined(root, name)
        places.append(
            LoginPlace(space=root.space, principal=who.id, server=server.id, name="tools", url=URL)
        )
    return root, places[0], places[1]


def begun(place: LoginPlace, expires_at: datetime = NOW) -> Attempt:
    return Attempt(
        place=place,
        verifier="v",
        redirect_url="https://us/cb",
        known=KNOWN,
        scope="x",
        expires_at=expires_at,
    )


async def test_the_latest_login_is_there_for_whoever_it_is_and_nobody_else(doors: Doors) -> None:
    """Until it is forgotten or its server goes."""
    root, ana, ben = await a_town(doors)
    logins = doors.logins
    await logins.put(ana, tokens("ana"))
    assert await logins.get(ana) == tokens("ana")
    assert await logins.get(ben) is None

    await logins.put(ben, tokens("ben"))
    plain = replace(tokens("ana"), expires_at=None, refresh=None, access="another")
    await logins.put(ana, plain)
    assert await logins.get(ana) == plain
    assert await logins.get(ben) == tokens("ben")
    with pytest.raises(REFUSED):
        await logins.put(replace(ana, server=a_server("other").id), tokens("ana"))

    assert await logins.forget(ana)
    assert not await logins.forget(ana)
    assert await logins.get(ana) is None
    await doors.servers.remove(root, (await doors.servers.get(root, "tools")).id)
    assert await logins.get(ben) is None


async def test_only_one_changes_a_login_at_a_time(doors: Doors) -> None:
    _, ana, ben = await a_town(doors)
    await doors.logins.put(ana, tokens("0"))

    async def renew() -> None:
        async with doors.logins.holding(ana) as held:
            assert held is not None
            number = int(held.access.rpartition(" ")[2])
            await asyncio.sleep(0.01)
            await doors.logins.put(ana, tokens(str(number + 1)))

    await asyncio.gather(*(renew() for _ in range(5)))

    assert await doors.logins.get(ana) == tokens("5")
    async with doors.logins.holding(ben) as nothing:
        assert nothing is None


async def test_what_was_begun_is_taken_once_and_in_time(doors: Doors) -> None:
    _, ana, ben = await a_town(doors)
    logins = doors.logins
    for name, place in (("a", ana), ("b", ben), ("late", ana)):
        await logins.put_attempt(digest_of(name), begun(place))

    assert await logins.take(digest_of("nobody's"), EARLY) is None
    assert await logins.find(digest_of("a"), NOW) is None
    seen = await logins.find(digest_of("a"), EARLY)
    taken = await logins.take(digest_of("a"), EARLY)
    assert seen == taken
    assert taken is not None
    assert (taken.place.principal, taken.place.name) == (ana.principal, "tools")
    assert (taken.verifier, taken.known) == ("v", KNOWN)
    for ask in (logins.find, logins.take):
        assert await ask(digest_of("a"), EARLY) is None
    for when in (NOW, EARLY):
        assert await logins.take(digest_of("late"), when) is None


async def test_of_what_one_person_has_begun_only_the_latest_few_stay(doors: Doors) -> None:
    _, ana, ben = await a_town(doors)
    await doors.logins.put_attempt(digest_of("ben's"), begun(ben))
    for number in range(6):
        await doors.logins.put_attempt(digest_of(str(number)), begun(ana))

    found = [await doors.logins.take(digest_of(str(number)), EARLY) for number in range(6)]

    assert [each is not None for each in found] == [False, False, True, True, True, True]
    assert await doors.logins.take(digest_of("ben's"), EARLY) is not None


async def test_what_we_are_known_as_is_kept_for_everybody_of_a_space(doors: Doors) -> None:
    root, ana, _ = await a_town(doors)
    clients, elsewhere = doors.login_clients, await doors.founded("elsewhere")
    client = LoginClient(
        url=URL, issuer="https://login.example", client_id="c", secret="hush", configured=True
    )

    for known in (client, replace(client, secret=None, secret_reference="secret:x")):
        await clients.put(root, ana.server, known)
        assert await clients.get(ana.holder, ana.server) == known
    assert await clients.get(elsewhere, ana.server) is None

    await clients.remove(root, ana.server)
    assert await clients.get(root, ana.server) is None


async def test_somebody_who_was_made_for_a_subject_is_found_by_it(
    doors: Doors, root: Principal
) -> None:
    space = a_space("home")
    zoe, twin = an_identity("zoe", space=space), an_identity("zoe-2", space=space)

    assert await doors.subjects.bound(root, "i", "s") is None
    assert await doors.subjects.bind(root, zoe, "i", "s") == zoe
    assert await doors.subjects.bind(root, twin, "i", "s") == zoe
    assert await doors.subjects.bound(root, "i", "s") == zoe
    assert await doors.subjects.bound(root, "i", "t") is None
    assert await doors.subjects.named(root, "zoe") == zoe
    assert await doors.subjects.named(root, "zoe-2") is None
    with pytest.raises(NameTaken):
        await doors.subjects.bind(root, an_identity("zoe", space=space), "i", "t")


async def test_a_grant_is_written_down_once(doors: Doors, root: Principal) -> None:
    ana = await doors.joined(root, "ana")
    grant = StoredKey(
        id=ApiKey.mint(SeededEntropy("grant")).id,
        space=root.space,
        principal=ana.id,
        purpose=Purpose.ACCESS,
        name="token",
        scopes=frozenset({Scope.TOOLS_READ}),
        clearance=ana.clearance,
        created_at=BEGINNING,
    )

    await doors.subjects.grant(root, grant, bytes(32))
    await doors.subjects.grant(root, replace(grant, name="another"), bytes(32))

    found = await doors.key_ring.find(grant.id)
    assert found is not None
    assert found.key == grant
