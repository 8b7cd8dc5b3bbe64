"""What a model is shown: surface, cards, signatures."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Final

from portico.gateway.core.calls import Verb, verb_for
from portico.gateway.core.catalog_snapshot import Definition, ToolRef
from portico.gateway.core.inferred_schema import ObservedSchema, line_of, vague
from portico.gateway.core.tool_schemas import is_local, target
from portico.gateway.core.untrusted_text import cut, first_sentence, plain
from portico.kernel.effect import Effect
from portico.kernel.errors import many
from portico.kernel.json import JsonObject, JsonValue

# What a tool takes, as short as a model can still call it by: `owner: str, labels?: [str]`.

_MOST: Final = 12
"""Parameters that are shown; those that are required come first."""
_MOST_OPTIONS: Final = 6
_MOST_FIELDS: Final = 5
_DEEPEST: Final = 3
_SHORT: Final = {
    "string": "str",
    "integer": "int",
    "number": "num",
    "boolean": "bool",
    "null": "null",
    "object": "obj",
    "array": "[any]",
}
_WORD: Final = re.compile(r"[\w.:/@+%*,-][\w.:/@+%*, -]{0,23}")


def signature(ref: ToolRef, definition: Definition) -> str:
    return f"{ref}({', '.join(_parameters(definition.input_schema))})"


def _parameters(schema: JsonObject) -> Iterator[str]:
    properties = _members(schema, "properties")
    needed = [name for name in _names(schema.get("required")) if name in properties]
    order = [*dict.fromkeys(needed), *(name for name in properties if name not in needed)]
    for name in order[:_MOST]:
        yield _parameter(name, properties[name], schema, required=name in needed)
    if len(order) > _MOST:
        yield f"…{len(order) - _MOST} more"


def _parameter(name: str, schema: JsonValue, root: JsonObject, *, required: bool) -> str:
    optional = "" if required else "?"
    return f"{_name(name)}{optional}: {_type(schema, root)}{_default(schema)}"


def _name(name: str) -> str:
    return re.sub(r"[^\w$.@-]", "_", name)[:64]


def _default(schema: JsonValue) -> str:
    default = schema.get("default") if isinstance(schema, Mapping) else None
    told = None if default is None else _value(default)
    return f"={told}" if told and len(told) <= 12 else ""


def _type(schema: JsonValue, root: JsonObject, depth: int = 0) -> str:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "any"
    ref = schema.get("$ref")
    if isinstance(ref, str):
        return _type(target(root, ref), root, depth + 1) if is_local(ref) else "any"
    if options := _options(schema):
        return options
    for keyword in ("anyOf", "oneOf", "allOf"):
        if branches := _list(schema.get(keyword)):
            return _union([_type(branch, root, depth + 1) for branch in branches])
    return _union([_named(kind, schema, root, depth) for kind in _kinds(schema)])


def _named(kind: str, schema: JsonObject, root: JsonObject, depth: int) -> str:
    if kind == "array" and "items" in schema:
        return f"[{_type(schema['items'], root, depth + 1)}]"
    if kind == "object":
        return _fields(schema, root, depth)
    return _SHORT.get(kind, "any")


def _fields(schema: JsonObject, root: JsonObject, depth: int) -> str:
    properties = _members(schema, "properties")
    if not 0 < len(properties) <= _MOST_FIELDS or depth > 1:
        return "obj"
    needed = _names(schema.get("required"))
    told = (
        f"{_name(name)}{'' if name in needed else '?'}: {_type(inner, root, depth + 2)}"
        for name, inner in properties.items()
    )
    return f"{{{', '.join(told)}}}"


def _options(schema: JsonObject) -> str:
    values = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
    told = [_value(value) for value in values if value is not None]
    more = ["…"] if len(told) > _MOST_OPTIONS else []
    return "|".join([each or "…" for each in told[:_MOST_OPTIONS]] + more)


def _union(types: Sequence[str]) -> str:
    """That something may also be null is what `?` says already."""
    told = [each for each in dict.fromkeys(types) if each != "null"]
    return "|".join(told) if 0 < len(told) <= _DEEPEST else "any" if told else "null"


def _kinds(schema: JsonObject) -> Sequence[str]:
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind]
    if "properties" in schema:
        return ["object"]
    return _names(kind) or ["any"]


def _value(value: JsonValue) -> str | None:
    """A word of a stranger's, if it is short and only a word."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            told = f"{value}"
            return told if len(told) <= 24 else None
        case str() if _WORD.fullmatch(value):
            return value
        case _:
            return None


