"""Listing what a server offers, and reading it."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.gateway.core.calls import ServerListing
from portico.gateway.core.catalog_snapshot import Definition, Tool, ToolRef
from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.pins import definition_pin
from portico.gateway.core.tool_schemas import check_schema, check_size, children
from portico.gateway.core.untrusted_text import name_flaw, skeleton, text_flaw, visible
from portico.kernel.budget import Tokens
from portico.kernel.json import JsonObject, JsonValue

MOST_TOOLS: Final = 5_000
MOST_OFFERS: Final = 5_000
LONGEST_DESCRIPTION: Final = 32 * 1024
"""What is longer is cut; the pin is over all of it."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that a server offers and that nobody can be let use."""

    name: str
    """Fit to be shown."""
    reason: str

    @property
    def definition(self) -> Definition:
        """A stand-in, with nothing of what the server said in it."""
        raw = {"name": self.name, "refused": self.reason}
        return Definition(self.name, "", "", {"type": "object"}, None, {}, raw)


@dataclass(frozen=True, slots=True)
class ReadTools:
    definitions: Sequence[Definition]
    """In the server's own order."""
    unreadable: Sequence[Unreadable]
    left_out: int = 0
    """How many more there are than we look at."""


@dataclass(frozen=True, slots=True)
class ReadOffers:
    offers: JsonObject
    """`resources`, `resource_templates` and `prompts`, each a list."""
    unreadable: Sequence[Unreadable]


def read_tools(raws: Sequence[JsonValue]) -> ReadTools:
    """The same tool told twice counts once. Two that differ and have one name, or names that an
    eye takes for one, cannot be told apart by whoever approves them: neither is let in."""
    read = [read_tool(raw) for raw in raws[:MOST_TOOLS]]
    bad = {each.name: each for each in read if isinstance(each, Unreadable)}
    good = _once(each for each in read if isinstance(each, Definition))
    for name, reason in _twins(good, bad).items():
        bad[name] = Unreadable(name, reason)
    return ReadTools(
        [each for each in good if each.name not in bad],
        list(bad.values()),
        max(0, len(raws) - MOST_TOOLS),
    )


def read_tool(raw: JsonValue) -> Definition | Unreadable:
    name = _shown_name(raw)
    if not isinstance(raw, Mapping):
        return Unreadable(name, "is not an object")
    flaw = _flaw(raw, "name")
    if flaw is None:
        flaw = _named_badly(raw["name"]) or _schema_flaw(raw.get("inputSchema"))
    return Unreadable(name, flaw) if flaw else _definition(raw)


def read_offers(seen: ServerListing) -> ReadOffers:
    offers: dict[str, JsonValue] = {}
    unreadable: list[Unreadable] = []
    for kind, listed, key in (
        ("resources", seen.resources, "uri"),
        ("resource_templates", seen.resource_templates, "uriTemplate"),
        ("prompts", seen.prompts, "name"),
    ):
        kept: dict[str, JsonValue] = {}
        for raw in listed[:MOST_OFFERS]:
            if flaw := _flaw(raw, key):
                unreadable.append(Unreadable(_shown_name(raw), flaw))
            else:
                kept.setdefault(str(raw[key]), raw)
        offers[kind] = list(kept.values())
    return ReadOffers(offers, unreadable)


def read_instructions(text: str | None) -> str | Unreadable | None:
    if text is None or not text.strip():
        return None
    if flaw := text_flaw(text):
        return Unreadable("instructions", flaw)
    return text[:LONGEST_DESCRIPTION]


def _definition(raw: JsonObject) -> Definition:
    annotations = raw.get("annotations")
    hints = annotations if isinstance(annotations, Mapping) else {}
    output = raw.get("outputSchema")
    return Definition(
        name=str(raw["name"]),
        title=_text(raw.get("title")) or _text(hints.get("title")),
        description=_text(raw.get("description"))[:LONGEST_DESCRIPTION],
        input_schema=_input_schema(raw.get("inputSchema")),
        output_schema=output if isinstance(output, Mapping) else None,
        annotations=hints,
        raw=raw,
    )


def _input_schema(schema: JsonValue) -> JsonObject:
    """Arguments are an object, whether a schema says so or not; nine tools of GitLab's do not."""
    given = schema if isinstance(schema, Mapping) else {}
    return given if "type" in given else {"type": "object", **given}


def _schema_flaw(schema: JsonValue) -> str | None:
    if not isinstance(schema, Mapping | None):
        return "has an input schema that is none"
    wanted = _input_schema(schema)
    kind = wanted["type"]
    if kind != "object" and not (isinstance(kind, Sequence) and "object" in kind):
        return "takes something else than an object"
    try:
        check_schema(wanted)
    except SchemaRefused as refused:
        return f"has an input schema that {refused.reason}"
    return None


