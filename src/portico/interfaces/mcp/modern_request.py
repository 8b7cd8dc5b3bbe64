"""One request of 2026-07-28, read off the wire: everything about it is in it.

Only what is plainly right is read here. Whatever is not, the SDK reads again, and tells what is
wrong with it in the protocol's words.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp_types import CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY
from mcp_types.methods import validate_client_request
from pydantic import ValidationError
from pydantic_core import from_json

from portico.interfaces.mcp.conversation import Hearing
from portico.kernel.json import JsonObject

ASKING: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""What may be answered with a question."""
_ROUTING: Final = frozenset({"mcp-protocol-version", "mcp-method", "mcp-name"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModernRequest:
    id: str | int
    method: str
    params: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def name(self) -> str:
        return str(self.params["uri" if self.method == "resources/read" else "name"])

    @property
    def arguments(self) -> JsonObject:
        return self.params.get("arguments") or {}

    @property
    def same(self) -> object:
        return self.method, self.name, self.arguments

    @property
    def capabilities(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.params["_meta"][CLIENT_CAPABILITIES_META_KEY]
        return found

    @property
    def hearing(self) -> Hearing:
        meta = self.params["_meta"]
        return Hearing(
            progress_token=meta.get("progressToken"), log_level=meta.get(LOG_LEVEL_META_KEY)
        )

    @property
    def state(self) -> str | None:
        return self.params.get("requestState")

    @property
    def responses(self) -> Mapping[str, JsonObject]:
        return self.params.get("inputResponses") or {}


def read_request(raw_headers: Iterable[tuple[bytes, bytes]], body: bytes) -> ModernRequest | None:
    """None for what is not plainly one of those that may be answered with a question."""
    headers = _headers(raw_headers)
    if headers is None or not _acceptable(headers):
        return None
    try:
        message = from_json(body, allow_inf_nan=False)
    except ValueError:
        return None
    if not _is_request(message) or message["method"] not in ASKING:
        return None
    route = classify_inbound_request(message, headers=headers)
    if not isinstance(route, InboundModernRoute):
        return None
    try:
        validate_client_request(message["method"], route.protocol_version, message["params"])
    except (ValidationError, KeyError):
        return None
    return ModernRequest(
        id=message["id"], method=message["method"], params=message["params"], headers=headers
    )


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str] | None:
    """None if one that decides something is there twice: two readers could differ about it."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key = name.decode("latin-1")
        if key in headers and (key in _ROUTING or key.startswith("mcp-param-")):
            return None
        headers[key] = value.decode("latin-1")
    return headers


def _acceptable(headers: Mapping[str, str]) -> bool:
    accept = headers.get("accept", "")
    both = "application/json" in accept and "text/event-stream" in accept
    return (both or "*/*" in accept) and headers.get("content-type", "").startswith(
        "application/json"
    )


def _is_request(message: object) -> bool:
    return (
        isinstance(message, dict)
        and message.get("jsonrpc") == "2.0"
        and type(message.get("id")) in {str, int}
        and isinstance(message.get("method"), str)
        and isinstance(message.get("params"), dict)
    )
