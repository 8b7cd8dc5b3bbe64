"""A server's way into the catalogue, over doors in memory and over a real database alike."""

import pytest

from portico.gateway.approve_server import AcceptTools, ApproveLaunch, ReviewServers
from portico.gateway.core.acceptance import Proposed, look_pin
from portico.gateway.core.client_files.wish import Wish
from portico.gateway.core.reconciling import Fate
from portico.gateway.core.server import FromEnvironment, FromFile, Plain, Stdio, Template
from portico.gateway.core.shipped_effects import ShippedEffects
from portico.gateway.core.tool import Standing
from portico.gateway.house import house
from portico.gateway.index_server import IndexServer
from portico.gateway.manage_servers import ListServers
from portico.gateway.reconcile_servers import ReconcileServers
from portico.kernel.json import JsonObject
from portico.testing.kernel import SeededEntropy
from portico.testing.upstreams import ScriptedUpstreams, seen
from portico.testing.walls import ScriptedWalls
from tests.contracts.doors import Doors
from tests.gateway.server_room import READ, WRITE, Letters, raw

FILE = "/home/ana/.mcp.json"
WISH = Wish(
    name="files",
    called="Files!",
    where="/mcpServers/Files!",
    launch=Stdio(
        "npx",
        (Plain("-y"), FromEnvironment("HOME", "")),
        {"KEY": FromFile(FILE, "/a~1b"), "AUTH": Template(("Bearer ", FromEnvironment("T")))},
    ),
)
ODD: JsonObject = {
    **raw("odd_numbers"),
    "_meta": {"a": 1.0, "b": 1e16, "c": 2**70, "d": -0.0, "e": [1e-7, 0.1, True, 1]},
}


class Story:
    def __init__(self, doors: Doors) -> None:
        self.upstreams = ScriptedUpstreams(offers={"files": seen(READ, WRITE, ODD)})
        servers, tools, bus, clock = doors.servers, doors.tools, doors.bus, doors.clock
        walls, audit = ScriptedWalls(), doors.audit
        self.reconcile = ReconcileServers(
            servers=servers,
            together=doors.together,
            audit=audit,
            upstreams=self.upstreams,
            bus=bus,
            clock=clock,
            entropy=SeededEntropy(),
        )
        self.index = IndexServer(
            servers=servers,
            tools=tools,
            upstreams=self.upstreams,
            audit=audit,
            tokenizer=Letters(),
            bus=bus,
            clock=clock,
        )
        self.approve = ApproveLaunch(
            servers=servers, walls=walls, audit=audit, bus=bus, clock=clock
        )
        self.accept = AcceptTools(
            servers=servers,
            tools=tools,
            audit=audit,
            shipped=ShippedEffects(),
            bus=bus,
            clock=clock,
        )
        self.list = ListServers(servers=servers, tools=tools, upstreams=self.upstreams, walls=walls)
        self.review = ReviewServers(
            servers=servers, tools=tools, walls=walls, shipped=ShippedEffects()
        )


async def test_a_server_comes_out_of_a_file_and_its_tools_into_the_catalogue(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    story, worker = Story(doors), house(root.space)

    added = await story.reconcile(worker, FILE, [WISH])
    [review] = await story.review(root)
    await story.approve(root, "files", review.server.launch_pin)
    await story.index(worker, "files")
    pin = look_pin(await doors.servers.get(root, "files"))
    await story.accept(root, "files", pin, Proposed.ALL)
    [look] = await story.list(root)

    assert added == {"files": Fate.ADDED}
    assert look.tools == {Standing.LIVE: 3}
    assert await story.reconcile(worker, FILE, [WISH]) == {}


async def test_what_is_seen_again_as_it_was_is_no_change_to_whatever_keeps_it(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    story, worker = Story(doors), house(root.space)
    await story.reconcile(worker, FILE, [WISH])
    [server] = await doors.servers.all(root)
    await story.approve(root, "files", server.launch_pin)
    first = await story.index(worker, "files")
    pin = look_pin(await doors.servers.get(root, "files"))
    await story.accept(root, "files", pin, Proposed.READS)

    again = await story.index(worker, "files")
    story.upstreams.offers["files"] = seen(READ, raw("write_file", "Otherwise."), ODD)
    other = await story.index(worker, "files")

    assert (first.changed, again.changed, other.changed) == (True, False, True)
    [look] = await story.list(root)
    assert look.tools == {Standing.LIVE: 2, Standing.CHANGED: 1}


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_same_file_makes_servers_of_its_own_in_each_space(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    story = Story(doors)

    for root in (home, acme):
        await story.reconcile(house(root.space), FILE, [WISH])
    await story.reconcile(house(acme.space), FILE, [])

    [one], [other] = await doors.servers.all(home), await doors.servers.all(acme)
    assert (one.gone_at is None, other.gone_at is None) == (True, False)
    assert one.id != other.id
