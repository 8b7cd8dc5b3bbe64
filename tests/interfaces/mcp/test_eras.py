"""What the official client sees of us, in either era."""

import asyncio
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from portico.gateway.core.calls import ClientCapability, Question, ToolResult, Verb
from portico.gateway.core.errors import InputRefused
from portico.gateway.core.resources_and_prompts import Offers
from portico.gateway.ports import ClientChannel
from portico.kernel.json import JsonObject
from tests.interfaces.mcp.gateway import Site, Tool, hot_tool, said

FORM: JsonObject = {
    "message": "Your name?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    },
}
SAMPLE: JsonObject = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Say hello"}}],
    "maxTokens": 10,
}


async def echo(arguments: JsonObject, _line: ClientChannel) -> ToolResult:
    return said(str(arguments.get("text", "")))


async def asks_a_name(_arguments: JsonObject, line: ClientChannel) -> ToolResult:
    answer = await line.ask(Question(ClientCapability.ELICITATION, FORM))
    return said(str(answer["content"]))


async def called(
    site: Site, era: str, tool: Tool, arguments: JsonObject | None = None, **more: Any
) -> dict[str, Any]:
    """What a client of the era is told by that tool."""
    site.gateway.tools["tried"] = tool
    async with site.client(era, **more) as client:
        given = {"tool": "box.tried", "arguments": arguments or {}}
        result = await client.call_tool("call_read", given)
    dumped: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped


def text(told: dict[str, Any]) -> str:
    found: str = told["content"][0]["text"]
    return found


async def ana(_context: Any, _params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ana"})


async def test_both_eras_are_spoken(site: Site, era: str) -> None:
    async with site.client(era) as client:
        version = client.session.protocol_version
        server = client.session.server_info

    assert version == ("2025-11-25" if era == "legacy" else "2026-07-28")
    assert server is not None
    assert (server.name, server.version) == ("portico", "1.2.3")


async def test_the_list_is_the_ten_tools_and_the_hot_ones_with_hints_that_a_screen_can_use(
    site: Site, era: str
) -> None:
    site.gateway.hot.append(hot_tool("echo"))
    async with site.client(era) as client:
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}

    assert list(tools) == [
        "search_tools",
        "describe_tools",
        "call_read",
        "call_write",
        "call_destructive",
        "read_result",
        "run_workflow",
        "workflow_status",
        "run_program",
        "feedback",
        "box__echo",
    ]
    hints = {
        name: None if told is None else (told.read_only_hint, told.destructive_hint)
        for name, told in tools.items()
    }
    assert hints["call_read"] == (True, None)
    assert hints["call_write"] == hints["feedback"] == (None, False)
    assert hints["call_destructive"] == hints["run_workflow"] == (None, True)
    assert hints["workflow_status"] == (True, None)


async def test_a_call_goes_to_its_tool_through_its_verb(site: Site, era: str) -> None:
    told = await called(site, era, echo, {"text": "hi"})

    assert [block["text"] for block in told["content"]] == ["hi"]
    expected = ("call", "ana", "box.tried", {"text": "hi"}, Verb.READ, False)
    assert site.gateway.asked[-1] == expected


async def test_a_hot_tool_is_called_by_its_listed_name(site: Site, era: str) -> None:
    site.gateway.tools["echo"] = echo
    site.gateway.hot.append(hot_tool("echo"))
    async with site.client(era) as client:
        await client.call_tool("box__echo", {"text": "hi"})

    expected = ("call", "ana", "box.echo", {"text": "hi"}, None, False)
    assert site.gateway.asked[-1] == expected


async def test_all_that_a_tool_gives_comes_back_as_it_was(site: Site, era: str) -> None:
    content: list[JsonObject] = [
        {"type": "text", "text": "one", "annotations": {"priority": 0.5}},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
    ]

    async def rich(_arguments: JsonObject, _line: ClientChannel) -> ToolResult:
        return ToolResult(content, {"n": 1}, failed=True, meta={"sandbox/trace": "t1"})

    told = await called(site, era, rich)

    assert (told["content"], told["structuredContent"]) == (content, {"n": 1})
    assert told["isError"]
    assert told["_meta"]["sandbox/trace"] == "t1"


async def test_a_refusal_is_a_result_that_says_how_to_mend_it(site: Site, era: str) -> None:
    async with site.client(era) as client:
        result = await client.call_tool("call_read", {"tool": "box.nope"})

    told = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    assert told["isError"]
    assert told["content"][0]["text"].startswith("tool_not_found: There is no tool 'box.nope'.")
    assert "search_tools" in told["content"][0]["text"]
    assert told["_meta"]["portico/error"]["code"] == "tool_not_found"


