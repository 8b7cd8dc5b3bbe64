"""⌘K: places, and what can be found by its name."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.agents.core.agents import AgentFilter
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.nav import GROUPS
from portico.interfaces.console.page import part
from portico.kernel.errors import PorticoError

_MOST: Final = 8
_LOOKED: Final = 200
"""Of what is listed page by page, the first that are looked through."""


@dataclass(frozen=True, slots=True)
class Found:
    kind: str
    name: str
    path: str
    note: str = ""


Search = Callable[[Desk, str], Awaitable[Sequence[Found]]]


async def show(request: Request) -> Response:
    desk, text = desk_of(request), request.query_params.get("q", "").strip()[:200]
    found = places(text)
    for search in _SEARCHES if text else ():
        try:
            found += (await search(desk, text))[:_MOST]
        except PorticoError:
            continue  # whoever may not see them finds none
    return part(request, "_palette.html", {"found": found, "text": text})


def places(text: str) -> list[Found]:
    low = text.casefold()
    return [
        Found("Go to", place.name, place.path, f"g {place.key}")
        for group in GROUPS
        for place in group.places
        if low in place.name.casefold()
    ]


async def _tools(desk: Desk, text: str) -> Sequence[Found]:
    looks = await desk.house.gateway.list_tools(desk.caller)
    named = [str(look.tool.ref) for look in looks]
    return [Found("Tool", name, f"/tools/{quote(name, safe='')}") for name in _of(named, text)]


async def _servers(desk: Desk, text: str) -> Sequence[Found]:
    looks = await desk.house.gateway.list_servers(desk.caller)
    named = [look.server.name for look in looks]
    return [Found("Server", name, f"/servers/{quote(name, safe='')}") for name in _of(named, text)]


async def _agents(desk: Desk, text: str) -> Sequence[Found]:
    listed = await desk.house.agents.list_agents(
        desk.caller, AgentFilter(), after=None, limit=_LOOKED
    )
    named = [agent.spec.name for agent in listed]
    return [Found("Agent", name, f"/agents/{quote(name, safe='')}") for name in _of(named, text)]


async def _talks(desk: Desk, text: str) -> Sequence[Found]:
    talk = desk.house.bridge.talk
    projects = await talk.list_projects(desk.caller, limit=_LOOKED)
    conversations = await talk.list_conversations(desk.caller, limit=_LOOKED)
    low = text.casefold()
    return [
        *(
            Found("Project", each.name, f"/bridge/{each.id}")
            for each in projects
            if low in each.name.casefold()
        ),
        *(
            Found("Conversation", each.title, f"/bridge/{each.project}/{each.id}")
            for each in conversations
            if low in each.title.casefold()
        ),
    ]


def _of(names: Sequence[str], text: str) -> list[str]:
    """Those in which all words of the text are, the shortest first."""
    words = text.casefold().split()
    met = [name for name in names if all(word in name.casefold() for word in words)]
    return sorted(met, key=len)[:_MOST]


_SEARCHES: Final[Sequence[Search]] = (_tools, _servers, _agents, _talks)

routes: Final = [Route("/palette", show, methods=["GET"])]
