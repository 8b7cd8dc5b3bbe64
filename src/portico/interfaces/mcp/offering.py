"""What may be asked for, whichever era asks: a tool's call, a prompt, a resource."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from portico.gateway.core.resources_and_prompts import our_uri, whose_uri
from portico.gateway.ports import Line
from portico.interfaces.mcp.answers import Result
from portico.interfaces.mcp.calls import Calls
from portico.interfaces.mcp.knock import Knock
from portico.interfaces.mcp.modern_request import ModernRequest
from portico.interfaces.mcp.uses import GatewayUses
from portico.kernel.json import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class Offering:
    use: GatewayUses

    async def __call__(self, knock: Knock, request: ModernRequest, line: Line) -> Result:
        """Raises `PorticoError`."""
        if request.method == "tools/call":
            return await self.call(knock, request.name, request.arguments, line, modern=True)
        if request.method == "prompts/get":
            return await self.prompt(knock, request.name, request.arguments, line)
        read = await self.resource(knock, request.name, line)
        # It may change whenever its server likes, and nobody would tell.
        return {"ttlMs": 0, "cacheScope": "private", **read}

    async def call(
        self, knock: Knock, name: str, arguments: JsonObject, line: Line, *, modern: bool
    ) -> Result:
        return await Calls(self.use)(knock, name, arguments, line, modern=modern)

    async def prompt(self, knock: Knock, name: str, arguments: JsonObject, line: Line) -> Result:
        texts = {key: str(value) for key, value in arguments.items()}
        return dict(
            await self.use.get_prompt(knock.caller, name, texts, server=knock.server, line=line)
        )

    async def resource(self, knock: Knock, uri: str, line: Line) -> Result:
        read = dict(await self.use.read_resource(knock.caller, uri, server=knock.server, line=line))
        contents = read.get("contents")
        if knock.server is None and isinstance(contents, list):
            read["contents"] = [_under_our_name(uri, each) for each in contents]
        return read

    async def schema(self, knock: Knock, name: str) -> Mapping[str, Any] | None:
        """What a tool that is listed under its own name takes; None for those of the door.
        Raises `PorticoError`."""
        if knock.server is not None:
            return (await self.use.list_server_tools(knock.caller, knock.server)).schema(name)
        if Calls.is_own(name):
            return None
        surface = await self.use.show_surface(knock.caller)
        hot = next((tool for tool in surface.hot if tool.name == name), None)
        return None if hot is None else hot.input_schema


def _under_our_name(asked: str, content: JsonValue) -> JsonValue:
    """A client looks for what it has asked for, and can ask for what else came along."""
    if not isinstance(content, Mapping) or not isinstance(uri := content.get("uri"), str):
        return content
    return {**content, "uri": our_uri(whose_uri(asked)[0], uri)}
