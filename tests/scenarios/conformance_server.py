"""The server behind the gateway that the conformance scenarios need: their tools, by their names.

    python conformance_server.py modern|legacy
    python conformance_server.py http PORT

The same questions are asked in the way of the era: as requests of its own, or as results.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolRequestParams,
    CompleteRequestParams,
    CreateMessageResult,
    ElicitResult,
    GetPromptRequestParams,
    InputRequiredResult,
    ListRootsResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    PaginatedRequestParams,
    PromptListChangedNotification,
    ReadResourceRequestParams,
    SetLevelRequestParams,
    SubscriptionsListenRequestParams,
    ToolListChangedNotification,
)
from mcp_types.methods import parse_server_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context = ServerRequestContext[Any, Any]
Result = dict[str, Any]
Params = CallToolRequestParams | GetPromptRequestParams

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)
WAVE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="


def form(message: str, properties: Result, *required: str) -> Result:
    schema = {"type": "object", "properties": properties, "required": [*required]}
    return {"message": message, "requestedSchema": schema}


NAME = form("What is your name?", {"name": {"type": "string"}}, "name")
CONFIRM = form("Please confirm", {"ok": {"type": "boolean"}}, "ok")
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {
        "type": "string",
        "enum": ["active", "inactive", "pending"],
        "default": "active",
    },
    "verified": {"type": "boolean", "default": True},
}
THREE = ["option1", "option2", "option3"]
TITLED = [
    {"const": f"value{number}", "title": f"{word} Option"}
    for number, word in enumerate(["First", "Second", "Third"], 1)
]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": THREE},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": THREE}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
DRAFT_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
NO_ARGUMENTS = {"type": "object", "properties": {}}


def text(said: str) -> Result:
    return {"content": [{"type": "text", "text": said}]}


def prompted(prompt: str) -> Result:
    told = {"role": "user", "content": {"type": "text", "text": prompt}}
    return {"messages": [told], "maxTokens": 100}


SAMPLE = prompted("What is the capital of France?")


def modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


class Asks(Exception):
    """Of the later era: the call is answered with what it wants to know."""

    def __init__(self, questions: Result, state: str | None) -> None:
        self.result = InputRequiredResult.model_validate(
            {
                "resultType": "input_required",
                "inputRequests": questions,
                **({} if state is None else {"requestState": state}),
            }
        )


async def asked(
    context: Context, params: Params, questions: Mapping[str, tuple[str, Result]], state: str | None
) -> dict[str, Any]:
    """The answers, by their keys."""
    if modern(context):
        given = params.input_responses or {}
        if any(key not in given for key in questions):
            told = {
                key: {"method": method, "params": asking}
                for key, (method, asking) in questions.items()
            }
            raise Asks(told, state)
        return {key: given[key].model_dump(by_alias=True, mode="json") for key in questions}
    answers: dict[str, Any] = {}
    kinds: Mapping[str, Any] = {
        "elicitation/create": ElicitResult,
        "sampling/createMessage": CreateMessageResult,
        "roots/list": ListRootsResult,
    }
    for key, (method, asking) in questions.items():
        request: Any = parse_server_request(method, context.protocol_version, asking)
        answer: Any = await context.session.send_request(
            request,
            kinds[method],
            metadata=ServerMessageMetadata(related_request_id=context.request_id),
        )
        answers[key] = answer.model_dump(by_alias=True, mode="json")
    return answers


async def one(
    context: Context, params: Params, key: str, question: Result, method: str = "elicitation/create"
) -> Any:
    return (await asked(context, params, {key: (method, question)}, None))[key]


async def log(context: Context, level: Any, said: str) -> None:
    told = LoggingMessageNotificationParams(level=level, data=said)
    await context.session.send_notification(
        LoggingMessageNotification(params=told), context.request_id
    )


Tool = Callable[[Context, CallToolRequestParams], Awaitable[Result]]
TOOLS: dict[str, tuple[str, Result, Tool]] = {}


def tool(described: str, schema: Result = NO_ARGUMENTS, its: str = "") -> Callable[[Tool], Tool]:
    def named(made: Tool) -> Tool:
        name = its or made.__name__  # ty: ignore[missing-attribute] # checked by mypy
        TOOLS[name if name.startswith("json_") else f"test_{name}"] = (described, schema, made)
        return made

    return named


PICTURE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
EMBEDDED = {
    "uri": "test://embedded-resource",
    "mimeType": "text/plain",
    "text": "This is an embedded resource content.",
}
MIXED = {
    "uri": "test://mixed-content-resource",
    "mimeType": "application/json",
    "text": '{"test":"data","value":123}',
}
SAID: Mapping[str, tuple[str, Result]] = {
    "simple_text": (
        "Answers with a text.",
        text("This is a simple text response for testing."),
    ),
    "image_content": ("Answers with a picture.", {"content": [PICTURE]}),
    "audio_content": (
        "Answers with a sound.",
        {"content": [{"type": "audio", "data": WAVE, "mimeType": "audio/wav"}]},
    ),
    "embedded_resource": (
        "Answers with a resource.",
        {"content": [{"type": "resource", "resource": EMBEDDED}]},
    ),
    "multiple_content_types": (
        "Answers with one of each.",
        {
            "content": [
                {"type": "text", "text": "Multiple content types test:"},
                PICTURE,
                {"type": "resource", "resource": MIXED},
            ]
        },
    ),
    "error_handling": (
        "Fails.",
        {**text("This tool intentionally returns an error for testing"), "isError": True},
    ),
    "changing_tool": ("Is not always there.", text("Here.")),
    "json_schema_2020_12_tool": ("Has a schema of the latest draft.", text("Yes.")),
}
"""Tools that answer the same to everybody."""


def constant(answer: Result) -> Tool:
    async def answering(_context: Context, _params: CallToolRequestParams) -> Result:
        return answer

    return answering


for _name, (_described, _answer) in SAID.items():
    _schema = DRAFT_2020_12 if _name.startswith("json_") else NO_ARGUMENTS
    tool(_described, _schema, _name)(constant(_answer))


@tool("Logs what it does.")
async def tool_with_logging(context: Context, _params: CallToolRequestParams) -> Result:
    for said in (
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ):
        await log(context, "info", said)
        await asyncio.sleep(0.05)
    return text("Logged.")


@tool("Logs, whether anybody wants it or not.")
async def logging_tool(context: Context, _params: CallToolRequestParams) -> Result:
    await log(context, "info", "something")
    return text("Logged.")


@tool("Says how far it is.")
async def tool_with_progress(context: Context, _params: CallToolRequestParams) -> Result:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
        await asyncio.sleep(0.05)
    return text("Done.")


@tool(
    "Asks the model of its caller.",
    {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
)
async def sampling(context: Context, params: CallToolRequestParams) -> Result:
    prompt = (params.arguments or {})["prompt"]
    answer = await one(context, params, "llm", prompted(prompt), "sampling/createMessage")
    return text(f"LLM response: {answer['content']['text']}")


@tool(
    "Asks the user of its caller.",
    {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
)
async def elicitation(context: Context, params: CallToolRequestParams) -> Result:
    about = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    question = form((params.arguments or {})["message"], about, *about)
    answer = await one(context, params, "user", question)
    return text(f"User response: {json.dumps(answer)}")


def looking(key: str, properties: Result) -> Tool:
    async def asking(context: Context, params: CallToolRequestParams) -> Result:
        answer = await one(context, params, key, form("Please look at these", properties))
        told = f"action={answer['action']}, content={answer['content']}"
        return text(f"Elicitation completed: {told}")

    return asking


tool("Asks with what is likely.", its="elicitation_sep1034_defaults")(looking("defaults", DEFAULTS))
tool("Asks to choose.", its="elicitation_sep1330_enums")(looking("enums", ENUMS))


@tool("Asks for a name.")
async def input_required_result_elicitation(
    context: Context, params: CallToolRequestParams
) -> Result:
    answer = await one(context, params, "user_name", NAME)
    return text(f"Hello, {(answer['content'] or {}).get('name')}!")


@tool("Asks a model.")
async def input_required_result_sampling(context: Context, params: CallToolRequestParams) -> Result:
    answer = await one(context, params, "capital_question", SAMPLE, "sampling/createMessage")
    return text(answer["content"]["text"])


@tool("Asks for folders.")
async def input_required_result_list_roots(
    context: Context, params: CallToolRequestParams
) -> Result:
    answer = await one(context, params, "client_roots", {}, "roots/list")
    return text(f"Roots: {answer['roots']}")


def remembering(state: str, answer: str) -> Tool:
    async def asking(context: Context, params: CallToolRequestParams) -> Result:
        await asked(context, params, {"confirm": ("elicitation/create", CONFIRM)}, state)
        if modern(context) and params.request_state != state:
            raise MCPError(-32602, "not my state")
        return text(answer)

    return asking


tool("Asks, and remembers by what it is given back.", its="input_required_result_request_state")(
    remembering("upstream-state", "state-ok")
)
tool("Asks, and looks at what it is given back.", its="input_required_result_tampered_state")(
    remembering("sealed", "As it was.")
)


@tool("Asks for three things at once.")
async def input_required_result_multiple_inputs(
    context: Context, params: CallToolRequestParams
) -> Result:
    questions: Mapping[str, tuple[str, Result]] = {
        "user_name": ("elicitation/create", NAME),
        "greeting": ("sampling/createMessage", SAMPLE),
        "client_roots": ("roots/list", {}),
    }
    await asked(context, params, questions, "three")
    return text("All there.")


@tool("Asks twice.")
async def input_required_result_multi_round(
    context: Context, params: CallToolRequestParams
) -> Result:
    if not modern(context):
        await one(context, params, "step1", NAME)
    elif params.request_state is None:
        await asked(context, params, {"step1": ("elicitation/create", NAME)}, "round-1")
    if not modern(context) or params.request_state in {"round-1", "round-2"}:
        await asked(context, params, {"step2": ("elicitation/create", NAME)}, "round-2")
    return text("Both known.")


@tool("Asks only for what its caller can give.")
async def input_required_result_capabilities(
    context: Context, params: CallToolRequestParams
) -> Result:
    can = context.session.client_capabilities
    questions: dict[str, tuple[str, Result]] = {}
    if can is not None and can.sampling is not None:
        questions["sample"] = ("sampling/createMessage", SAMPLE)
    if can is not None and can.elicitation is not None:
        questions["name"] = ("elicitation/create", NAME)
    await asked(context, params, questions, None)
    return text("Enough.")


@tool("Cannot do without a model.")
async def missing_capability(context: Context, params: CallToolRequestParams) -> Result:
    can = context.session.client_capabilities
    if can is None or can.sampling is None:
        needed: Result = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is needed", needed)
    return text(str(await one(context, params, "llm", SAMPLE, "sampling/createMessage")))


@tool("Says how far it is, and then asks.")
async def streaming_elicitation(context: Context, params: CallToolRequestParams) -> Result:
    await context.session.report_progress(1, 2)
    await one(context, params, "user_name", NAME)
    return text("Streamed.")


@tool(
    "Wants its region in a header too.",
    {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
)
async def custom_header(_context: Context, params: CallToolRequestParams) -> Result:
    return text((params.arguments or {})["region"])


class Lists:
    """One tool and one prompt come and go; whoever listens is told."""

    def __init__(self) -> None:
        self.without: set[str] = set()
        self.bus = InMemorySubscriptionBus()

    def turn(self, name: str) -> None:
        self.without ^= {name}


LISTS = Lists()


def turning(name: str, told: Any, told_before: Any) -> Tool:
    async def trigger(context: Context, _params: CallToolRequestParams) -> Result:
        LISTS.turn(name)
        await LISTS.bus.publish(told)
        if not modern(context):
            await context.session.send_notification(told_before)
        return text("Turned.")

    return trigger


tool("Lets a tool come or go.", its="trigger_tool_change")(
    turning("test_changing_tool", ToolsListChanged(), ToolListChangedNotification())
)
tool("Lets a prompt come or go.", its="trigger_prompt_change")(
    turning("test_changing_prompt", PromptsListChanged(), PromptListChangedNotification())
)


PROMPTS: Mapping[str, list[str]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
    "test_changing_prompt": [],
}
RESOURCES: Mapping[str, Result] = {
    "test://static-text": {
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mimeType": "image/png", "blob": PIXEL},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Nothing yet."},
}


async def list_tools(_context: Context, _params: PaginatedRequestParams) -> Result:
    listed = [
        {
            "name": name,
            "description": described,
            "inputSchema": schema,
            "annotations": {"readOnlyHint": True},
        }
        for name, (described, schema, _) in TOOLS.items()
        if name not in LISTS.without
    ]
    return {"tools": listed}


async def call_tool(context: Context, params: CallToolRequestParams) -> Any:
    try:
        return await TOOLS[params.name][2](context, params)
    except Asks as asks:
        return asks.result


async def list_resources(_context: Context, _params: PaginatedRequestParams) -> Result:
    listed = [
        {"uri": uri, "name": uri[7:], "description": f"At {uri}.", "mimeType": each["mimeType"]}
        for uri, each in RESOURCES.items()
    ]
    return {"resources": listed}


async def list_templates(_context: Context, _params: PaginatedRequestParams) -> Result:
    template = {
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "By its id.",
        "mimeType": "application/json",
    }
    return {"resourceTemplates": [template]}


async def read_resource(_context: Context, params: ReadResourceRequestParams) -> Result:
    uri = params.uri
    if uri in RESOURCES:
        return {"contents": [{"uri": uri, **RESOURCES[uri]}]}
    if uri.startswith("test://template/"):
        name = uri.split("/")[3]
        said = json.dumps({"id": name, "templateTest": True, "data": f"Data for ID: {name}"})
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": said}]}
    raise MCPError(-32602, "Resource not found", {"uri": uri})


async def list_prompts(_context: Context, _params: PaginatedRequestParams) -> Result:
    listed = [
        {
            "name": name,
            "description": f"The prompt {name}.",
            "arguments": [{"name": each, "required": True} for each in arguments],
        }
        for name, arguments in PROMPTS.items()
        if name not in LISTS.without
    ]
    return {"prompts": listed}


def said(*contents: Result) -> Result:
    return {"messages": [{"role": "user", "content": each} for each in contents]}


async def get_prompt(context: Context, params: GetPromptRequestParams) -> Any:
    given = params.arguments or {}
    match params.name:
        case "test_prompt_with_arguments":
            told = f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"
            return said({"type": "text", "text": told})
        case "test_prompt_with_embedded_resource":
            told = "Embedded resource content for testing."
            resource = {"uri": given["resourceUri"], "mimeType": "text/plain", "text": told}
            return said(
                {"type": "resource", "resource": resource},
                {"type": "text", "text": "Please process the embedded resource above."},
            )
        case "test_prompt_with_image":
            return said(PICTURE, {"type": "text", "text": "Please analyze the image above."})
        case "test_input_required_result_prompt":
            try:
                answer = await one(context, params, "user_context", NAME)
            except Asks as asks:
                return asks.result
            return said({"type": "text", "text": f"With {answer['content']}"})
        case _:
            return said({"type": "text", "text": "This is a simple prompt for testing."})


async def complete(_context: Context, params: CompleteRequestParams) -> Result:
    words = ["paris", "park", "party"]
    values = [word for word in words if word.startswith(params.argument.value)]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


async def set_level(_context: Context, _params: SetLevelRequestParams) -> Result:
    return {}


def build() -> Server[Any]:
    server: Server[Any] = Server("conformance", version="1.0.0")
    handlers: Mapping[str, tuple[Any, Any]] = {
        "tools/list": (PaginatedRequestParams, list_tools),
        "tools/call": (CallToolRequestParams, call_tool),
        "resources/list": (PaginatedRequestParams, list_resources),
        "resources/templates/list": (PaginatedRequestParams, list_templates),
        "resources/read": (ReadResourceRequestParams, read_resource),
        "prompts/list": (PaginatedRequestParams, list_prompts),
        "prompts/get": (GetPromptRequestParams, get_prompt),
        "completion/complete": (CompleteRequestParams, complete),
        "logging/setLevel": (SetLevelRequestParams, set_level),
        "subscriptions/listen": (SubscriptionsListenRequestParams, ListenHandler(LISTS.bus)),
    }
    for method, (params, handler) in handlers.items():
        server.add_request_handler(method, params, completed(handler))
    return server


def completed(handler: Any) -> Any:
    """Results of the later era say that they are whole, and for how long."""

    async def completing(context: Context, params: Any) -> Any:
        result = await handler(context, params)
        if not isinstance(result, dict) or not modern(context):
            return result
        return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}

    return completing


async def main(era: str) -> None:
    server = build()
    options = server.create_initialization_options(
        NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
    )
    async with stdio_server() as (read, write):
        if era == "legacy":
            await serve_loop(server, read, write, lifespan_state={}, init_options=options)
        else:
            await server.run(read, write, options)


if __name__ == "__main__":
    if sys.argv[1] == "http":
        uvicorn.run(build().streamable_http_app(), port=int(sys.argv[2]), log_level="error")
    else:
        anyio.run(main, sys.argv[1])
