"""What a server lists now, beside what it listed before and what was accepted of that."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from portico.gateway.core.pin import definition_pin
from portico.gateway.core.reading import ReadTools
from portico.gateway.core.tool import Definition, Tool, ToolRef
from portico.kernel.tokens import Tokens


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
