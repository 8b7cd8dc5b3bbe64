"""What every method has in common: who asks, and how what it raises is told."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from portico.interfaces.mcp.answers import BROKE, error_data
from portico.interfaces.mcp.knock import Knock, knock_of
from portico.interfaces.mcp.sessions import Session, session_of
from portico.kernel.errors import PorticoError

Context = ServerRequestContext[Any, Any]
Handler = Callable[..., Awaitable[Any]]
_log: Final = logging.getLogger("portico.mcp")


def handle(server: Server[Any], handlers: Mapping[str, tuple[type[BaseModel], Handler]]) -> None:
    for method, (params, handler) in handlers.items():
        server.add_request_handler(method, params, _told(method, handler))


def knock_in(context: Context) -> Knock:
    if context.request is None:
        raise RuntimeError("a request that did not come over HTTP")
    return knock_of(context.request.scope)


def session_in(context: Context) -> Session:
    if context.request is None:
        raise RuntimeError("a request that did not come over HTTP")
    return session_of(context.request.scope)


def _told(method: str, handler: Handler) -> Handler:
    async def telling(context: Context, params: BaseModel) -> Any:  # noqa: ANN401 # as the SDK has it
        modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        try:
            result = await handler(context, params)
        except PorticoError as error:
            told = error_data(error, uri=getattr(params, "uri", None), modern=modern)
            raise MCPError.from_error_data(told) from error
        except MCPError:
            raise
        except Exception as error:  # the SDK would tell its text
            _log.exception("%s failed", method)
            raise MCPError.from_error_data(BROKE) from error
        return {"resultType": "complete", **result} if modern and type(result) is dict else result

    return telling
