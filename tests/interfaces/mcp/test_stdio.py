"""`portico stdio` between a client's pipes and the face: what one says, the other hears."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from portico.gateway.core.calls import ClientCapability, Question, ToolResult
from portico.gateway.ports import ClientChannel
from portico.interfaces.cli.server import NotRunning
from portico.interfaces.cli.stdio_proxy import Link, Pump, lines_of_input
from portico.kernel.json import JsonObject
from tests.interfaces.mcp.gateway import HOME, Gateway, Site, hot_tool, said, serving, until
from tests.interfaces.mcp.test_eras import FORM, ana, echo
from tests.interfaces.mcp.wire import GREETING

HELLO = {**GREETING, "id": 0}
SHIPPED: dict[str, Any] = {
    "name": "call_read",
    "arguments": {"tool": "box.echo", "arguments": {"text": "hi"}},
}


@dataclass
class Pipes:
    """A client's end of a pump."""

    given: "asyncio.Queue[bytes | None]" = field(default_factory=asyncio.Queue)
    written: "asyncio.Queue[dict[str, Any]]" = field(default_factory=asyncio.Queue)
    talk: list[str] = field(default_factory=list)

    async def lines(self) -> AsyncIterator[bytes]:
        while (line := await self.given.get()) is not None:
            yield line

    def say(self, message: Any) -> None:
        self.given.put_nowait(json.dumps(message).encode())

    def write(self, line: bytes) -> None:
        assert b"\n" not in line
        self.written.put_nowait(json.loads(line))

    async def hear(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.written.get(), 30)


@asynccontextmanager
async def joined(
    site: Site, *, key: str = "ana", path: str = "/mcp", patience: float = 10
) -> AsyncIterator[Pipes]:
    pipes = Pipes()
    async with site.http(key) as http, asyncio.TaskGroup() as group:
        link = Link(http, None, NotRunning(site.url))
        pump = Pump(link, path, pipes.write, pipes.talk.append, patience)
        group.create_task(pump.run(pipes.lines()))
        yield pipes
        pipes.given.put_nowait(None)


@asynccontextmanager
async def client(site: Site, mode: str, **more: Any) -> AsyncIterator[Client]:
    """The official client, speaking through a pump."""

    @asynccontextmanager
    async def transport(pipes: Pipes) -> AsyncIterator[Any]:
        to_client, from_pump = anyio.create_memory_object_stream[Any](100)
        to_pump, from_client = anyio.create_memory_object_stream[Any](100)

        async def out() -> None:
            async for message in from_client:
                told = message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                pipes.say(told)

        async def back() -> None:
            while True:
                heard = types.jsonrpc_message_adapter.validate_python(await pipes.written.get())
                await to_client.send(SessionMessage(heard))

        async with anyio.create_task_group() as group:
            group.start_soon(out)
            group.start_soon(back)
            yield from_pump, to_pump
            group.cancel_scope.cancel()
        for stream in (to_client, from_pump, to_pump, from_client):
            stream.close()

    async with joined(site) as pipes, Client(transport(pipes), mode=mode, **more) as made:
        yield made


async def test_the_official_client_works_through_it(site: Site, era: str) -> None:
    async def asks(_arguments: JsonObject, line: ClientChannel) -> ToolResult:
        await line.progress(1, 2, "half")
        answer = await line.ask(Question(ClientCapability.ELICITATION, FORM))
        return said(str(answer["content"]))

    heard: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    site.gateway.tools |= {"echo": echo, "asks": asks}
    async with client(site, era, elicitation_callback=ana) as made:
        listed = [tool.name for tool in (await made.list_tools()).tools]
        echoed = await made.call_tool("call_read", SHIPPED["arguments"])
        asked = await made.call_tool(
            "call_read", {"tool": "box.asks"}, progress_callback=on_progress
        )

    assert listed[0] == "search_tools"
    assert echoed.model_dump()["content"][0]["text"] == "hi"
    assert asked.model_dump()["content"][0]["text"] == "{'name': 'Ana'}"
    assert heard == [1]


async def test_giving_up_is_passed_on(site: Site, era: str) -> None:
    cancelled = asyncio.Event()

    async def slow(_arguments: JsonObject, _line: ClientChannel) -> ToolResult:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()
        return said("never")

    site.gateway.tools["slow"] = slow
    async with client(site, era) as made:
        with pytest.raises(MCPError):
            await made.call_tool("call_read", {"tool": "box.slow"}, read_timeout_seconds=0.1)
        await asyncio.wait_for(cancelled.wait(), 30)


async def test_changes_are_heard_through_it(site: Site, era: str) -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def on_message(message: Any) -> None:
        heard.put_nowait(message)

    async with client(site, era, message_handler=on_message) as made:
        await made.list_tools()
        if era == "legacy":
            await until(lambda: site.gateway.bus.listening)
            site.gateway.hot.append(hot_tool("echo"))
            site.gateway.bus.wake(HOME, "catalogue")
            assert (await asyncio.wait_for(heard.get(), 30)).method.endswith("tools/list_changed")
        else:
            async with made.listen(tools_list_changed=True) as events:
                await until(lambda: site.gateway.bus.listening)
                site.gateway.hot.append(hot_tool("echo"))
                site.gateway.bus.wake(HOME, "catalogue")
                await asyncio.wait_for(anext(aiter(events)), 30)


