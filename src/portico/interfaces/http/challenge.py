"""What somebody who may not come in is told about where tokens come from (RFC 6750, RFC 9728)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.guard.core.tokens import EVERY, Grants, wanted

METADATA: Final = "/.well-known/oauth-protected-resource"
_NAME: Final = b"www-authenticate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedResource:
    """This server, as those who give out tokens for it know it."""

    resource: str
    base_url: str
    issuers: Sequence[str]
    grants: Grants = field(default_factory=dict)

    @property
    def document(self) -> dict[str, object]:
        return {
            "resource": self.resource,
            "authorization_servers": [*self.issuers],
            "scopes_supported": sorted(scope for scope in self.grants if scope != EVERY),
            "bearer_methods_supported": ["header"],
            "resource_name": "Portico",
        }

    def told(self, message: Message) -> Sequence[tuple[bytes, bytes]]:
        before = dict(message["headers"]).get(_NAME)
        if before is None:
            return list(message["headers"])
        said = f'resource_metadata="{self.base_url}{METADATA}/mcp"'
        if message["status"] == 403:
            scope = before.decode("latin-1").partition('scope="')[2].partition('"')[0]
            told = wanted(scope, self.grants) or scope
            header = f'Bearer realm="portico", error="insufficient_scope", scope="{told}", {said}'
        else:
            header = f"{before.decode('latin-1')}, {said}"
        others = [each for each in message["headers"] if each[0] != _NAME]
        return [*others, (_NAME, header.encode("latin-1"))]


class Challenging:
    """Puts where to get a token, or a better one, into the answer to whoever needs it."""

    def __init__(self, app: ASGIApp, resource: ProtectedResource) -> None:
        self._app = app
        self._resource = resource

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in {401, 403}:
                message["headers"] = self._resource.told(message)
            await send(message)

        await self._app(scope, receive, sending)
