"""The operator's second act: what a server offers is let in, each tool with an effect."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from hashlib import sha256

from portico.gateway.core.errors import ToolNotFound, ToolRefused
from portico.gateway.core.server import Server
from portico.gateway.core.tool import Definition, Tool
from portico.kernel.effect import Effect
from portico.kernel.json import canonical


class Proposed(StrEnum):
    """Every tool is let in as it is seen now; these effects are lowered to what is proposed."""

    READS = "reads"
    """Only of those that are proposed to be reads. The others stay unknown."""
    ALL = "all"


Effects = Mapping[str, Effect] | Proposed
"""Or tool by tool: then those that are not named stay as they are."""


def look_pin(server: Server) -> str:
    """Of all that somebody looks at before letting a server's tools in."""
    seen = [server.set_pin, server.instructions, server.offers]
    return sha256(canonical(seen)).hexdigest()


def accept(
    tools: Sequence[Tool], effects: Effects, proposed: Callable[[Definition], Effect]
) -> list[Tool]:
    """Raises `ToolNotFound`, `ToolRefused`."""
    if isinstance(effects, Proposed):
        return [_proposed(tool, effects, proposed) for tool in tools if not tool.gone]
    named = {tool.ref.name: tool for tool in tools if not tool.gone}
    for name in effects:
        if name not in named:
            raise ToolNotFound(name)
        if (reason := named[name].refused) is not None:
            raise ToolRefused(str(named[name].ref), reason)
    return [
        _accepted(tool, effects[tool.ref.name]) if tool.ref.name in effects else tool
        for tool in tools
    ]


def _proposed(tool: Tool, which: Proposed, proposed: Callable[[Definition], Effect]) -> Tool:
    """What somebody has decided of exactly this definition stays decided."""
    if tool.refused is not None or (tool.agreed and tool.effect is not Effect.UNKNOWN):
        return tool
    effect = proposed(tool.definition)
    lowered = which is Proposed.ALL or effect.reads_only
    return _accepted(tool, effect if lowered else Effect.UNKNOWN)


def _accepted(tool: Tool, effect: Effect) -> Tool:
    return replace(tool, effect=effect, accepted=tool.definition, accepted_pin=tool.pin)


def accepted_server(server: Server) -> Server:
    """With all that it said beside its tools."""
    return replace(
        server,
        tools_accepted=True,
        accepted_set_pin=server.set_pin,
        accepted_instructions=server.instructions,
        accepted_offers=server.offers,
    )
