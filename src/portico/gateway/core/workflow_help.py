"""How a plan is written, for a model that asks before it writes one."""

from typing import Final

from portico.gateway.core.surface import RUN_PROGRAM, RUN_WORKFLOW
from portico.kernel.json import JsonObject

HOW_TO_PLAN: Final = (
    "Without a plan: `intent` alone says what you want, with every value that it needs; a plan is "
    "suggested for it, with what is missing as `inputs`, and run by its `suggestion`. If it was of "
    "no use, say so by feedback. `plan.steps` are calls of tools (`server.tool`, as search_tools "
    "names them). A step begins as soon as what it refers to is there, so independent ones run at "
    "once. Inside `arguments`, "
    '{"$from": "STEP.PATH"} is what an earlier step gave: PATH is JMESPath into {content, '
    'structuredContent, text, json}, `json` being its result as data; {"$text": "… ${STEP.PATH} '
    '…"} puts it into a text; "default" is for a path to nothing, which otherwise is a fault. '
    "`inputs.NAME` is an input of the plan. `for_each` runs a step once an item, which is `item` "
    "there. Every step is guarded as a call by itself: one that somebody has to approve waits, and "
    "you are told. A plan that lacks a required argument is not run: you are told which step could "
    'give it, and say which you mean by "accept". `mode` "inline" is faster, and for plans that '
    "only read."
)
HOW_TO_PROGRAM: Final = (
    "A small Python program whose only powers are tools: `await server__tool(name=value)`, with "
    '`_` for every letter of a name that Python has no place for, or `await call("server.tool", '
    "{...})`. A call gives its result as data if it has any, else as text; asyncio.gather runs "
    "several at once. One that fails raises: PermissionError, TimeoutError, ValueError, "
    "LookupError or RuntimeError. `inputs` are variables. What you see is what it prints, and what "
    "its last line is worth. There are few modules (asyncio, json, re, math, datetime, csv), no "
    "generators, no files and no network. Every call is guarded as a call by itself: one "
    "that somebody has to approve waits, and you are told."
)
EXAMPLE: Final[JsonObject] = {
    "plan": {
        "inputs": {"city": {"type": "string"}},
        "required": ["city"],
        "steps": [
            {
                "id": "find",
                "tool": "web.search",
                "arguments": {"query": {"$text": "weather in ${inputs.city}"}},
            },
            {
                "id": "read",
                "tool": "web.fetch",
                "for_each": {"in": {"$from": "find.json.results[].url"}, "most": 5},
                "arguments": {"url": {"$from": "item"}},
                "on_error": "skip",
            },
            {
                "id": "note",
                "tool": "notes.write",
                "when": "length(read.items) > `0`",
                "arguments": {
                    "title": {"$from": "inputs.city"},
                    "body": {"$from": "read.items[0].text", "default": "nothing found"},
                },
            },
        ],
        "output": {"$from": "note.json"},
    },
    "inputs": {"city": "Lund"},
}


def own_tools(plan_schema: JsonObject) -> dict[str, JsonObject]:
    """What is told of the door's own tools whose arguments have no room where tools are listed."""
    return {
        RUN_WORKFLOW: {
            "tool": RUN_WORKFLOW,
            "description": HOW_TO_PLAN,
            "planSchema": plan_schema,
            "example": EXAMPLE,
        },
        RUN_PROGRAM: {"tool": RUN_PROGRAM, "description": HOW_TO_PROGRAM},
    }
