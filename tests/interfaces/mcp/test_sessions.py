"""Sessions of the handshake era, whose they are and when they end; and the header that says which
task a request is part of, in both eras."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest

from portico.guard.authentication import Entry
from portico.guard.core.errors import NotAuthenticated
from portico.interfaces.mcp.request_context import TooManySessions
from portico.interfaces.mcp.sessions import RememberedKeys, Sessions
from portico.kernel.ids import ContextId
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.interfaces.mcp.gateway import Gateway, Site, entry, serving, until
from tests.interfaces.mcp.wire import BOTH, greet, legacy, modern

TASK = str(ContextId.mint(BEGINNING, SeededEntropy("task")))


def sessions(site: Site) -> Sessions:
    return site.face._sessions


async def opened(site: Site, *, key: str = "ana", path: str = "/mcp") -> str:
    answer = await greet(site, key=key, path=path)
    assert answer.status_code == 200
    return answer.headers["mcp-session-id"]


@asynccontextmanager
async def listening(site: Site, session: str, key: str = "ana") -> AsyncIterator[httpx2.Response]:
    headers = {"Accept": "text/event-stream", "Mcp-Session-Id": session}
    async with site.http(key) as http, http.stream("GET", "/mcp", headers=headers) as answer:
        yield answer


async def test_a_session_serves_the_key_that_opened_it(site: Site) -> None:
    session = await opened(site)

    answer = await legacy(site, session, "tools/list")

    assert answer.status_code == 200
    assert "search_tools" in answer.text


async def test_to_another_key_or_at_another_door_there_is_no_such_session(site: Site) -> None:
    session = await opened(site)

    others = await legacy(site, session, "tools/list", key="bob")
    elsewhere = await legacy(site, session, "tools/list", path="/mcp/servers/box")
    unknown = await legacy(site, "0" * 32, "tools/list")

    assert [others.status_code, elsewhere.status_code] == [404, 404]
    assert others.json() == elsewhere.json() == unknown.json()
    assert (await legacy(site, session, "tools/list")).status_code == 200


async def test_nobody_else_can_listen_to_it(site: Site) -> None:
    session = await opened(site)

    async with listening(site, session, key="bob") as answer:
        assert answer.status_code == 404


async def test_deleting_it_ends_it(site: Site) -> None:
    session = await opened(site)
    async with site.http() as http:
        gone = await http.delete("/mcp", headers={"Mcp-Session-Id": session})

    assert gone.status_code == 200
    assert (await legacy(site, session, "ping")).status_code == 404
    assert len(sessions(site)) == 0


async def test_what_is_no_handshake_opens_none(site: Site) -> None:
    async with site.http() as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        refused = await http.post("/mcp", json=body, headers=BOTH)

    assert refused.status_code == 400
    assert len(sessions(site)) == 0


async def test_the_one_that_was_left_longest_makes_room(site: Site) -> None:
    sessions(site).most_of_one = 2
    first, second = await opened(site), await opened(site)
    await legacy(site, first, "ping")

    third = await opened(site)

    found = [(await legacy(site, each, "ping")).status_code for each in (first, second, third)]
    assert found == [200, 404, 200]


async def test_one_in_use_is_not_taken_away_and_others_have_room_of_their_own(site: Site) -> None:
    sessions(site).most_of_one = 1
    first = await opened(site)
    async with listening(site, first) as answer:
        assert answer.status_code == 200
        assert (await greet(site)).status_code == 429
        assert (await legacy(site, first, "ping")).status_code == 200
        bobs = await opened(site, key="bob")
        assert (await legacy(site, bobs, "ping", key="bob")).status_code == 200


async def test_when_all_are_in_use_there_is_no_room(site: Site) -> None:
    sessions(site).limit = 1
    first = await opened(site)
    async with listening(site, first):
        refused = await greet(site)

    assert refused.status_code == 429
    assert refused.json()["code"] == TooManySessions.code


async def test_one_that_nobody_uses_ends_by_itself(site: Site) -> None:
    sessions(site).idle = 0.05
    session = await opened(site)
    await until(lambda: not len(sessions(site)))

    assert (await legacy(site, session, "ping")).status_code == 404


async def test_there_is_no_session_with_a_server_that_is_not_there(site: Site) -> None:
    answer = await greet(site, path="/mcp/servers/nope")

    assert answer.status_code == 404
    assert answer.json()["code"] == "server_not_found"


@dataclass
class Noting(Gateway):
    tasks: list[ContextId | None] = field(default_factory=list)
    """Of whoever asked for the list of tools."""

    async def _surface(self, caller: Principal) -> object:
        self.tasks.append(caller.context)
        return await super()._surface(caller)


async def test_a_request_of_the_later_era_is_part_of_the_task_that_it_names() -> None:
    gateway = Noting()

    async with serving(gateway) as site:
        named = await modern(site, "tools/list", {}, more={"Portico-Context": TASK})
        unnamed = await modern(site, "tools/list", {})

    assert (named.status_code, unnamed.status_code) == (200, 200)
    assert gateway.tasks == [ContextId.parse(TASK), None]


async def test_a_session_belongs_to_the_task_that_it_was_opened_in(site: Site) -> None:
    session = await opened(site)

    outside = await legacy(site, session, "tools/list", more={"Portico-Context": TASK})

    assert outside.status_code == 404
    assert (await legacy(site, session, "tools/list")).status_code == 200


async def test_what_is_no_task_is_refused(site: Site) -> None:
    answer = await modern(site, "tools/list", {}, more={"Portico-Context": "quarter"})

    assert (answer.status_code, answer.json()["code"]) == (422, "bad_id")


# A key is looked at once a second, however often it comes; a refusal is never remembered.


class Ring:
    def __init__(self) -> None:
        self.good = {"ana"}
        self.looks = 0
        self.now = 100.0
        self.slow: asyncio.Event | None = None
        self.keys = RememberedKeys(self.authenticate, now=lambda: self.now)

    async def authenticate(self, shown: str) -> Entry:
        self.looks += 1
        if self.slow is not None:
            await self.slow.wait()
        if shown not in self.good:
            raise NotAuthenticated
        return entry(shown, 1)


async def test_it_is_looked_at_once_in_a_while() -> None:
    ring = Ring()
    for _ in range(100):
        assert (await ring.keys("ana")).key_id == "ana"

    assert ring.looks == 1


async def test_a_revoked_key_opens_for_a_second_at_most() -> None:
    ring = Ring()
    await ring.keys("ana")
    ring.good.clear()

    ring.now += 0.4
    await ring.keys("ana")
    ring.now += 0.6
    with pytest.raises(NotAuthenticated):
        await ring.keys("ana")
    with pytest.raises(NotAuthenticated):
        await ring.keys("ana")


async def test_one_looks_again_early_while_the_others_go_on() -> None:
    ring = Ring()
    await ring.keys("ana")
    ring.now += 0.6
    ring.slow = asyncio.Event()

    looking = asyncio.ensure_future(ring.keys("ana"))
    await asyncio.sleep(0)
    others = [await ring.keys("ana") for _ in range(5)]

    assert len(others) == 5
    assert ring.looks == 2
    ring.slow.set()
    await looking


async def test_whoever_was_refused_may_be_right_the_next_time() -> None:
    ring = Ring()
    with pytest.raises(NotAuthenticated):
        await ring.keys("bob")
    ring.good.add("bob")

    assert (await ring.keys("bob")).key_id == "bob"


async def test_a_look_that_was_broken_off_is_no_answer() -> None:
    ring = Ring()
    ring.slow = asyncio.Event()
    looking = asyncio.ensure_future(ring.keys("ana"))
    await asyncio.sleep(0)
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking
    ring.slow.set()

    assert (await ring.keys("ana")).key_id == "ana"
    assert ring.looks == 2
