"""What was started anew is looked at again, and whoever says that it has changed is, in time."""

import asyncio
from datetime import timedelta

import pytest

from portico.adapters.mcp.pace import Pace
from portico.adapters.mcp.pool import UpstreamPool
from portico.adapters.mcp.station import Station
from portico.adapters.mcp.telling import Telling
from portico.adapters.mcp.terms import Terms
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.server import Http
from portico.gateway.core.upstream import Phase, Target
from portico.kernel.ids import PrincipalId, SpaceId
from tests.adapters.mcp.pools import (
    AMPLE,
    HOME,
    Changes,
    a_pool,
    launched,
    target,
    together,
    until,
)
from tests.adapters.mcp.servers.everyday import Everyday
from tests.adapters.mcp.serving import served

pytestmark = pytest.mark.timeout(30)

PLAIN = target(launched("plain"))
RESTLESS = target(launched("restless"))
TOLD = (HOME, "server")


class Looker(Changes):
    """Looks at once, as the gateway does."""

    def __init__(self, pool: list[UpstreamPool], server: Target) -> None:
        super().__init__()
        self._pool = pool
        self._server = server

    async def __call__(self, space: SpaceId, server: str, login: PrincipalId | None) -> None:
        await super().__call__(space, server, login)
        await self._pool[0].look(self._server)


async def test_a_server_that_a_call_has_started_is_looked_at_once() -> None:
    entered: list[UpstreamPool] = []
    changes = Looker(entered, PLAIN)

    async with a_pool(changed=changes) as pool:
        entered.append(pool)
        await pool.call(PLAIN, "echo", {}, timeout=AMPLE)
        await until(lambda: changes.told)
        await pool.call(PLAIN, "sleep", {"seconds": 0.2}, timeout=AMPLE)

        assert changes.told == [TOLD]


async def test_a_server_that_is_started_again_is_looked_at_again() -> None:
    changes = Changes()

    async with a_pool(changed=changes) as pool:
        await pool.look(PLAIN)
        with pytest.raises(UpstreamDown):
            await pool.call(PLAIN, "die", {}, timeout=AMPLE)
        before = list(changes.told)
        await pool.call(PLAIN, "echo", {}, timeout=AMPLE)
        await until(lambda: changes.told)

    assert before == []
    assert changes.told == [TOLD]


async def test_a_new_session_over_http_is_looked_at() -> None:
    changes = Changes()
    app = Everyday().server().streamable_http_app()

    async with a_pool(changed=changes) as pool, served(app) as url:
        everyday = target(Http(f"{url}/mcp"))
        await pool.look(everyday)
        await pool.stop(HOME, "server")
        before = list(changes.told)
        await pool.call(everyday, "echo", {"text": ""}, timeout=AMPLE)
        await until(lambda: changes.told)
        await pool.stop(HOME, "server")

    assert before == []


async def test_a_look_that_started_the_server_is_enough() -> None:
    changes = Changes()

    async with a_pool(changed=changes) as pool:
        await together(pool.look(PLAIN), pool.call(PLAIN, "sleep", {"seconds": 0.3}, timeout=AMPLE))

    assert changes.told == []


async def test_a_look_that_was_given_up_is_not() -> None:
    changes = Changes()

    async with a_pool(changed=changes) as pool:
        look = asyncio.ensure_future(pool.look(target(launched("hung", "listless"))))
        await until(lambda: pool.vitals(HOME, "server").phase is Phase.RUNNING)
        look.cancel()
        await together(look)
        await until(lambda: changes.told)


async def test_to_look_is_not_to_use() -> None:
    async with a_pool(idle=timedelta(milliseconds=400)) as pool:
        await pool.call(PLAIN, "echo", {}, timeout=AMPLE)
        for _ in range(100):
            if pool.vitals(HOME, "server").phase is Phase.IDLE:
                break
            await pool.look(PLAIN)
            await asyncio.sleep(0.05)

        assert pool.vitals(HOME, "server").starts == 1
        assert pool.vitals(HOME, "server").phase is Phase.IDLE


async def test_a_server_that_changes_whenever_it_is_looked_at_is_put_to_sleep_and_stays_so() -> (
    None
):
    entered: list[UpstreamPool] = []
    changes = Looker(entered, RESTLESS)

    async with a_pool(changed=changes, idle=timedelta(milliseconds=600)) as pool:
        entered.append(pool)
        await pool.call(RESTLESS, "echo", {}, timeout=AMPLE)
        await until(lambda: len(changes.told) > 2)
        await until(lambda: pool.vitals(HOME, "server").phase is Phase.IDLE)
        await asyncio.sleep(0.5)

        assert pool.vitals(HOME, "server").starts == 1


async def test_of_a_server_that_has_ended_no_change_is_told() -> None:
    changes = Changes()
    telling = Telling(changes, Terms(settle=timedelta(0)), asyncio.ensure_future)
    station = Station(PLAIN)

    telling(station)
    assert station.telling is not None
    await station.telling

    assert changes.told == []
    assert station.changes == 0


async def test_a_server_that_lists_well_and_hangs_when_it_is_called_is_left_alone() -> None:
    entered: list[UpstreamPool] = []
    hung = target(launched("hung"))
    changes = Looker(entered, hung)

    async with a_pool(changed=changes) as pool:
        entered.append(pool)
        while pool.vitals(HOME, "server").phase is not Phase.RESTING:
            await together(pool.call(hung, "echo", {}, timeout=timedelta(milliseconds=200)))

        assert pool.vitals(HOME, "server").starts == 2

    assert len(changes.told) == 2


async def test_whoever_cannot_be_told_of_one_change_is_told_of_the_next() -> None:
    class Failing(Changes):
        async def __call__(self, space: SpaceId, server: str, login: PrincipalId | None) -> None:
            await super().__call__(space, server, login)
            if len(self.told) == 1:
                await pool.call(PLAIN, "grow", {}, timeout=AMPLE)
                raise RuntimeError("whoever is told is broken")

    changes = Failing()

    async with a_pool(changed=changes) as pool:
        await pool.look(PLAIN)
        await pool.call(PLAIN, "grow", {}, timeout=AMPLE)
        await until(lambda: len(changes.told) == 2)
        await asyncio.sleep(0.1)
        await pool.call(PLAIN, "grow", {}, timeout=AMPLE)
        await until(lambda: len(changes.told) == 3)


def test_changes_that_follow_each_other_are_looked_at_ever_less_often() -> None:
    pace, now, pauses = Pace(), 1_000.0, []
    for _ in range(11):
        now += pace.pause(now, 1.0)
        pauses.append(pace.last)
        pace.listed(now)
        now += 3.0

    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert pace.pause(now + 3_000, 1.0) == 1.0
