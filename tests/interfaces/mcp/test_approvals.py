"""A call that somebody has to approve, or to log in for, as a model meets it, in both eras."""

from datetime import UTC, datetime
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.errors import LoginNeeded
from portico.gateway.ports import ClientChannel
from portico.guard.core.errors import ApprovalPending
from portico.kernel.json import JsonObject
from tests.interfaces.mcp.gateway import Site, hot_tool, said

URL = "https://login.example/authorize?state=s"
LOOK: dict[str, Any] = {"tool": "box.look", "arguments": {}}
APPROVAL = "apr_01m7fxv1skfhf86xxtf6psvgnn"
UNTIL = datetime(2026, 1, 1, tzinfo=UTC)
SEND: dict[str, Any] = {"tool": "box.send", "arguments": {"to": "bob"}}


async def waits(_arguments: JsonObject, line: ClientChannel) -> ToolResult:
    await line.progress(1, 20, "waiting for somebody to approve box.send")
    raise ApprovalPending("box.send", APPROVAL, UNTIL)


@pytest.fixture
def asked(site: Site) -> Site:
    site.gateway.tools["send"] = waits
    return site


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def facts_of(result: types.CallToolResult) -> dict[str, Any]:
    facts: dict[str, Any] | None = result.structured_content
    assert facts is not None
    return facts


async def call(client: Client, name: str, given: dict[str, Any]) -> tuple[Any, list[str]]:
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(str(message))

    return await client.call_tool(name, given, progress_callback=hear), told


async def test_a_call_that_waits_is_no_failure_and_says_how_to_go_on(asked: Site, era: str) -> None:
    async with asked.client(era) as client:
        result, told = await call(client, "call_destructive", SEND)

    assert not result.is_error
    assert result.structured_content == {
        "status": "approval_pending",
        "approval": APPROVAL,
        "tool": "box.send",
        "expires_at": "2026-01-01T00:00:00+00:00",
        "ask_again": {"same_call": True, "read_result": {"result": APPROVAL}},
    }
    words = text_of(result)
    assert "has not been called" in words
    assert f'read_result with result "{APPROVAL}"' in words
    assert told == ["waiting for somebody to approve box.send"]


async def test_its_result_is_read_by_its_number_with_no_tool_more(asked: Site, era: str) -> None:
    async def approved(_arguments: JsonObject, _line: ClientChannel) -> ToolResult:
        return said("sent")

    asked.gateway.tools["approved"] = approved
    async with asked.client(era) as client:
        result = await client.call_tool("read_result", {"result": APPROVAL})

    assert text_of(result) == "sent"
    assert asked.gateway.asked[-1] == ("approved", "ana", APPROVAL)


async def test_a_number_that_still_waits_is_answered_like_the_call(asked: Site, era: str) -> None:
    asked.gateway.tools["approved"] = waits

    async with asked.client(era) as client:
        result = await client.call_tool("read_result", {"result": APPROVAL})

    assert facts_of(result)["status"] == "approval_pending"


async def test_what_is_no_number_is_refused(asked: Site, era: str) -> None:
    async with asked.client(era) as client:
        result = await client.call_tool("read_result", {"result": "apr_nothing"})

    assert result.is_error
    assert "bad_id" in text_of(result)


async def test_a_tool_that_is_used_often_waits_in_the_same_way(asked: Site, era: str) -> None:
    asked.gateway.hot.append(hot_tool("send"))

    async with asked.client(era) as client:
        result = await client.call_tool("box__send", {"to": "bob"})

    assert facts_of(result)["approval"] == APPROVAL


async def test_at_the_door_of_one_server_there_is_no_tool_to_ask_with(
    asked: Site, era: str
) -> None:
    async with asked.client(era, path="/mcp/servers/box") as client:
        result = await client.call_tool("send", {"to": "bob"})

    assert not result.is_error
    assert facts_of(result)["ask_again"] == {"same_call": True}
    assert "read_result" not in text_of(result)


async def test_a_client_that_was_promised_a_form_is_not_given_another(
    asked: Site, era: str
) -> None:
    form: JsonObject = {
        "type": "object",
        "properties": {"sent": {"type": "boolean"}},
        "required": ["sent"],
    }
    asked.gateway.promises["send"] = form

    async with asked.client(era, path="/mcp/servers/box") as client:
        await client.list_tools()
        result = await client.call_tool("send", {"to": "bob"})

    assert result.is_error
    assert result.structured_content is None
    assert (result.meta or {})["portico/approval"]["approval"] == APPROVAL


async def needs_login(_arguments: JsonObject, _line: ClientChannel) -> ToolResult:
    raise LoginNeeded("box", "ana", URL, UNTIL)


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

    async def show(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        shown.append(params)
        return types.ElicitResult(action="accept")

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
