"""What a model is shown of nine hundred tools: ten of ours, and the few that it uses most."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from portico.gateway.core.tool import ToolRef
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.words import many

SEARCH: Final = "search_tools"
DESCRIBE: Final = "describe_tools"
READ_RESULT: Final = "read_result"
RUN_WORKFLOW: Final = "run_workflow"
WORKFLOW_STATUS: Final = "workflow_status"
RUN_PROGRAM: Final = "run_program"
FEEDBACK: Final = "feedback"
FEEDBACK_OUTCOMES: Final = ("accepted", "rejected", "modified")

_READS: Final[JsonObject] = {"readOnlyHint": True}
_TEXT: Final[JsonObject] = {"type": "string"}
_OBJECT: Final[JsonObject] = {"type": "object"}
# That it does not only read is what a client takes for granted of a tool that says nothing of it.
_CHANGES: Final[JsonObject] = {"destructiveHint": False}
_MAY_DESTROY: Final[JsonObject] = {"destructiveHint": True}
_CALL: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "server.tool"},
        "arguments": {"type": "object"},
    },
    "required": ["tool"],
}


@dataclass(frozen=True, slots=True)
class HotTool:
    """One that is listed directly, under a name that every vendor of models accepts."""

    name: str
    ref: ToolRef
    description: str
    input_schema: JsonObject
    effect: Effect

    def listed(self) -> JsonObject:
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": hints(self.effect),
        }


def hints(effect: Effect) -> JsonObject:
    """For a client's own permission screen: what an operator accepted, not what a server says."""
    if effect.reads_only:
        return {"readOnlyHint": True}
    return {"readOnlyHint": False, "destructiveHint": effect.destroys}


def search_description(counts: Mapping[str, int], fits: Callable[[str], bool]) -> str:
    """Made from what there is, so that a model knows when to look. As many servers are named as
    fit: those with the most tools come first in `counts`."""
    servers = [f"{name} {count}" for name, count in counts.items()]
    for named in _fewer(len(servers)):
        told = _told(servers, named, sum(counts.values()))
        if fits(told):
            return told
    return _told(servers, 0, sum(counts.values()))


def _told(servers: Sequence[str], named: int, tools: int) -> str:
    if not servers:
        return "Find tools by what they should do. No server has been approved yet."
    rest = len(servers) - named
    more = f" and {rest} more servers" if rest else ""
    listed = f": {', '.join(islice(servers, named))}{more}" if named else ""
    return (
        f"Find the right one of {many(tools, 'tool')} on {many(len(servers), 'server')}{listed}. "
        "Use it before saying that something cannot be done. "
        "One query a step of the task, each saying what a tool should do. "
        "Without queries: the tools you found before."
    )


def _fewer(many: int) -> Iterator[int]:
    yield many
    while many > 0:
        many = many * 9 // 10
        yield many


def fixed_tools(description: str) -> Sequence[JsonObject]:
    return [
        _tool(
            SEARCH,
            description,
            {
                "queries": {"type": "array", "items": {"type": "string"}, "maxItems": 16},
                "budget": {"type": "integer", "description": "tokens of the reply"},
            },
            annotations=_READS,
        ),
        _tool(
            DESCRIBE,
            "Schemas and whole descriptions of tools that were found.",
            {"tools": {"type": "array", "items": {"type": "string"}, "maxItems": 20}},
            required=["tools"],
            annotations=_READS,
        ),
        _call("call_read", "Call a tool marked read.", _READS),
        _call(
            "call_write",
            "Call a tool marked write: what it changes can be changed back.",
            _CHANGES,
        ),
        _call(
            "call_destructive",
            "Call a tool marked destructive: it deletes, or nobody knows what it does.",
            _MAY_DESTROY,
        ),
        _tool(
            READ_RESULT,
            "The next page of a long result, or what came of a call that waited (apr_…).",
            {"result": _TEXT, "page": {"type": "integer"}},
            required=["result"],
            annotations=_READS,
        ),
        _tool(
            RUN_WORKFLOW,
            "Several calls in one turn. `intent` alone, what you want with its values: a plan is "
            "suggested, to be run by `suggestion`. Or write a `plan`: "
            f'{DESCRIBE}(["{RUN_WORKFLOW}"]) shows how.',
            {
                "intent": _TEXT,
                "suggestion": _TEXT,
                "plan": _OBJECT,
                "name": {"type": "string", "description": "of a saved one"},
                "inputs": _OBJECT,
                "accept": {"type": "array", "items": _TEXT},
                "mode": {"enum": ["durable", "inline"]},
            },
            annotations=_MAY_DESTROY,
        ),
        _tool(
            WORKFLOW_STATUS,
            "How far a run_… is, and what it gave.",
            {"run": _TEXT, "wait": {"type": "integer", "description": "seconds"}},
            required=["run"],
            annotations=_READS,
        ),
        _tool(
            RUN_PROGRAM,
            "Python whose functions are the tools: await server__tool(name=value).",
            {"code": _TEXT, "inputs": _OBJECT},
            required=["code"],
            annotations=_MAY_DESTROY,
        ),
        _tool(
            FEEDBACK,
            "What a suggestion (sug_…), or the run that it led to, was worth.",
            {"run": _TEXT, "outcome": {"enum": [*FEEDBACK_OUTCOMES]}},
            required=["run", "outcome"],
            annotations=_CHANGES,
        ),
    ]


def _call(name: str, description: str, annotations: JsonObject) -> JsonObject:
    return {
        "name": name,
        "description": description,
        "inputSchema": _CALL,
        "annotations": annotations,
    }


def _tool(
    name: str,
    description: str,
    properties: JsonObject,
    *,
    annotations: JsonObject,
    required: Iterable[str] = (),
) -> JsonObject:
    schema: dict[str, JsonValue] = {"type": "object", "properties": properties}
    if wanted := list(required):
        schema["required"] = wanted
    return {
        "name": name,
        "description": description,
        "inputSchema": schema,
        "annotations": annotations,
    }


def _arguments(tool: JsonObject) -> Sequence[str]:
    schema = tool["inputSchema"]
    properties = schema["properties"] if isinstance(schema, Mapping) else None
    return [*properties] if isinstance(properties, Mapping) else ()


TAKES: Final[Mapping[str, Sequence[str]]] = {
    str(tool["name"]): _arguments(tool) for tool in fixed_tools("")
}
"""The arguments of each of ours."""
