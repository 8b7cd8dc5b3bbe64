"""Servers: list, and add some by pasting."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.engine.core.idempotency import StoredResponse
from portico.engine.idempotency import WriteRequest
from portico.gateway.core.catalog_snapshot import slug
from portico.gateway.core.client_config_values import looks_secret
from portico.gateway.core.client_configs import Client, described, listed
from portico.gateway.core.config_documents import (
    ConfigLocation,
    Described,
    Entry,
    Unreadable,
    as_text,
    parsed,
    value_at,
)
from portico.gateway.core.launch import shown, to_json
from portico.gateway.core.pins import package_of
from portico.gateway.core.servers import Foreign, FromFile, Http, Plain, Stdio, Value
from portico.gateway.servers import ServerRegistration
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.interfaces.console.forms import Form, InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part
from portico.interfaces.console.screens import server as review_routes
from portico.interfaces.console.screens import server as server_routes
from portico.interfaces.console.screens.server import PAGE, chosen, counted, server_rows
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.kernel.redaction import blacked_out

# Pasted: an `mcpServers` block, one command, or one address. Values that look like secrets are
# refused, since pasted text is stored as it is; they are added as secrets first, and written here
# as `secret:NAME`.

MOST: Final = 50
"""Servers in one paste."""
_PATH: Final = "/pasted/servers.json"
_HOME: Final = "/pasted/home"
_KEYS: Final = ("mcpServers", "servers", "context_servers", "mcp_servers")
_NAMED: Final = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_NOISE: Final = re.compile(r"(?:^|-)(?:mcp|server|modelcontextprotocol|the)(?=-|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pasted:
    name: str
    launch: Foreign
    command: str
    timeout: float | None
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Flawed:
    name: str
    """Of the server; empty where all of it cannot be read."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    servers: Sequence[Pasted]
    flawed: Sequence[Flawed]


class _Secret(Exception):
    """A value that would be kept in clear; said without it."""


def read_paste(text: str, *, name: str | None = None, own_url: str) -> Reading:
    """Whatever the text is, this answers. `name` is for a paste that names none."""
    written = _written(text.strip().removeprefix("$ ").strip(), name)
    if isinstance(written, str):
        return Reading(servers=(), flawed=[Flawed("", written)])
    place = ConfigLocation(path=_PATH, home=_HOME, own_url=own_url)
    whole: JsonObject = {"mcpServers": written}
    found = described(_CLIENT, place, json.dumps(whole))
    taken, flawed = _taken(found, whole)
    left = [Flawed(each.server or "", each.reason) for each in found.problems if each.left_out]
    if not (taken or flawed or left):
        flawed = [Flawed("", "there is no server in it, or only Portico itself")]
    return Reading(servers=taken[:MOST], flawed=[*left, *flawed])


def _written(text: str, name: str | None) -> JsonObject | str:
    """Servers by their names, as files have them; or why they cannot be read."""
    if text.startswith(("{", '"')):
        return _of_json(text if text.startswith("{") else f"{{{text.rstrip().rstrip(',')}}}", name)
    if text.startswith(("http://", "https://")) and len(text.split()) == 1:
        return {name or _host_name(text): {"url": text}}
    try:
        words = shlex.split(text)
    except ValueError:
        return "a quote in it is not closed"
    given = 0
    while given < len(words) and _NAMED.fullmatch(words[given]):
        given += 1
    if given == len(words):
        return "it is neither JSON nor a command nor an address"
    env = dict(word.split("=", 1) for word in words[:given])
    fields: JsonObject = {"command": words[given], "args": words[given + 1 :], "env": env}
    return {name or _command_name(words[given:]): fields}


def _of_json(text: str, name: str | None) -> JsonObject | str:
    try:
        found = parsed(_PATH, text)
    except Unreadable as error:
        line = f", at line {error.line}" if error.line else ""
        return f"it {error}{line}"
    for key in _KEYS:
        inner = found.get(key)
        if isinstance(inner, Mapping):
            return inner
    if "command" in found or "url" in found:
        return {name or _own_name(found): found}
    return found


def _entries(document: JsonObject) -> Iterator[Entry]:
    for each in listed(document, "mcpServers"):
        yield Entry(
            name=each.name,
            pointer=each.pointer,
            fields=each.fields,
            spelling="braces",
            refers=True,
        )


_CLIENT: Final = Client(name="pasted", title="what was pasted", key="mcpServers", entries=_entries)


def _taken(found: Described, document: JsonObject) -> tuple[list[Pasted], list[Flawed]]:
    taken: list[Pasted] = []
    flawed: list[Flawed] = []
    for wish in found.wishes:
        notes = [it.reason for it in found.problems if it.server == wish.called]
        try:
            launch = _kept(wish.launch, document)
        except _Secret as reason:
            flawed.append(Flawed(wish.called, str(reason)))
            continue
        name = slug(wish.called, [each.name for each in taken])
        command = shown(launch)
        taken.append(
            Pasted(name=name, launch=launch, command=command, timeout=wish.timeout, notes=notes)
        )
    return taken, flawed


def _kept(launch: Foreign, document: JsonObject) -> Foreign:
    """With the values that files keep to themselves, since here is no file. Raises `_Secret`."""
    if isinstance(launch, Http):
        if launch.secret_url is not None:
            raise _Secret("a secret or a variable stands in its address")
        return replace(launch, headers=_table(launch.headers, document))
    if launch.folder is not None and launch.folder.startswith(_HOME):
        raise _Secret("its folder is not a whole path")
    arguments = tuple(_value("an argument", each, document) for each in launch.arguments)
    environment = _table(launch.environment, document)
    return replace(launch, arguments=arguments, environment=environment)


