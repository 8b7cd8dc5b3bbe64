"""Codex: TOML, `[mcp_servers.NAME]`; secrets by the names of the variables that hold them."""

from collections.abc import Iterator, Mapping
from typing import Final

from portico.gateway.core.client_files.client import Client, Listed, listed, names_in, seconds
from portico.gateway.core.client_files.entry import Entry
from portico.gateway.core.server import FromEnvironment, Template, Value
from portico.kernel.json import JsonObject

_IN_CLEAR: Final = "it has a bearer_token, which Codex refuses too: name a bearer_token_env_var"


def _entries(document: JsonObject) -> Iterator[Entry]:
    return (_entry(each) for each in listed(document, "mcp_servers"))


def _entry(found: Listed) -> Entry:
    chosen = found.get("enabled_tools") is not None or found.get("disabled_tools") is not None
    return Entry(
        name=found.name,
        pointer=found.pointer,
        fields=found.fields,
        headers="http_headers",
        transport="streamable",
        timeout=seconds(found.get("tool_timeout_sec")),
        environment={name: FromEnvironment(name) for name in _passed_on(found)},
        more_headers=dict(_headers(found)),
        otherwise="codex",
        notes=["enabled_tools and disabled_tools do not count here"] if chosen else [],
        refused=_IN_CLEAR if found.get("bearer_token") is not None else "",
    )


def _passed_on(found: Listed) -> Iterator[str]:
    """The variables that it is given as they are; those of a remote machine are not ours."""
    listing = found.get("env_vars")
    yield from names_in(listing)
    for each in listing if isinstance(listing, list) else ():
        if isinstance(each, Mapping) and each.get("source") != "remote":
            yield from names_in([each.get("name")])


def _headers(found: Listed) -> Iterator[tuple[str, Value]]:
    named = found.get("env_http_headers")
    for header, variable in named.items() if isinstance(named, Mapping) else ():
        if isinstance(variable, str):
            yield header, FromEnvironment(variable)
    token = found.get("bearer_token_env_var")
    if isinstance(token, str):
        yield "Authorization", Template(("Bearer ", FromEnvironment(token)))


CODEX: Final = Client(
    name="codex",
    title="Codex",
    key="mcp_servers",
    user=("${CODEX_HOME:-~/.codex}/config.toml",),
    project=(".codex/config.toml",),
    entries=_entries,
)
