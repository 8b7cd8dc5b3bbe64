"""Many clients of the gateway, each a process of its own, some of which are killed:
python -m tests.scenarios.session_clients < JSON

The process imports the SDK once and forks for each session. Says `done N` as sessions end, and at
the end what became of them as JSON.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
import traceback
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

LOOK = 0.01


@dataclass(frozen=True)
class Tool:
    name: str
    verb: str
    arguments: dict[str, Any]
    """A `TOKEN` in them is replaced by one that is this session's alone."""
    expected: str


@dataclass(frozen=True)
class Crowd:
    url: str
    key: str
    sessions: int
    at_once: int
    tools: list[Tool]
    doomed: float
    """Which part of the sessions is to be killed, if it is not over before."""
    within: float = 1.5
    """Seconds in which the one who kills comes by."""
    calls: int = 2
    seed: int = 0

    def text(self) -> str:
        return json.dumps(asdict(self))


def crowd_of(text: str) -> Crowd:
    told: dict[str, Any] = json.loads(text)
    told["tools"] = [Tool(**tool) for tool in told["tools"]]
    return Crowd(**told)


async def converse(crowd: Crowd, number: int) -> None:
    """One session from beginning to end; every second one is of the older protocol."""
    chance = random.Random(f"{crowd.seed} {number}")
    headers = {"Authorization": f"Bearer {crowd.key}"}
    async with (
        httpx2.AsyncClient(verify=False, headers=headers, timeout=120) as http,
        Client(
            streamable_http_client(crowd.url, http_client=http),
            mode="legacy" if number % 2 else "auto",
        ) as client,
    ):
        listed = await client.list_tools()
        assert any(tool.name == "search_tools" for tool in listed.tools)
        for place in range(crowd.calls):
            tool = chance.choice(crowd.tools)
            words = tool.name.replace(".", " ").replace("_", " ")
            found = await client.call_tool("search_tools", {"queries": [words]})
            assert tool.name in said(found), (tool.name, said(found)[:500])
            await call(client, tool, f"token-{number}-{place}")


async def call(client: Client, tool: Tool, token: str) -> None:
    arguments = json.loads(json.dumps(tool.arguments).replace("TOKEN", token))
    called = await client.call_tool(tool.verb, {"tool": tool.name, "arguments": arguments})
    expected = tool.expected.replace("TOKEN", token)
    assert not called.is_error, (tool.name, said(called)[:500])
    assert expected in said(called), (tool.name, expected, said(called)[:500])


def said(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@dataclass
class Ends:
    finished: int = 0
    killed: int = 0
    failed: int = 0

    def note(self, status: int) -> None:
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            self.killed += 1
        elif status == 0:
            self.finished += 1
        else:
            self.failed += 1

    @property
    def count(self) -> int:
        return self.finished + self.killed + self.failed


@dataclass
class Attendance:
    crowd: Crowd
    ends: Ends = field(default_factory=Ends)
    running: dict[int, float | None] = field(default_factory=dict)
    """By process, when it is to be killed."""

    def all(self) -> dict[str, int]:
        chance = random.Random(self.crowd.seed)
        for number in range(self.crowd.sessions):
            doomed = chance.random() < self.crowd.doomed
            after = chance.uniform(0, self.crowd.within) if doomed else None
            self.wait_for(self.crowd.at_once - 1)
            self.running[fork(self.crowd, number)] = (
                None if after is None else time.monotonic() + after
            )
        self.wait_for(0)
        return asdict(self.ends)

    def wait_for(self, fewer: int) -> None:
        """Until no more than so many are left."""
        while len(self.running) > fewer:
            self.kill()
            self.bury()
            time.sleep(LOOK)

    def kill(self) -> None:
        now = time.monotonic()
        for process, at in self.running.items():
            if at is not None and at <= now:
                os.kill(process, signal.SIGKILL)
                self.running[process] = None

    def bury(self) -> None:
        for process in list(self.running):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                del self.running[process]
                self.ends.note(status)
                print(f"done {self.ends.count}", flush=True)


def fork(crowd: Crowd, number: int) -> int:
    process = os.fork()
    if process:
        return process
    try:
        asyncio.run(converse(crowd, number))
    except BaseException:  # noqa: BLE001 # whatever it was, this process ends here
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    print(json.dumps(Attendance(crowd_of(sys.stdin.readline())).all()), flush=True)
