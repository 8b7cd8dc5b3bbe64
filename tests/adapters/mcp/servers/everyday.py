"""A server on the SDK, which speaks both eras, over stdio and over HTTP."""

from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.message import ServerMessageMetadata

Context = ServerRequestContext[Any, Any]
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
MODERN = "2026-07-28"


def text(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=words)])


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


class Everyday:
    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.cancelled: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.started = anyio.Event()
        self.let_go = anyio.Event()
        self.finish = anyio.Event()
        self.names = [
            "echo",
            "structured",
            "fail",
            "slow",
            "ask",
            "model",
            "grow",
            "region",
            "aside",
        ]

    def server(self) -> Server[Any]:
        return Server(
            "everyday",
            version="2.0",
            instructions="Use me every day.",
            get_tool_input_schema=lambda name: self.schemas().get(name),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_completion=self.complete,
            on_subscriptions_listen=ListenHandler(self.bus),
        )

    def schemas(self) -> dict[str, dict[str, Any]]:
        region = schema(region={"type": "string", "x-mcp-header": "Region"})
        return {name: region if name == "region" else schema() for name in self.names}

    async def list_tools(
        self, _context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """A page of three."""
        begin = int(params.cursor) if params and params.cursor else 0
        page = list(self.schemas().items())[begin : begin + 3]
        tools = [types.Tool(name=name, input_schema=schema) for name, schema in page]
        more = str(begin + 3) if begin + 3 < len(self.names) else None
        return types.ListToolsResult(tools=tools, next_cursor=more)

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if context.request is not None:
            self.headers.append(dict(context.request.headers))
        if params.name == "aside":
            return await self.ask_aside(context, params)
        known = {"slow": self.slow, "ask": self.ask, "model": self.model, "grow": self.grow}
        if params.name in known:
            return await known[params.name](context, params)
        return self.plain(params.name, params.arguments or {})

    def plain(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        if name == "structured":
            return types.CallToolResult(
                content=[types.TextContent(type="text", text="see there")],
                structured_content={"sum": 3, "parts": [1, 2], "nothing": None},
                _meta={"example.org/seen": True},
            )
        if name == "fail":
            return types.CallToolResult(
                content=[types.TextContent(type="text", text="no luck")], is_error=True
            )
        return text(str(arguments.get("text") or arguments.get("region") or ""))

    async def slow(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = params.arguments or {}
        self.started.set()
        try:
            for step in range(arguments.get("steps", 0)):
                await context.session.report_progress(step + 1, arguments["steps"], "on the way")
            if arguments.get("wait"):
                await self.finish.wait()
            await anyio.sleep(arguments.get("seconds", 0))
        except anyio.get_cancelled_exc_class():
            self.cancelled.append("slow")
            raise
        return text("done")

    async def ask(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if context.protocol_version != MODERN:
            answer = await context.session.elicit_form(
                "Who are you?", FORM, related_request_id=context.request_id
            )
            return text(f"{answer.action} {answer.content}")
        if params.input_responses is None:
            question = types.ElicitRequest(
                params=types.ElicitRequestFormParams(message="Who?", requested_schema=FORM)
            )
            return types.InputRequiredResult(
                input_requests={"who": question}, request_state="remember me"
            )
        given: Any = params.input_responses["who"]
        return text(f"{given.action} {given.content} {params.request_state}")

    async def ask_aside(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """As many servers do: without saying which call it belongs to."""
        if params.arguments:
            await self.let_go.wait()
        answer = await context.session.elicit_form("Who are you?", FORM)
        failed = answer.action == "cancel"
        said = types.TextContent(type="text", text=f"{answer.action} {answer.content}")
        return types.CallToolResult(content=[said], is_error=failed)

    async def model(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        said = types.SamplingMessage(
            role="user", content=types.TextContent(type="text", text="Say it")
        )
        question = types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(messages=[said], max_tokens=10)
        )
        if context.protocol_version != MODERN:
            mine = ServerMessageMetadata(related_request_id=context.request_id)
            answer: Any = await context.session.send_request(
                question, types.CreateMessageResult, metadata=mine
            )
            return text(answer.content.text)
        if params.input_responses is None:
            return types.InputRequiredResult(
                input_requests={"say": question, "folders": types.ListRootsRequest()},
                request_state="s",
            )
        given: Any = params.input_responses
        return text(f"{given['say'].content.text} {len(given['folders'].roots)}")

    async def grow(self, context: Context, _params: Any) -> types.CallToolResult:
        self.names.append(f"new{len(self.names)}")
        if context.protocol_version == MODERN:
            await self.bus.publish(ToolsListChanged())
        else:
            await context.session.send_tool_list_changed()
        return text("grown")

    async def list_resources(self, _context: Context, _params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[types.Resource(name="a", uri="test://a")])

    async def list_templates(
        self, _context: Context, _params: Any
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(name="t", uri_template="test://{name}")
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, _context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        content = types.TextResourceContents(uri=params.uri, text="what is in it")
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(self, _context: Context, _params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(name="greet")])

    async def get_prompt(
        self, _context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        said = types.TextContent(type="text", text=f"Hello {(params.arguments or {})['name']}")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=said)])

    async def complete(
        self, _context: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        values = [f"{params.argument.value}a"]
        return types.CompleteResult(completion=types.Completion(values=values))


async def serve() -> None:
    server = Everyday().server()
    options = server.create_initialization_options(NotificationOptions(tools_changed=True))
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, options)


def main() -> None:
    anyio.run(serve)
