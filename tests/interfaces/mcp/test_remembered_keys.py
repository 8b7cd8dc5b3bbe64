"""A key is looked at once a second, however often it comes; a refusal is never remembered."""

import asyncio

import pytest

from portico.guard.authentication import Entry
from portico.guard.core.errors import NotAuthenticated
from portico.interfaces.mcp.sessions import RememberedKeys
from tests.interfaces.mcp.gateway import entry


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
