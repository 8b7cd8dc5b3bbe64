"""What a request of 2026-07-28 says in its HTTP headers too; on a pipe it says it only inside."""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

Wanted = Mapping[tuple[str, ...], str]
"""Where in a tool's arguments a value stands, and in which header it is wanted."""

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_NAMES: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_MARK: Final = "=?base64?"


def modern_headers(
    message: Mapping[str, Any], wanted_by: Mapping[str, Wanted]
) -> dict[str, str] | None:
    """None for a message of the handshake era."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_VERSION) if isinstance(meta, dict) else None
    if not isinstance(params, dict) or not isinstance(version, str):
        return None
    method = str(message.get("method"))
    headers = {"MCP-Protocol-Version": encoded(version), "Mcp-Method": encoded(method)}
    name = params.get(_NAMES.get(method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = encoded(name)
        if method == "tools/call":
            headers |= _of_arguments(wanted_by.get(name, {}), params.get("arguments"))
    return headers


def wanted_headers(schema: object) -> Wanted:
    """As the protocol has it: a property, reached through properties alone."""
    return dict(_wanted(schema, ()))


def _wanted(schema: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if not isinstance(schema, dict):
        return
    if isinstance(header := schema.get("x-mcp-header"), str):
        yield path, header
    properties = schema.get("properties")
    if isinstance(properties, dict) and len(path) < 16:
        for name, inner in properties.items():
            yield from _wanted(inner, (*path, name))


def _of_arguments(wanted: Wanted, arguments: object) -> dict[str, str]:
    headers = {}
    for path, name in wanted.items():
        value = arguments
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, bool):
            headers[f"Mcp-Param-{name}"] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            headers[f"Mcp-Param-{name}"] = encoded(str(value))
    return headers


def encoded(value: str) -> str:
    """Whatever a header cannot carry as it is, is carried in base 64."""
    if (not value or _PLAIN.fullmatch(value)) and not value.startswith(_MARK):
        return value
    return f"{_MARK}{base64.b64encode(value.encode()).decode()}?="