def _members(schema: JsonObject, keyword: str) -> JsonObject:
    members = schema.get(keyword)
    return members if isinstance(members, Mapping) else {}


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else []


def _names(value: JsonValue) -> Sequence[str]:
    return [each for each in _list(value) if isinstance(each, str)]


_LONGEST_LINE: Final = 160
_LONGEST_SIGNATURE: Final = 600
_MARKS: Final = {Verb.READ: "read", Verb.WRITE: "write", Verb.DESTRUCTIVE: "destructive"}


@dataclass(frozen=True, slots=True)
class Card:
    """What comes from the server is between the brackets after the name, or indented below: a
    line that begins at the margin, and the mark that ends it, are ours."""

    ref: ToolRef
    signature: str
    line: str
    mark: str
    why: str = ""

    @property
    def text(self) -> str:
        told = " ".join(filter(None, [self.line, f"({self.why})" if self.why else ""]))
        below = f"\n  {told}" if told else ""
        return f"{self.signature} [{self.mark}]{below}"

    @property
    def bare(self) -> str:
        return f"{self.ref} [{self.mark}]"


@dataclass(frozen=True, slots=True)
class Fitted:
    text: str
    tokens: int
    shown: int
    whole: int
    """How many of those shown are more than a name."""


def card(ref: ToolRef, definition: Definition, effect: Effect, *, why: str = "") -> Card:
    return Card(
        ref,
        cut(signature(ref, definition), _LONGEST_SIGNATURE),
        one_line(definition),
        _MARKS[verb_for(effect)],
        plain(why, _LONGEST_LINE),
    )


def one_line(definition: Definition) -> str:
    """The first sentence of what its server says of it."""
    said = first_sentence(definition.description) or definition.title
    return plain(said, _LONGEST_LINE)


def fit(
    cards: Sequence[Card],
    budget: int,
    count: Callable[[str], int],
    *,
    header: str = "",
    footer: Callable[[int], str] | None = None,
) -> Fitted:
    """As many as the budget has room for, with what stands above and below them: the last ones
    as bare names before any is left out. `footer` is told how many are. Never over: where
    not even the frame fits there is no text at all."""
    for shown, whole in _shapes(cards, budget, count):
        body = [*(each.text for each in cards[:whole]), *(each.bare for each in cards[whole:shown])]
        parts = [header, *body, footer(len(cards) - shown) if footer else ""]
        text = "\n".join(part for part in parts if part)
        tokens = count(text)
        if tokens <= budget:
            return Fitted(text, tokens, shown, whole)
    return Fitted("", 0, 0, 0)


def _shapes(
    cards: Sequence[Card], budget: int, count: Callable[[str], int]
) -> Iterator[tuple[int, int]]:
    """Ways to show them, best first, without those that are far too long."""
    wholes = [0, *accumulate(count(each.text) for each in cards)]
    bares = [0, *accumulate(count(each.bare) for each in cards)]
    for shown in range(len(cards), 0, -1):
        for whole in range(shown, -1, -1):
            if whole == 0 and shown > 1:
                continue  # rather fewer names than nothing but names
            # Joining two texts can save a token, hardly ever more.
            if wholes[whole] + bares[shown] - bares[whole] - shown <= budget:
                yield shown, whole
    yield 0, 0


def describe(
    ref: ToolRef, definition: Definition, effect: Effect, returns: ObservedSchema | None = None
) -> JsonObject:
    """All that is needed to call it, the schema as its server wrote it. `returns`: what has been
    learnt from its results, for where its server does not say it."""
    told: dict[str, JsonValue] = {
        "tool": str(ref),
        "description": definition.description or definition.title,
        "effect": effect.value,
        "call_with": verb_for(effect).value,
        "input_schema": definition.input_schema,
    }
    if definition.output_schema is not None:
        told["output_schema"] = definition.output_schema
    unsaid = definition.output_schema is None or vague(definition.output_schema)
    if unsaid and returns is not None and returns.times > 1:
        told["returns"] = {"seen": returns.times, "shape": line_of(returns.shape)}
    return told


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
    if effect.is_read_only:
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
