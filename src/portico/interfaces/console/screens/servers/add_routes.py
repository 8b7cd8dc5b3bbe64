"""Add servers by pasting: looked at first, then added; approving them is another act."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.engine.core.idempotency import Answer
from portico.engine.idempotency import Ask
from portico.gateway.core.launch import to_json
from portico.gateway.servers import ServerWish
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import BadForm, Form, form_of
from portico.interfaces.console.page import done, page
from portico.interfaces.console.screens.servers.paste import Pasted, Reading, read_paste
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject

_LETTERS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Adding:
    """What was pasted, and what came of it so far."""

    text: str = ""
    name: str = ""
    reading: Reading | None = None
    problem: PorticoError | None = None
    added: Sequence[str] = ()


async def show(request: Request) -> Response:
    permit(desk_of(request).caller, Scope.SERVERS_WRITE)
    return await _drawn(request, Adding())


async def send(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    permit(desk.caller, Scope.SERVERS_WRITE)
    text = form.maybe("text", most=_LETTERS) or ""
    name = form.maybe("name", most=80)
    try:
        step = form.one_of("step", ["look", "add"])
        if not text:
            raise BadForm("text", "must be filled in")  # noqa: TRY301 # drawn with what was typed
    except BadForm as problem:
        return await _drawn(request, Adding(name=name or "", text=text, problem=problem))
    reading = read_paste(text, name=name, own_url=desk.house.use.base_url)
    adding = Adding(text=text, name=name or "", reading=reading)
    return await (_add if step == "add" else _look)(request, desk, form, adding)


async def _look(request: Request, _desk: Desk, _form: Form, adding: Adding) -> Response:
    return await _drawn(request, adding)


async def _add(request: Request, desk: Desk, form: Form, adding: Adding) -> Response:
    """One after the other; those that can be added are, whatever is wrong with the others."""
    servers = [] if adding.reading is None else adding.reading.servers
    wanted = set(form.many("take"))
    added: list[str] = []
    problem: PorticoError | None = None
    for number, server in enumerate(servers):
        if server.name not in wanted:
            continue
        try:
            added.append(await _added(desk, server, f"{form.once}{number}"))
        except PorticoError as error:
            problem = problem or error
    if problem is None and not added:
        problem = BadForm("take", "must name at least one server")
    if problem is not None:
        told = Adding(
            text=adding.text,
            name=adding.name,
            reading=adding.reading,
            problem=problem,
            added=added,
        )
        return await _drawn(request, told)
    return done(f"/servers/{added[0]}" if len(added) == 1 else "/servers", "added")


async def _added(desk: Desk, server: Pasted, key: str) -> str:
    wish = ServerWish(name=server.name, launch=server.launch, timeout=server.timeout)

    async def action() -> Answer:
        made = await desk.house.gateway.add_server(desk.caller, wish)
        return Answer({"name": made.name})

    asked: JsonObject = {"name": server.name, "launch": to_json(server.launch)}
    receipt = await desk.house.use.do_once(
        desk.caller, Ask("console.servers.add", asked, key), action
    )
    return str(receipt.body["name"])


async def _drawn(request: Request, adding: Adding) -> Response:
    wrong = adding.problem
    status = 200 if wrong is None else status_of(wrong)
    values = {"adding": adding}
    return await page(request, "servers/add.html", values, title="Add servers", status=status)


routes: Final = [
    Route("/servers/_add", show, methods=["GET"]),
    Route("/servers/_add", send, methods=["POST"]),
]