async def test_arguments_that_a_tool_wants_in_headers_are_sent_there(site: Site) -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"text": {"type": "string", "x-mcp-header": "Text"}},
    }
    site.gateway.tools["echo"] = echo
    site.gateway.hot.append(hot_tool("echo", schema))
    async with client(site, "auto") as made:
        await made.list_tools()
        result = await made.call_tool("box__echo", {"text": "größe"})

    assert result.model_dump()["content"][0]["text"] == "größe"


async def greeted(pipes: Pipes) -> None:
    pipes.say(HELLO)
    assert "result" in await pipes.hear()
    pipes.say({"jsonrpc": "2.0", "method": "notifications/initialized"})


async def test_a_session_that_was_lost_is_opened_anew_unseen(site: Site) -> None:
    site.gateway.tools["echo"] = echo
    async with joined(site) as pipes:
        await greeted(pipes)
        await until(lambda: site.gateway.bus.listening)
        for session in list(site.face._sessions._open.values()):
            await site.face._sessions._forget(session)
        pipes.say({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": SHIPPED})

        heard = [await pipes.hear() for _ in range(4)]

    assert [each["id"] for each in heard if "id" in each] == [5]
    changed = {each["method"] for each in heard if "method" in each}
    assert "notifications/tools/list_changed" in changed
    assert any("new session" in line for line in pipes.talk)


async def test_its_session_ends_with_its_input(site: Site) -> None:
    async with joined(site) as pipes:
        await greeted(pipes)
        assert len(site.face._sessions) == 1

    assert len(site.face._sessions) == 0


async def test_what_is_no_message_is_told(site: Site) -> None:
    async with joined(site) as pipes:
        pipes.given.put_nowait(b"{")
        heard = await pipes.hear()

    assert heard["error"]["code"] == -32700
    assert heard["id"] is None


async def test_a_key_that_opens_nothing_is_told_to_whoever_asks(site: Site) -> None:
    async with joined(site, key="eve") as pipes:
        pipes.say(HELLO)
        heard = await pipes.hear()

    assert heard["id"] == 0
    assert "no key that opens this door" in heard["error"]["message"]


async def test_a_server_that_is_not_behind_the_gateway_is_told(site: Site) -> None:
    async with joined(site, path="/mcp/servers/nope") as pipes:
        pipes.say(HELLO)
        heard = await pipes.hear()

    assert "There is no server 'nope'" in heard["error"]["message"]


async def test_a_server_that_does_not_run_is_waited_for_and_then_told() -> None:
    async with serving(Gateway()) as site:
        pass
    async with joined(site, patience=0.3) as pipes:
        pipes.say(HELLO)
        heard = await pipes.hear()

    assert heard["id"] == 0
    assert "portico up" in heard["error"]["message"]
    assert any("Nothing answers" in line for line in pipes.talk)


async def test_a_batch_is_taken_one_by_one(site: Site) -> None:
    async with joined(site) as pipes:
        await greeted(pipes)
        pipes.say([{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in (1, 2)])
        heard = {(await pipes.hear())["id"], (await pipes.hear())["id"]}

    assert heard == {1, 2}


def piped(said: bytes) -> int:
    reading, writing = os.pipe()
    os.write(writing, said)
    os.close(writing)
    return reading


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"", []),
        (b"one\ntwo\n", [b"one", b"two"]),
        (b"\n\r\n one \r\n", [b"one"]),
        (b"one\nunfinished", [b"one", b"unfinished"]),
    ],
)
async def test_lines_are_read_until_the_input_ends(said: bytes, expected: list[bytes]) -> None:
    source = piped(said)

    assert [line async for line in lines_of_input(source)] == expected
    os.close(source)


async def test_a_line_that_is_too_long_is_not_taken_and_the_next_one_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portico.interfaces.cli.stdio_proxy._LONGEST", 10)
    monkeypatch.setattr("portico.interfaces.cli.stdio_proxy._PART", 4)
    source = piped(b"x" * 50 + b"\nnext\n")

    first, second = [line async for line in lines_of_input(source)]

    os.close(source)
    assert first.startswith(b"?")
    assert second == b"next"


async def test_any_input_will_do(tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.write_bytes(b"one\n")
    with file.open("rb") as opened, Path(os.devnull).open("rb") as nothing:  # noqa: ASYNC230 # five bytes
        of_file = [line async for line in lines_of_input(opened.fileno())]
        of_nothing = [line async for line in lines_of_input(nothing.fileno())]

    assert (of_file, of_nothing) == ([b"one"], [])


async def test_an_input_that_cannot_be_read_has_ended(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)

    assert [line async for line in lines_of_input(folder)] == []
    os.close(folder)
