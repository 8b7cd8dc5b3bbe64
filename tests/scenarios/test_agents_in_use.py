"""Agents in a running Portico: a model over HTTP, a real server of tools, and people in between."""

import time
from collections.abc import Iterator

import pytest

from tests.real_servers.gateway import said
from tests.scenarios.agent_house import AgentHouse, a_house
from tests.scenarios.scripted_model import calls, play, says

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
]

LEND = ("library__lend_book", {"book_id": "book-1"})


@pytest.fixture(scope="module")
def town() -> Iterator[AgentHouse]:
    with a_house() as house:
        house.agent("librarian", description="Finds and lends books.")
        yield house


@pytest.fixture(scope="module")
def exposed(town: AgentHouse) -> AgentHouse:
    """With a server whose tools are agents, and which somebody has approved: also for those who
    have read what a run was told, as the tests before have."""
    town.agent("scout", description="Looks for books.", exposed=True, tools=["library.find_*"])
    _until_there(town)
    town.gateway.approve("agents")
    rule = {"name": "agents-ask-agents", "decision": "allow", "tools": ["agents.*"]}
    town.ask("POST", "/policy/rules", {**rule, "tainted": True, "upto": "team"})
    return town


async def test_an_exposed_agent_is_a_tool_over_mcp_once_it_is_approved(
    exposed: AgentHouse,
) -> None:
    async with exposed.gateway.client() as client:
        wanted = {"tool": "agents.scout", "arguments": {"message": "Good day."}}
        result = await client.call_tool(exposed.gateway.verb("agents.scout"), wanted)

    assert not result.is_error, said(result)
    assert "You said: Good day." in said(result)


def test_what_an_agent_has_started_spends_what_is_left_and_is_stopped_with_it(
    exposed: AgentHouse,
) -> None:
    town = exposed
    town.agent("lender", description="Lends books.", exposed=True)
    town.agent("chief", description="Has others do it.", tools=["agents.*", "library.*"])
    _until_there(town, tool="agents.lender")
    town.gateway.accept("agents")
    inner = play(calls(LEND), says("Never."))
    run = town.start("chief", play(calls(("agents__lender", {"message": inner})), says("Never.")))
    its = _started_of(town, "lender")
    asked = town.waiting(its)
    town.ended(its, "waiting")

    limits = [town.ask("GET", f"/runs/{each}")["input"]["limits"] for each in (run, its)]
    town.ask("POST", f"/agents/runs/{run}/stop")

    assert town.ended(its)["run"]["status"] == "stopped"
    assert town.ended(run)["run"]["status"] == "stopped"
    assert town.ask("GET", f"/approvals/{asked['id']}")["status"] == "withdrawn"
    assert limits[1]["tokens"] < limits[0]["tokens"]
    assert limits[1]["turns"] == limits[0]["turns"]


def _started_of(town: AgentHouse, agent: str) -> str:
    until = time.monotonic() + 30
    while not (runs := town.ask("GET", f"/traces?agent={agent}")["data"]):
        assert time.monotonic() < until
        time.sleep(0.05)
    return str(runs[0]["run"])


def _until_there(town: AgentHouse, tool: str | None = None) -> None:
    until = time.monotonic() + 60
    while True:
        found = town.gateway.ask("GET", "/servers/agents")
        known = found.is_success and (tool is None or tool in town.gateway.tools("agents"))
        if known:
            return
        assert time.monotonic() < until, found.text
        time.sleep(0.1)
