"""What somebody pastes to add servers: an `mcpServers` block, one command, or one address.

Values that look like secrets are not taken: what is pasted would be kept as it is. They are given
to Portico by name first, and written here as `secret:NAME`.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from portico.gateway.core.catalog_snapshot import slug
from portico.gateway.core.client_config_values import looks_secret
from portico.gateway.core.client_configs import Client, described, listed
from portico.gateway.core.config_documents import (
    Described,
    Entry,
    Place,
    Unreadable,
    as_text,
    parsed,
    value_at,
)
from portico.gateway.core.launch import shown
from portico.gateway.core.pins import package_of
from portico.gateway.core.servers import Foreign, FromFile, Http, Plain, Stdio, Value
from portico.kernel.json import JsonObject
from portico.kernel.redaction import blacked_out

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
    place = Place(path=_PATH, home=_HOME, own_url=own_url)
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
