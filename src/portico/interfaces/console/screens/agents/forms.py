"""The form of an agent, for another one and for one there is, with a chat to try it beside it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from portico.agents.core.agents import Agent, AgentSpec, ToolMode
from portico.agents.core.errors import AgentRunNotFound
from portico.gateway.core.catalog_snapshot import Tool
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.page import page
from portico.interfaces.console.screens.agents.draft import Draft, draft_of_spec, wrong_at
from portico.interfaces.console.screens.agents.models import Book
from portico.interfaces.console.screens.agents.reading import book_of, seat, tools_of
from portico.interfaces.console.screens.agents.rows import path_of
from portico.interfaces.console.screens.agents.tree import tree_of
from portico.interfaces.console.screens.chat.reading import Thread, run_named, thread_of
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import Flaw, PorticoError
from portico.kernel.label import LEVELS

_USUAL: Final = AgentSpec(name="", model="")
_SAID: Final = {
    "made": "The agent is there. Try it on the right.",
    "saved": "Saved as another version.",
    "same": "Nothing was changed, so there is no other version.",
    "restored": "It is as it was at that version, which made another one.",
    "duplicated": "This is the other one, alike but for its name.",
}


class Asked:
    """What a form asks for beside being saved: to look for tools, to open a server's."""

    def __init__(self, find: str = "", opened: Sequence[str] = ()) -> None:
        self.find = find
        self.opened = opened


async def new_page(
    request: Request,
    draft: Draft | None = None,
    problem: PorticoError | None = None,
    asked: Asked | None = None,
) -> Response:
    desk = desk_of(request)
    templates = desk.house.agents.list_templates()
    chosen = request.query_params.get("from", "")
    template = next((each for each in templates if each.name == chosen), None)
    book, tools = await book_of(desk), await tools_of(desk)
    if draft is None:
        spec = _USUAL if template is None else template.spec
        draft = draft_of_spec(spec, {str(each.ref) for each in tools}, book.first)
    values = {
        **_form(desk, (book, tools), draft, problem, asked),
        "templates": templates,
        "chosen": chosen,
        "action": "/agents/new",
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "agents/new.html", values, title="New agent", status=status)


async def one_page(
    request: Request,
    draft: Draft | None = None,
    problem: PorticoError | None = None,
    asked: Asked | None = None,
) -> Response:
    desk, name = desk_of(request), request.path_params["name"]
    caller = seat(desk, name)
    agent = await desk.house.agents.show_agent(caller, name)
    book, tools = await book_of(desk), await tools_of(desk)
    shown = draft or draft_of_spec(agent.spec, {str(each.ref) for each in tools})
    values = {
        **_form(desk, (book, tools), shown, problem, asked),
        **await tried(desk, agent, request.query_params.get("try")),
        "action": path_of(agent),
        "warnings": await _warnings(desk, agent),
        "said": _SAID.get(request.query_params.get("done", "")),
        "base_url": desk.house.use.base_url,
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "agents/agent.html", values, title=agent.name, status=status)


async def tried(desk: Desk, agent: Agent, run: str | None) -> dict[str, Any]:
    """What the chat beside the form is drawn with."""
    thread: Thread | None = None
    if run is not None:
        try:
            thread = await thread_of(desk, run_named(run))
        except AgentRunNotFound:
            thread = None
    return {
        "agent": agent,
        "path": path_of(agent),
        "thread": thread,
        "head": None if thread is None else thread.head,
        "pane": True,
    }


def _form(
    desk: Desk,
    known: tuple[Book, Sequence[Tool]],
    draft: Draft,
    problem: PorticoError | None,
    asked: Asked | None,
) -> dict[str, Any]:
    (book, tools), wanted = known, asked or Asked()
    flaws: Sequence[Flaw] = () if problem is None else problem.flaws
    wrong: Mapping[str, Sequence[str]] = wrong_at(flaws, draft)
    labels = [name for name, level in LEVELS.items() if level <= desk.caller.clearance.level]
    return {
        "draft": draft,
        "problem": problem,
        "wrong": wrong,
        "groups": book.groups(draft.model),
        "health": book.health(draft.model),
        "tree": tree_of(tools, draft.tools, draft.patterns, find=wanted.find, opened=wanted.opened),
        "find": wanted.find,
        "opened": wanted.opened,
        "labels": list(dict.fromkeys([*labels, *([draft.label] if draft.label else [])])),
        "modes": list(ToolMode),
        "may_write": desk.caller.may(Scope.AGENTS_WRITE),
    }


async def _warnings(desk: Desk, agent: Agent) -> Sequence[Flaw]:
    return await desk.house.agents.check_agent.warnings(seat(desk, agent.name), agent.spec)