def _table(values: Mapping[str, Value], document: JsonObject) -> Mapping[str, Value]:
    return {name: _value(name, each, document) for name, each in values.items()}


def _value(name: str, value: Value, document: JsonObject) -> Value:
    if not isinstance(value, FromFile) or value.path != _PATH:
        return value
    text = as_text(value_at(document, value.pointer)) or ""
    pair = f"{name}={text}"
    secret = looks_secret(text, f"--{name}") or blacked_out(pair) != pair
    if secret or value.spelling is not None:
        called = slug(name) or "token"
        raise _Secret(
            f"the value of {name} looks like a secret. Give it to Portico first, by"
            f" `portico secrets set {called}`, and write secret:{called} in its place"
        )
    return Plain(text)


def _host_name(url: str) -> str:
    host = urlsplit(url).hostname or "server"
    parts = [each for each in host.split(".") if each not in {"www", "mcp", "api"}]
    return parts[0] if parts else host


def _command_name(words: Sequence[str]) -> str:
    package = package_of(Stdio(words[0], tuple(Plain(each) for each in words[1:])))
    plain = [each for each in words[1:] if not each.startswith("-")]
    said = package.name if package is not None else (plain[-1:] or [words[0]])[0]
    last = said.rstrip("/").rpartition("/")[2].partition("@")[0]
    bare = re.sub(r"\.(?:py|js|mjs|ts|sh)$", "", last)
    return _NOISE.sub("", bare.lower().replace("_", "-")).strip("-") or bare or "server"


def _own_name(fields: JsonObject) -> str:
    url, command = fields.get("url"), fields.get("command")
    if isinstance(url, str):
        return _host_name(url)
    args = fields.get("args")
    words = [str(each) for each in args] if isinstance(args, list | tuple) else []
    return _command_name([str(command), *words])


_LETTERS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Adding:
    """What was pasted, and what came of it so far."""

    text: str = ""
    name: str = ""
    reading: Reading | None = None
    problem: PorticoError | None = None
    added: Sequence[str] = ()


async def show_add(request: Request) -> Response:
    require_scope(page_context(request).caller, Scope.SERVERS_WRITE)
    return await _drawn(request, Adding())


async def send(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    require_scope(desk.caller, Scope.SERVERS_WRITE)
    text = form.maybe("text", most=_LETTERS) or ""
    name = form.maybe("name", most=80)
    try:
        step = form.one_of("step", ["look", "add"])
        if not text:
            raise InvalidForm("text", "must be filled in")  # noqa: TRY301 # drawn with what was typed
    except InvalidForm as problem:
        return await _drawn(request, Adding(name=name or "", text=text, problem=problem))
    reading = read_paste(text, name=name, own_url=desk.services.use.base_url)
    adding = Adding(text=text, name=name or "", reading=reading)
    return await (_add if step == "add" else _look)(request, desk, form, adding)


async def _look(request: Request, _desk: PageContext, _form: Form, adding: Adding) -> Response:
    return await _drawn(request, adding)


async def _add(request: Request, desk: PageContext, form: Form, adding: Adding) -> Response:
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
        problem = InvalidForm("take", "must name at least one server")
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


async def _added(desk: PageContext, server: Pasted, key: str) -> str:
    wish = ServerRegistration(name=server.name, launch=server.launch, timeout=server.timeout)

    async def action() -> StoredResponse:
        made = await desk.services.gateway.add_server(desk.caller, wish)
        return StoredResponse({"name": made.name})

    asked: JsonObject = {"name": server.name, "launch": to_json(server.launch)}
    receipt = await desk.services.use.do_once(
        desk.caller, WriteRequest("console.servers.add", asked, key), action
    )
    return str(receipt.body["name"])


async def _drawn(request: Request, adding: Adding) -> Response:
    wrong = adding.problem
    status = 200 if wrong is None else status_of(wrong)
    values = {"adding": adding}
    return await page(request, "servers/add.html", values, title="Add servers", status=status)


paste_routes: Final = [
    Route("/servers/_add", show_add, methods=["GET"]),
    Route("/servers/_add", send, methods=["POST"]),
]

WITHIN: Final = timedelta(days=1)
SAID: Final = {
    "added": "Added, and not started. Look at each of them, and allow it.",
    "removed": "Removed, with its tools.",
}


async def show(request: Request) -> Response:
    values = await _list(request)
    said = SAID.get(request.query_params.get("done", ""))
    return await page(request, "servers/page.html", {**values, "said": said}, title="Servers")


async def show_list(request: Request) -> Response:
    """The same, asked for every few seconds."""
    return part(request, "servers/_list.html", await _list(request))


async def _list(request: Request) -> dict[str, Any]:
    desk, asked = page_context(request), request.query_params
    gateway, caller = desk.services.gateway, desk.caller
    looks = await gateway.list_servers(caller)
    rows = server_rows(looks, await gateway.show_figures(caller, within=WITHIN))
    only = asked.get("only", "")
    shown = chosen(rows, only)
    given = asked.get("start", "")
    start = int(given) if given.isascii() and given.isdigit() and len(given) < 7 else 0
    here = f"only={only}&" if only in {"attention", "off"} else ""
    following = start + PAGE
    return {
        "rows": shown[start:following],
        "counted": counted(rows),
        "which": only,
        "more": f"/servers?{here}start={following}" if following < len(shown) else None,
        "again": f"/servers/_list?{here}start={start}",
        "may_add": caller.may(Scope.SERVERS_WRITE),
    }


routes: Final = [
    Route("/servers", show, methods=["GET"]),
    Route("/servers/_list", show_list, methods=["GET"]),
    *paste_routes,
    *review_routes.approval_routes,
    *server_routes.routes,
]
"""What begins with `_` is no server: their names begin with a letter."""
