"""A server of tools that wants to know who is calling: python -m tests.sign_in.tool_server < JSON

It takes the tokens of one issuer, made for itself, and writes down whose token came with each
call beside whom the call says that it is for. Says `ready` when it listens.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import jwt
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_METADATA = "/.well-known/oauth-protected-resource/mcp"


class Doorman:
    """Lets in whoever has a token of the issuer's for this server."""

    def __init__(self, app: ASGIApp, url: str, issuer: str) -> None:
        self._app = app
        self._url = url
        self._issuer = issuer
        self._keys = jwt.PyJWKClient(f"{issuer}/jwks")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == _METADATA:
            document = {
                "resource": f"{self._url}/mcp",
                "authorization_servers": [self._issuer],
                "scopes_supported": ["tools"],
            }
            await JSONResponse(document)(scope, receive, send)
        else:
            claims = self._claims(dict(scope["headers"]).get(b"authorization", b""))
            scope["claims"] = claims
            await (self._app if claims else self._stranger)(scope, receive, send)

    def _claims(self, header: bytes) -> dict[str, Any] | None:
        token = header.decode().removeprefix("Bearer ")
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                audience=f"{self._url}/mcp",
                issuer=self._issuer,
                leeway=0,
            )
        except jwt.PyJWTError:
            return None
        return claims

    async def _stranger(self, scope: Scope, receive: Receive, send: Send) -> None:
        told = f'Bearer error="invalid_token", resource_metadata="{self._url}{_METADATA}"'
        answer = JSONResponse({"error": "who are you?"}, 401, headers={"WWW-Authenticate": told})
        await answer(scope, receive, send)


def build(url: str, issuer: str, book: Path) -> ASGIApp:
    writing = threading.Lock()

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        schema = {"type": "object", "properties": {"for": {"type": "string"}}}
        hint = types.ToolAnnotations(read_only_hint=True)
        tool = types.Tool(
            name="who_am_i", description="Who.", input_schema=schema, annotations=hint
        )
        return types.ListToolsResult(tools=[tool])

    async def call_tool(context: Any, params: Any) -> types.CallToolResult:
        request = context.request
        claims = request.scope["claims"]
        subject = str(claims["sub"])
        said = (params.arguments or {}).get("for")
        line = {"token": subject, "said": said, "id": claims["jti"]}
        with writing, book.open("a") as stream:
            stream.write(json.dumps(line) + "\n")
        return types.CallToolResult(content=[types.TextContent(type="text", text=subject)])

    server = Server[Any]("guarded", version="1.0", on_list_tools=list_tools, on_call_tool=call_tool)
    return Doorman(server.streamable_http_app(), url, issuer)


def main() -> None:
    told = json.load(sys.stdin)
    url = f"http://127.0.0.1:{told['port']}"
    app = build(url, told["issuer"], Path(told["book"]))

    class Telling(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            sys.stdout.write("ready\n")
            sys.stdout.flush()

    Telling(uvicorn.Config(app, "127.0.0.1", told["port"], log_config=None)).run()


if __name__ == "__main__":
    main()
