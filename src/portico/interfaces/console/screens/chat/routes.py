"""Chats: the list of one's own, one of them, and its parts."""

from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.page import part
from portico.interfaces.console.problems import PageNotFound
from portico.interfaces.console.screens.chat import acts, pages
from portico.interfaces.console.screens.chat.reading import (
    asks_of,
    head_of,
    run_named,
    thread_of,
    trace_of,
)
from portico.interfaces.console.screens.chat.waterfall import waterfall
from portico.interfaces.console.screens.chat.whole import whole_text


async def show(request: Request) -> Response:
    return await pages.drawn(request, None)


async def show_one(request: Request) -> Response:
    return await pages.drawn_one(request, None)


async def rows(request: Request) -> Response:
    chats = await pages.own_chats(desk_of(request), None, None, (), pages.LIST)
    return part(request, "chat/_list.html", {"chats": chats, "first": True, "text": ""})


async def side(request: Request) -> Response:
    desk, run = desk_of(request), run_named(request.path_params["run"])
    chats = await pages.own_chats(desk, None, None, (), pages.SIDE)
    return part(request, "chat/_side.html", {"chats": chats, "head": {"run": str(run)}})


async def earlier(request: Request) -> Response:
    desk, run = desk_of(request), run_named(request.path_params["run"])
    thread = await thread_of(desk, run, request.query_params.get("at", f"{run}.0"))
    values = {"thread": thread, "head": thread.head, "pane": _pane(request)}
    return part(request, "chat/_earlier.html", values)


async def turn(request: Request) -> Response:
    """One turn as it is written down: what replaces the words that came in one by one."""
    desk, run = desk_of(request), run_named(request.path_params["run"])
    return await pages.turn_part(request, desk, run, request.path_params["number"])


async def foot(request: Request) -> Response:
    desk, run = desk_of(request), run_named(request.path_params["run"])
    trace = await trace_of(desk, run)
    head = head_of(desk, trace, await asks_of(desk, trace))
    return part(request, "chat/_foot.html", {"head": head, "pane": _pane(request)})


async def trace_part(request: Request) -> Response:
    desk, run = desk_of(request), run_named(request.path_params["run"])
    trace = await trace_of(desk, run)
    fall = waterfall(trace, desk.now)
    return part(request, "chat/_trace.html", {"fall": fall, "head": head_of(desk, trace, {})})


async def whole(request: Request) -> Response:
    """A text to its last letter, as text."""
    desk, run = desk_of(request), run_named(request.path_params["run"])
    text = whole_text(await trace_of(desk, run), request.path_params["what"])
    if text is None:
        raise PageNotFound
    return PlainTextResponse(text.encode(errors="replace"))


def _pane(request: Request) -> bool:
    """Whether it is drawn beside the form of an agent."""
    return "pane" in request.query_params


routes: Final = [
    Route("/chat", show, methods=["GET"]),
    Route("/chat", acts.begin, methods=["POST"]),
    Route("/chat/rows", rows, methods=["GET"]),
    Route("/chat/{run}", show_one, methods=["GET"]),
    Route("/chat/{run}/side", side, methods=["GET"]),
    Route("/chat/{run}/earlier", earlier, methods=["GET"]),
    Route("/chat/{run}/turns/{number:int}", turn, methods=["GET"]),
    Route("/chat/{run}/foot", foot, methods=["GET"]),
    Route("/chat/{run}/trace", trace_part, methods=["GET"]),
    Route("/chat/{run}/text/{what}", whole, methods=["GET"]),
    Route("/chat/{run}/say", acts.say, methods=["POST"]),
    Route("/chat/{run}/stop", acts.stop, methods=["POST"]),
    Route("/chat/{run}/again", acts.again, methods=["POST"]),
    Route("/chat/{run}/branch", acts.branch, methods=["POST"]),
    Route("/chat/{run}/approvals/{approval}", acts.answer, methods=["POST"]),
]
