"""Real servers from npm and PyPI behind a real Portico, in their default profiles: started,
listed, found and called."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.installation import installation
from tests.real_servers.catalogue import RealServer, chosen, each_server
from tests.real_servers.gateway import Gateway, said
from tests.real_servers.install import install
from tests.real_servers.world import World, world

pytestmark = [pytest.mark.scenario, pytest.mark.postgres]


@dataclass(frozen=True)
class Hall:
    gateway: Gateway
    around: World


@pytest.fixture(scope="module")
def hall(request: pytest.FixtureRequest) -> Iterator[Hall]:
    """All of them added and approved."""
    shelves, servers = chosen(request.config)
    installed = install(shelves)
    with installation() as house, world(house.home.parent / "world") as around, house.serving():
        made = Hall(Gateway(house), around)
        for server in servers:
            made.gateway.add(
                server.name,
                [*installed.command(server), *around.fill(server.arguments)],
                environment=around.fill(server.environment),
                folder=around.folder,
            )
        made.gateway.approve(*(server.name for server in servers))
        yield made


@pytest.mark.requirement("gateway:servers:real")
@each_server
def test_it_is_started_and_listed(hall: Hall, server: RealServer) -> None:
    tools = hall.gateway.tools(server.name)
    confinement = hall.gateway.server(server.name)["confinement"]

    assert (confinement["hold"], confinement["stated"]) == ("boxed", False)
    assert tools[f"{server.name}.{server.example.tool}"]["standing"] == "live"
    assert {tool["standing"] for tool in tools.values()} == {"live"}


@pytest.mark.requirement("gateway:servers:real")
@each_server
async def test_a_question_finds_its_tool(hall: Hall, server: RealServer) -> None:
    async with hall.gateway.client() as client:
        found = await client.call_tool("search_tools", {"queries": [server.question]})

    assert f"{server.name}.{server.example.tool}" in said(found)


@pytest.mark.requirement("gateway:servers:real")
@each_server
async def test_it_is_called(hall: Hall, server: RealServer) -> None:
    tool = f"{server.name}.{server.example.tool}"
    arguments = hall.around.fill(server.example.arguments)

    async with hall.gateway.client() as client:
        called = await client.call_tool(
            hall.gateway.verb(tool), {"tool": tool, "arguments": arguments}
        )

    assert server.example.expected in said(called)
    assert bool(called.is_error) is server.example.fails
