"""What we say of ourselves, and what each request of the modern era carries along."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
)

from portico.adapters.mcp.wire import Message
from portico.gateway.core.calls import Wanted

_ABLE: Final[Mapping[Wanted, tuple[str, Message]]] = {
    Wanted.ELICITATION: ("elicitation", {"form": {}}),
    Wanted.SAMPLING: ("sampling", {}),
    Wanted.ROOTS: ("roots", {}),
}
"""No links to be opened: whoever follows one logs in on a connection that others share."""


def capabilities(able: AbstractSet[Wanted]) -> Message:
    return dict(_ABLE[wanted] for wanted in Wanted if wanted in able)


def client_info(version: str) -> Message:
    return {"name": "portico", "title": "Portico", "version": version}


def stamped(
    params: Message,
    version: str,
    info: Message,
    able: AbstractSet[Wanted],
    log_level: str | None = None,
) -> Message:
    """Every request stands alone, so every request says who asks and what they could answer."""
    meta = {
        **params.get("_meta", {}),
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_INFO_META_KEY: info,
        CLIENT_CAPABILITIES_META_KEY: capabilities(able),
        **({} if log_level is None else {LOG_LEVEL_META_KEY: log_level}),
    }
    return {**params, "_meta": meta}


def routing(method: str, params: Message, version: str) -> dict[str, str]:
    """The headers by which a request is led to its place."""
    headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: method}
    name = params.get(NAME_BEARING_METHODS.get(method, ""))
    if isinstance(name, str):
        headers[MCP_NAME_HEADER] = encode_header_value(name)
    return headers