async def test_progress_reaches_whoever_asked_for_it(site: Site, era: str) -> None:
    async def steps(_arguments: JsonObject, line: ClientChannel) -> ToolResult:
        await line.progress(1, 2, "half")
        await line.progress(2, 2, None)
        return said("done")

    heard: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    site.gateway.tools["steps"] = steps
    async with site.client(era) as client:
        await client.call_tool("call_read", {"tool": "box.steps"}, progress_callback=on_progress)
        silent = await client.call_tool("call_read", {"tool": "box.steps"})

    assert heard == [(1, 2, "half"), (2, 2, None)]
    assert silent.content


async def test_a_log_line_reaches_whoever_wants_such_lines(site: Site, era: str) -> None:
    async def logs(_arguments: JsonObject, line: ClientChannel) -> ToolResult:
        await line.log({"level": "debug", "data": "small"})
        await line.log({"level": "error", "data": "large", "logger": "box"})
        return said("done")

    heard: list[Any] = []

    async def logging(params: types.LoggingMessageNotificationParams) -> None:
        heard.append((params.level, params.data, params.logger))

    site.gateway.tools["logs"] = logs
    modern = {"log_level": "warning"} if era != "legacy" else {}
    async with site.client(era, logging_callback=logging, **modern) as client:
        if era == "legacy":
            request = types.SetLevelRequest(params=types.SetLevelRequestParams(level="warning"))
            await client.session.send_request(request, types.EmptyResult)
        await client.call_tool("call_read", {"tool": "box.logs"})

    assert heard == [("error", "large", "box")]


async def test_a_servers_question_is_put_to_the_clients_user(site: Site, era: str) -> None:
    told = await called(site, era, asks_a_name, elicitation_callback=ana)

    assert text(told) == "{'name': 'Ana'}"


