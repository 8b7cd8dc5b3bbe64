"""The story of looking into servers that could not be asked."""

from dataclasses import replace

import pytest

from portico.gateway.core.server import Plain, Stdio
from portico.gateway.examine_servers import Examined, ExamineServers
from portico.gateway.manage_servers import ServerWish
from portico.guard.core.errors import NotPermitted
from portico.testing.upstreams import seen
from tests.gateway.server_room import MEMBER, READ, ROOT, Room

OLD = ["ModuleNotFoundError: No module named 'mcp.server.fastmcp'. This is mcp 2.x"]


async def ailing(room: Room, name: str = "db") -> None:
    launch = Stdio("uvx", (Plain("mcp-server-sqlite"),))
    server = await room.add_server(ROOT, ServerWish(name=name, launch=launch))
    await room.approve_launch(ROOT, name, server.launch_pin)
    async with room.servers.changing(ROOT, name) as now:
        await room.servers.put(ROOT, replace(now, failure="it ended"))


def examining(room: Room) -> ExamineServers:
    return ExamineServers(servers=room.servers, upstreams=room.upstreams, index=room.index_server)


async def test_one_that_does_not_start_is_told_with_its_mend() -> None:
    for mend in (True, False):
        room = Room()
        await ailing(room)
        room.upstreams.last_words["db"] = OLD

        [found] = [each async for each in examining(room)(ROOT, mend=mend)]

        assert found.server == "db", mend
        assert found.reason, mend
        assert "uvx --with 'mcp<2' mcp-server-sqlite" in (found.fix or ""), mend
        assert room.upstreams.stopped == ["db"], mend


async def test_one_that_starts_again_is_noted_only_when_mended() -> None:
    rows: list[tuple[bool, str | None]] = [(True, None), (False, "it ended")]

    for mend, failure in rows:
        room = Room()
        await ailing(room)
        room.upstreams.offers["db"] = seen(READ)

        found = [each async for each in examining(room)(ROOT, mend=mend)]

        assert found == [Examined(server="db")], mend
        assert (await room.servers.get(ROOT, "db")).failure == failure


async def test_one_that_nobody_lets_start_is_left_alone() -> None:
    room = Room()
    await ailing(room)
    await room.switch_server(ROOT, "db", enabled=False)

    assert [each async for each in examining(room)(ROOT, mend=True)] == []
    assert room.upstreams.looked == []


async def test_whoever_may_not_start_servers_examines_none() -> None:
    with pytest.raises(NotPermitted):
        await examining(Room()).ailing(MEMBER)
