"""A test that tells what happens in runs of agents, and those who follow them over HTTP."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from starlette.types import ASGIApp

from portico.agents.core.agents import Agent
from portico.agents.core.events import (
    AgentEvent,
    RunFinished,
    TextDelta,
    ToolCallAwaitingApproval,
    ToolCallStarted,
)
from portico.agents.core.model_requests import Usage
from portico.agents.core.traces import AgentRunStatus, WholeTrace
from portico.interfaces.http.streaming import Manners
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.principal import Principal
from portico.testing.agent_data import TEAM, an_agent
from tests.interfaces.http.asgi import Answer, Header, ask, bearing, written
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.memory import MemoryRuns
from tests.interfaces.http.streaming import Stream, streaming
from tests.interfaces.http.test_approvals import agent, asks


@dataclass
class Desk:
    """There is one agent, `clerk`, which is Ana's."""

    site: Site
    app: ASGIApp
    ana: Principal
    clerk: Agent

    @property
    def runs(self) -> MemoryRuns:
        return self.site.agent_runs

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *headers: Header,
        key: str | None = None,
        query: str = "",
    ) -> Answer:
        whole, sent = [*bearing(key or self.site.key), *headers], written(body)
        return await ask(self.app, method, path, headers=whole, body=sent, query=query)

    def stream(
        self, path: str, body: object = None, *headers: Header, key: str | None = None
    ) -> AbstractAsyncContextManager[Stream]:
        return streaming(self.app, path, [*bearing(key or self.site.key), *headers], body=body)

    async def started(self) -> list[RunId]:
        """In the order in which they were started."""
        found = await self.site.use.list_runs(
            self.ana, statuses=(), kind="agent", before=None, limit=100
        )
        return [run.id for run, _ in reversed(found)]

    async def trace(self, run: RunId) -> WholeTrace:
        return await self.runs.traces.read(self.ana, run)

    async def tell(self, run: RunId, *happenings: AgentEvent) -> None:
        await self.runs.talk.publish(self.ana, run, *happenings, label=TEAM)

    async def waits(self, run: RunId, name: str = "one", call: str = "c1") -> ApprovalId:
        """A tool of it has to be approved, and a person may."""
        _, bot = await agent(self.site, f"bot {name}")
        asked = await asks(self.site, bot, name)
        await self.runs.traces.mark(self.ana, run, AgentRunStatus.WAITING, label=TEAM)
        waits = ToolCallAwaitingApproval(
            turn=1, call=call, tool="mail.send", approval=asked.id, expires_at=asked.expires_at
        )
        await self.tell(run, a_tool(call), waits)
        return asked.id

    async def ends(self, run: RunId, answer: str = "It is sent.", **changes: Any) -> None:
        ended = replace(
            RunFinished(
                run=run,
                status=AgentRunStatus.COMPLETED,
                answer=answer,
                usage=Usage(input=20, output=5, cached=10),
                money=Decimal("0.01"),
            ),
            **changes,
        )
        over = replace(
            (await self.trace(run)).run,
            status=ended.status,
            answer=answer,
            error=ended.error,
            error_code=ended.error_code,
            usage=ended.usage,
            money=ended.money,
        )
        await self.runs.traces.end(self.ana, over)
        await self.tell(run, ended)


def a_tool(call: str = "c1", tool: str = "mail.send") -> ToolCallStarted:
    return ToolCallStarted(turn=1, call=call, tool=tool, arguments={"to": "bob@else.example"})


def text(words: str, offset: int = 0, *, turn: int = 1, attempt: int = 1) -> TextDelta:
    return TextDelta(turn=turn, attempt=attempt, offset=offset, text=words)


async def joined(site: Site, name: str, **wish: object) -> tuple[str, str]:
    """Somebody who was invited: their key and their id."""
    invited = await site.ask("POST", "/api/v1/invitations", {"name": name, **wish})
    token = invited.json["link"].partition("#")[2]
    accepted = await site.ask("POST", "/api/v1/invitations/accept", key=token)
    return accepted.json["key"], accepted.json["principal"]


async def opened(site: Site, *, patience: float = 60.0, manners: Manners | None = None) -> Desk:
    ana = (await site.use.authenticate(site.key)).principal
    clerk = an_agent(ana)
    await site.agent_runs.agents.add(ana, clerk)
    use = replace(site.agent_runs.use, chat_patience=timedelta(seconds=patience))
    manners = manners or Manners(heartbeat=60.0, wait_timeout=60.0)
    app = site.rebuilt({"agent_runs": use}, manners=manners)
    return Desk(site, app, ana, clerk)
