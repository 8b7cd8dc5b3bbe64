"""A call that needs a login first, as a model and a client meet it: in both eras."""

from datetime import UTC, datetime
from typing import Any

import pytest
from mcp_types import ElicitRequestParams, ElicitResult

from portico.gateway.core.call import Answer
from portico.gateway.core.errors import LoginNeeded
from portico.gateway.ports import Line
from portico.kernel.json import JsonObject
from tests.faces.mcp.gateway import Site
from tests.faces.mcp.test_approvals import text_of

URL = "https://login.example/authorize?state=s"
LOOK: dict[str, Any] = {"tool": "box.look", "arguments": {}}


async def needs_login(_arguments: JsonObject, _line: Line) -> Answer:
    raise LoginNeeded("box", "ana", URL, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def shut(site: Site) -> Site:
    site.gateway.tools["look"] = needs_login
    return site


async def test_a_model_is_given_the_link_to_pass_on(shut: Site, era: str) -> None:
    async with shut.client(era) as client:
        result = await client.call_tool("call_read", LOOK)

    assert not result.is_error
    assert result.structured_content == {
        "status": "login_needed",
        "server": "box",
        "login_url": URL,
        "expires_at": "2026-01-01T00:00:00+00:00",
        "ask_again": {"same_call": True},
    }
    assert URL in text_of(result)


async def test_a_client_that_shows_links_itself_is_asked_to(shut: Site, era: str) -> None:
    shown: list[Any] = []

    async def show(_context: Any, params: ElicitRequestParams) -> ElicitResult:
        shown.append(params)
        return ElicitResult(action="accept")

    async with shut.client(era, elicitation_callback=show) as client:
        result = await client.call_tool("call_read", LOOK)

    assert result.structured_content["status"] == "login_needed"
    assert [getattr(params, "url", None) for params in shown] == [URL]
    assert shown[0].mode == "url"


async def test_a_tool_that_promised_a_form_gives_an_error_instead(shut: Site, era: str) -> None:
    shut.gateway.promises["look"] = {"type": "object"}

    async with shut.client(era, path="/mcp/servers/box") as client:
        result = await client.call_tool("look", {})

    assert result.is_error
    assert URL in text_of(result)
