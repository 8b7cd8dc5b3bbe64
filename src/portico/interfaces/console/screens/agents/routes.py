"""Agents: the list of them, one with its form and a chat to try it, its versions."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.agents.core.agents import AgentFilter
from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.page import page
from portico.interfaces.console.screens.agents import acts, forms
from portico.interfaces.console.screens.agents.reading import book_of, last_runs, seat, tools_of
from portico.interfaces.console.screens.agents.rows import path_of, rows_of
from portico.interfaces.console.screens.agents.versions import versions_of

_PAGE: Final = 30
_SAID: Final = {"removed": "The agent is gone. Its runs stay on the record."}


async def show(request: Request) -> Response:
    desk, asked = desk_of(request), request.query_params
    text = asked.get("q", "").strip()[:200]
    found = await desk.house.agents.list_agents(
        desk.caller, AgentFilter(text=text or None), after=asked.get("after"), limit=_PAGE
    )
    last = await last_runs(desk, found) if found else {}
    values: dict[str, Any] = {
        "rows": rows_of(found, await book_of(desk), await tools_of(desk), last),
        "next": found[-1].name if len(found) == _PAGE else None,
        "text": text,
        "first": asked.get("after") is None,
        "templates": desk.house.agents.list_templates(),
        "said": _SAID.get(asked.get("done", "")),
    }
    return await page(request, "agents/page.html", values, title="Agents")


async def show_new(request: Request) -> Response:
    return await forms.new_page(request)


async def show_one(request: Request) -> Response:
    return await forms.one_page(request)


async def show_versions(request: Request) -> Response:
    desk, name = desk_of(request), request.path_params["name"]
    caller, agents = seat(desk, name), desk.house.agents
    agent = await agents.show_agent(caller, name)
    found = await agents.list_versions(caller, name)
    numbers = [each.number for each in found]
    to = _number(request, "to", numbers[0] if numbers else 0)
    since = _number(request, "from", next((each for each in numbers if each < to), to))
    changes = await agents.diff_versions(caller, name, since, to) if numbers else []
    values = {
        "agent": agent,
        "path": path_of(agent),
        "versions": versions_of(found, changes),
        "since": since,
        "to": to,
    }
    title = f"Versions of {agent.name}"
    return await page(request, "agents/versions.html", values, title=title)


async def export(request: Request) -> Response:
    desk, name = desk_of(request), request.path_params["name"]
    caller = seat(desk, name)
    agent = await desk.house.agents.show_agent(caller, name)
    text = await desk.house.agents.export_agent(caller, name)
    headers = {"Content-Disposition": f'attachment; filename="{agent.name}.toml"'}
    return Response(text.encode(errors="replace"), headers=headers, media_type="application/toml")


def _number(request: Request, name: str, usual: int) -> int:
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else usual


routes: Final = [
    Route("/agents", show, methods=["GET"]),
    Route("/agents/new", show_new, methods=["GET"]),
    Route("/agents/new", acts.make, methods=["POST"]),
    Route("/agents/import", acts.bring_in, methods=["POST"]),
    Route("/agents/{name}", show_one, methods=["GET"]),
    Route("/agents/{name}", acts.change, methods=["POST"]),
    Route("/agents/{name}/versions", show_versions, methods=["GET"]),
    Route("/agents/{name}/export", export, methods=["GET"]),
    Route("/agents/{name}/restore", acts.restore, methods=["POST"]),
    Route("/agents/{name}/duplicate", acts.duplicate, methods=["POST"]),
    Route("/agents/{name}/remove", acts.remove, methods=["POST"]),
    Route("/agents/{name}/try", acts.try_it, methods=["POST"]),
]
