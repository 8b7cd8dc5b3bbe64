"""The two whole pages of chats: the list of one's own, and one of them."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from portico.agents.core.agents import Agent, AgentFilter
from portico.agents.core.traces import TraceFilter
from portico.gateway.core.catalog_snapshot import Standing
from portico.guard.core.principals import Scope
from portico.guard.core.rules import fits
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.page import page, part
from portico.interfaces.console.screens.chat.chats import Chats, Suggestion, chats_of, suggestions
from portico.interfaces.console.screens.chat.reading import (
    asks_of,
    head_of,
    run_named,
    thread_of,
    trace_of,
)
from portico.interfaces.console.screens.chat.thread import turn_of
from portico.interfaces.console.screens.chat.waterfall import waterfall
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId
from portico.kernel.label import LEVELS

LIST: Final = 40
SIDE: Final = 20
_AGENTS: Final = 200
_SAID: Final = {"stopped": "It stops before its next step. What it has said by then is its answer."}


async def drawn(request: Request, problem: PorticoError | None, typed: str = "") -> Response:
    """The list, and the form for another one."""
    desk, asked = desk_of(request), request.query_params
    text = asked.get("q", "").strip()[:200]
    hidden = [each for each in asked.get("hides", "").split(".") if each][:100]
    chats = await own_chats(desk, text or None, asked.get("before"), hidden, LIST)
    agents = await _agents(desk)
    wanted = asked.get("agent", "")
    chosen = next((each for each in agents if each.name == wanted), agents[0] if agents else None)
    values: dict[str, Any] = {
        "chats": chats,
        "text": text,
        "agents": agents,
        "chosen": chosen,
        "suggestions": await _suggestions(desk, chosen),
        "typed": typed or asked.get("say", "")[:2000],
        "labels": [name for name, level in LEVELS.items() if level <= desk.caller.clearance.level],
        "problem": problem,
        "first": asked.get("before") is None,
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "chat/page.html", values, title="Chat", status=status)


async def drawn_one(request: Request, problem: PorticoError | None, typed: str = "") -> Response:
    desk = desk_of(request)
    run = run_named(request.path_params["run"])
    thread = await thread_of(desk, run, request.query_params.get("at"))
    values = {
        "thread": thread,
        "head": thread.head,
        "chats": await own_chats(desk, None, None, (), SIDE),
        "fall": waterfall(thread.trace, desk.now),
        "problem": problem,
        "typed": typed,
        "pane": False,
        "say": f"/chat/{run}/say",
        "said": _SAID.get(request.query_params.get("done", "")),
    }
    status = 200 if problem is None else status_of(problem)
    title = thread.head.title
    return await page(request, "chat/thread.html", values, title=title, status=status)


async def turn_part(request: Request, desk: Desk, run: RunId, number: int) -> Response:
    """One turn as it is written down; nothing if it is not. Raises `AgentRunNotFound`."""
    trace = await trace_of(desk, run)
    found = next((each for each in trace.turns if each.number == number), None)
    if found is None:
        return Response(status_code=204)
    asks = await asks_of(desk, trace)
    head = head_of(desk, trace, asks)
    values = {"item": turn_of(trace, found, set(asks)), "asks": asks, "head": head}
    return part(request, "chat/_turn.html", values)


async def own_chats(
    desk: Desk, text: str | None, before: str | None, hidden: Sequence[str], limit: int
) -> Chats:
    if not desk.caller.may(Scope.AGENTS_READ):
        return Chats((), (), None)
    which = TraceFilter(mine=True, text=text)
    found = await desk.house.agents.list_traces(desk.at("chats"), which, before=before, limit=limit)
    return chats_of(found, hidden, limit)


async def _agents(desk: Desk) -> Sequence[Agent]:
    if not desk.caller.may(Scope.AGENTS_READ):
        return []
    return await desk.house.agents.list_agents(
        desk.caller, AgentFilter(), after=None, limit=_AGENTS
    )


async def _suggestions(desk: Desk, agent: Agent | None) -> Sequence[Suggestion]:
    if agent is None:
        return []
    tools: list[str] = []
    if agent.spec.tools and desk.caller.may(Scope.SERVERS_READ):
        every = await desk.house.gateway.list_tools(desk.caller)
        live = [str(each.tool.ref) for each in every if each.standing is Standing.LIVE]
        tools = [each for each in live if fits(each, agent.spec.tools)]
    return suggestions(tools)