def _flaw(raw: JsonValue, key: str) -> str | None:
    """What is wrong with anything that a server offers."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get(key), str) or not raw[key]:
        return f"has no {key}"
    try:
        check_size(raw)
    except SchemaRefused as refused:
        return refused.reason
    return next(filter(None, map(text_flaw, _texts(raw))), None)


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    if isinstance(value, Mapping):
        yield from value
    for inside in children(value):
        yield from _texts(inside)


def _named_badly(name: JsonValue) -> str | None:
    flaw = name_flaw(_text(name))
    return f"has a name that {flaw}" if flaw else None


def _shown_name(raw: JsonValue) -> str:
    told = raw.get("name", raw.get("uriTemplate")) if isinstance(raw, Mapping) else None
    return visible(_text(told)).strip() or "(no name)"


def _once(definitions: Iterable[Definition]) -> Sequence[Definition]:
    told: dict[tuple[str, str], Definition] = {}
    for each in definitions:
        told.setdefault((each.name, definition_pin(each.raw)), each)
    return list(told.values())


def _twins(definitions: Sequence[Definition], bad: Collection[str]) -> Mapping[str, str]:
    """Names that stand for two tools, and those not in plain letters that look like another."""
    counted = Counter([*(each.name for each in definitions), *bad])
    alike: dict[str, set[str]] = {}
    for name in counted:
        alike.setdefault(skeleton(name), set()).add(name)
    return {
        name: f"looks like {min(names - {name})!r}"
        for names in alike.values()
        for name in names
        if len(names) > 1 and not name.isascii()
    } | {name: "is offered twice, in two versions" for name, times in counted.items() if times > 1}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def as_listed(definition: Definition) -> str:
    """A tool as a client without a gateway puts it before its model."""
    told = {
        "name": definition.name,
        "description": definition.description,
        "inputSchema": definition.input_schema,
    }
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def tools_read(
    server: str, read: ReadTools, before: Sequence[Tool], count: Callable[[str], Tokens]
) -> list[Tool]:
    """In the server's order, and behind them those that cannot be used. What was counted before
    is not counted again."""
    counted = {(tool.ref.name, tool.pin): tool.tokens for tool in before}
    tools = [_tool(server, each, counted, count) for each in read.definitions]
    for each in read.unreadable:
        tool = _tool(server, each.definition, counted, count)
        tools.append(replace(tool, refused=each.reason))
    return tools


def merged(before: Sequence[Tool], now: Sequence[Tool]) -> list[Tool]:
    """What is there now keeps what was accepted under its name. What is not there any more is
    remembered if somebody had accepted it, should it come back."""
    known = {tool.ref.name: tool for tool in before}
    names = {tool.ref.name for tool in now}
    left = [tool for tool in before if tool.ref.name not in names and tool.accepted_pin is not None]
    return [
        *(_with_accepted(tool, known.get(tool.ref.name)) for tool in now),
        *(replace(tool, gone=True) for tool in left),
    ]


def merged_of_one(before: Sequence[Tool], now: Sequence[Tool]) -> list[Tool]:
    """The same where only one person was looking, with their own login: what they are not shown
    may be there for others, and stays as it was. What they are shown counts as ever, so that a
    definition that was changed is held back."""
    shown = {tool.ref.name: tool for tool in now}
    known = {tool.ref.name for tool in before}
    return [
        *(
            _with_accepted(shown[tool.ref.name], tool) if tool.ref.name in shown else tool
            for tool in before
            if tool.ref.name in shown or tool.accepted_pin is not None
        ),
        *(tool for tool in now if tool.ref.name not in known),
    ]


def _tool(
    server: str,
    definition: Definition,
    counted: Mapping[tuple[str, str], Tokens],
    count: Callable[[str], Tokens],
) -> Tool:
    pin = definition_pin(definition.raw)
    tokens = counted.get((definition.name, pin))
    return Tool(
        ref=ToolRef(server, definition.name),
        definition=definition,
        pin=pin,
        tokens=count(as_listed(definition)) if tokens is None else tokens,
    )


def _with_accepted(tool: Tool, known: Tool | None) -> Tool:
    if known is None or known.accepted_pin is None:
        return tool
    same = known.accepted_pin == tool.pin
    return replace(
        tool,
        effect=known.effect,
        accepted=tool.definition if same else known.accepted,
        accepted_pin=known.accepted_pin,
    )