async def test_it_may_ask_again_and_several_things_at_once(site: Site, era: str) -> None:
    async def asks(_arguments: JsonObject, line: ClientChannel) -> ToolResult:
        first = await line.ask(Question(ClientCapability.ROOTS, {}))
        both = await asyncio.gather(
            line.ask(Question(ClientCapability.ELICITATION, FORM)),
            line.ask(Question(ClientCapability.SAMPLING, SAMPLE)),
        )
        return said(f"{first['roots']} {[sorted(each) for each in both]}")

    async def roots(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///project"}]})

    async def sampled(_context: Any, _params: Any) -> types.CreateMessageResult:
        content = types.TextContent(type="text", text="hello")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    able: dict[str, Any] = {"sampling_callback": sampled, "list_roots_callback": roots}
    said_ = text(await called(site, era, asks, elicitation_callback=ana, **able))

    assert said_.startswith("[{'uri': 'file:///project'}]")
    assert "'action'" in said_
    assert "'model'" in said_


async def test_a_client_is_not_asked_what_it_cannot_answer(site: Site, era: str) -> None:
    able: list[object] = []

    async def asks(arguments: JsonObject, line: ClientChannel) -> ToolResult:
        able.append(set(line.able))
        return await asks_a_name(arguments, line)

    if era == "legacy":
        assert "input_unsupported" in text(await called(site, era, asks))
    else:
        site.gateway.tools["asks"] = asks
        async with site.client(era) as client:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("call_read", {"tool": "box.asks"})
        assert refused.value.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
        assert refused.value.data["requiredCapabilities"] == {"elicitation": {}}

    assert able == [set()]


async def test_a_client_that_cannot_answer_after_all_is_told_to_the_server(site: Site) -> None:
    async def asks(arguments: JsonObject, line: ClientChannel) -> ToolResult:
        try:
            return await asks_a_name(arguments, line)
        except InputRefused as refused:
            return said(f"refused: {refused.reason}")

    async def no(_context: Any, _params: Any) -> types.ErrorData:
        return types.ErrorData(code=-1, message="User rejected")

    told = await called(site, "legacy", asks, elicitation_callback=no)

    assert text(told) == "refused: User rejected"


async def test_a_question_that_the_clients_version_does_not_know_is_not_put(site: Site) -> None:
    async def asks(_arguments: JsonObject, line: ClientChannel) -> ToolResult:
        await line.ask(Question(ClientCapability.ELICITATION, {"requestedSchema": "none"}))
        return said("never")

    told = await called(site, "legacy", asks, elicitation_callback=ana)

    assert "input_unsupported" in text(told)


async def test_giving_up_on_a_call_cancels_it(site: Site, era: str) -> None:
    cancelled = asyncio.Event()

    async def slow(_arguments: JsonObject, _line: ClientChannel) -> ToolResult:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return said("never")

    site.gateway.tools["slow"] = slow
    async with site.client(era) as client:
        with pytest.raises(MCPError):
            await client.call_tool("call_read", {"tool": "box.slow"}, read_timeout_seconds=0.1)
        await asyncio.wait_for(cancelled.wait(), 30)


async def test_what_breaks_inside_is_told_without_what_it_was(
    site: Site, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_arguments: JsonObject, _line: ClientChannel) -> ToolResult:
        raise RuntimeError("a secret detail")

    site.gateway.tools["broken"] = broken
    async with site.client(era) as client:
        with pytest.raises(MCPError) as told:
            await client.call_tool("call_read", {"tool": "box.broken"})

    assert told.value.code == types.INTERNAL_ERROR
    assert "secret" not in str(told.value)
    assert "a secret detail" in caplog.text


async def test_one_server_can_be_met_by_itself(site: Site, era: str) -> None:
    site.gateway.tools["echo"] = echo
    async with site.client(era, path="/mcp/servers/box") as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("echo", {"text": "hi"})
        instructions = client.session.instructions

    assert listed == ["echo"]
    assert instructions == "Only boxes."
    assert result.model_dump()["content"][0]["text"] == "hi"
    assert site.gateway.asked[-1] == ("call", "ana", "box.echo", {"text": "hi"}, None, True)


async def test_prompts_and_resources_pass_through(site: Site, era: str) -> None:
    async def greet(arguments: Any, _line: ClientChannel) -> JsonObject:
        content = {"type": "text", "text": f"Greet {arguments['name']}"}
        return {"messages": [{"role": "user", "content": content}]}

    site.gateway.offers = Offers(
        [{"uri": "portico://box/a", "name": "a"}],
        [{"uriTemplate": "portico://box/t/{id}", "name": "t"}],
        [{"name": "box__greet", "arguments": [{"name": "name", "required": True}]}],
    )
    site.gateway.prompts["box__greet"] = greet
    site.gateway.resources["portico://box/a"] = {"text": "A", "mimeType": "text/plain"}
    async with site.client(era) as client:
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts
        prompt = await client.get_prompt("box__greet", {"name": "Ana"})
        read = await client.read_resource("portico://box/a")
        completed = await client.complete(
            types.PromptReference(type="ref/prompt", name="box__greet"),
            {"name": "name", "value": "p"},
        )

    assert [each.uri for each in resources] == ["portico://box/a"]
    assert [each.uri_template for each in templates] == ["portico://box/t/{id}"]
    assert [each.name for each in prompts] == ["box__greet"]
    assert prompt.messages[0].content.model_dump()["text"] == "Greet Ana"
    assert read.contents[0].model_dump()["text"] == "A"
    assert read.contents[0].uri == "portico://box/a"
    assert completed.completion.values == ["paris"]


async def test_a_prompt_may_ask_too(site: Site, era: str) -> None:
    async def greet(_arguments: Any, line: ClientChannel) -> JsonObject:
        answer = await line.ask(Question(ClientCapability.ELICITATION, FORM, key="who"))
        content = {"type": "text", "text": str(answer["content"])}
        return {"messages": [{"role": "user", "content": content}]}

    site.gateway.prompts["box__greet"] = greet
    async with site.client(era, elicitation_callback=ana) as client:
        prompt = await client.get_prompt("box__greet")

    assert prompt.messages[0].content.model_dump()["text"] == "{'name': 'Ana'}"


async def test_what_is_no_tools_refusal_is_an_error_of_the_protocol(site: Site, era: str) -> None:
    async with site.client(era) as client:
        with pytest.raises(MCPError) as lost:
            await client.read_resource("portico://box/none")
        with pytest.raises(MCPError) as unknown:
            await client.get_prompt("box__none")

    assert lost.value.code == (-32002 if era == "legacy" else types.INVALID_PARAMS)
    assert lost.value.data["uri"] == "portico://box/none"
    assert unknown.value.code == types.INVALID_PARAMS
    assert unknown.value.data["code"] == "offer_not_found"
