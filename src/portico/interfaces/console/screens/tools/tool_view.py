"""One tool, with what became of its calls and what a call of it would meet."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import quote

from portico.gateway.catalog import ToolLook
from portico.gateway.core.calls import Call, CallOutcome, Figures, verb_for
from portico.gateway.core.catalog_snapshot import Standing, ToolRef
from portico.gateway.core.inferred_schema import line_of, schema_of
from portico.interfaces.console.screens.tools.effects import Mark, effect_mark, standing_mark
from portico.interfaces.console.screens.tools.schema_rows import SchemaRow, schema_rows
from portico.interfaces.console.screens.tools.view import tool_href
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.graph.path import Hop
from portico.learning.graph.look_at_graph import Neighbours

CALLS: Final = 10
_MOST_EXAMPLES: Final = 4
_LONGEST_LINK: Final = 1500
_OUTCOMES: Final[Mapping[CallOutcome | None, tuple[str, str]]] = {
    None: ("under way", "warn"),
    CallOutcome.DONE: ("done", "ok"),
    CallOutcome.FAILED: ("failed", "bad"),
    CallOutcome.BROKEN: ("broke off", "bad"),
    CallOutcome.TIMED_OUT: ("timed out", "bad"),
    CallOutcome.CANCELLED: ("cancelled", ""),
    CallOutcome.UNCERTAIN: ("uncertain", "warn"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Returns:
    """What it gives: as its server says, or as was learnt from results."""

    learnt: int
    """From how many results; nought if its server says it."""
    line: str
    schema: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolView:
    ref: str
    name: str
    server: str
    title: str
    description: str
    effect: Mark
    effect_value: str
    standing: Mark
    live: bool
    plain: bool
    """Whether its name stands for itself where wildcards are read."""
    refused: str | None
    verb: str
    tokens: int
    rows: Sequence[SchemaRow]
    schema: JsonObject
    annotations: JsonObject
    returns: Returns | None
    uses: int
    error_rate: float
    p50: timedelta | None
    p95: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    id: str
    at: datetime
    by: str
    outcome: Mark
    took: timedelta | None
    arguments: JsonValue
    error: str | None
    again: str | None
    """Where the form is filled in with the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    name: str
    href: str
    confidence: float
    times: int
    fed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearby:
    after: Sequence[Near]
    before: Sequence[Near]
    beside: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Copies:
    mcp: str
    cli: str


def tool_view(look: ToolLook, its: Figures | None) -> ToolView:
    tool, said = look.tool, look.tool.definition
    return ToolView(
        ref=str(tool.ref),
        name=tool.ref.name,
        server=tool.ref.server,
        title=said.title,
        description=said.description,
        effect=effect_mark(tool.effect),
        effect_value=str(tool.effect),
        standing=standing_mark(look.standing),
        live=look.standing is Standing.LIVE,
        plain=plain(tool.ref),
        refused=tool.refused,
        verb=verb_for(tool.effect),
        tokens=tool.tokens,
        rows=schema_rows(said.input_schema),
        schema=said.input_schema,
        annotations=said.annotations,
        returns=_returns(look),
        uses=0 if its is None else its.calls,
        error_rate=0.0 if its is None else its.error_rate,
        p50=None if its is None else its.p50,
        p95=None if its is None else its.p95,
    )


def plain(ref: ToolRef) -> bool:
    """A server may call a tool `*`: what is decided of that would be decided of all of them."""
    return not {"*", "?"} & set(str(ref))


def _returns(look: ToolLook) -> Returns | None:
    said, seen = look.tool.definition.output_schema, look.returns
    if seen is not None:
        return Returns(learnt=seen.times, line=line_of(seen.shape), schema=schema_of(seen.shape))
    return None if said is None else Returns(learnt=0, line="", schema=said)


def call_rows(calls: Sequence[Call], viewer: PrincipalId) -> Sequence[CallRow]:
    return [_call(call, viewer) for call in calls]


def _call(call: Call, viewer: PrincipalId) -> CallRow:
    words, tone = _OUTCOMES[call.outcome]
    return CallRow(
        id=str(call.id),
        at=call.started_at,
        by="you" if call.principal == viewer else str(call.principal),
        outcome=Mark(words, tone, ""),
        took=call.took,
        arguments=call.arguments,
        error=call.error,
        again=with_arguments(call.ref, call.arguments),
    )


def with_arguments(ref: ToolRef, arguments: JsonValue) -> str | None:
    """None where an address would become too long."""
    if not isinstance(arguments, Mapping):
        return None
    text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    return f"{tool_href(ref)}?with={quote(text, safe='')}" if len(text) < _LONGEST_LINK else None


def examples(look: ToolLook, calls: Sequence[Call]) -> Sequence[tuple[str, str]]:
    """Arguments that its server gives as examples, else those that went well; and a link that
    fills them in."""
    given = look.tool.definition.input_schema.get("examples")
    values: list[JsonValue] = [*given] if isinstance(given, list | tuple) else []
    values += [call.arguments for call in calls if call.outcome is CallOutcome.DONE]
    found: dict[str, str] = {}
    for value in values:
        href = with_arguments(look.tool.ref, value)
        if href is not None and value:
            found.setdefault(json.dumps(value, ensure_ascii=False), href)
    return [*found.items()][:_MOST_EXAMPLES]


def nearby(found: Neighbours) -> Nearby:
    return Nearby(
        after=[_near(hop, hop.later) for hop in found.after],
        before=[_near(hop, hop.earlier) for hop in found.before],
        beside=[(str(ref), tool_href(ref)) for ref in found.beside],
    )


def _near(hop: Hop, ref: ToolRef) -> Near:
    fed = next(iter(hop.fed), None)
    return Near(
        name=str(ref),
        href=tool_href(ref),
        confidence=hop.confidence,
        times=hop.times,
        fed="" if fed is None else f"{fed.path} becomes {fed.parameter}",
    )


def copies(look: ToolLook, arguments: JsonObject) -> Copies:
    """The same call, as a client of the gateway makes it, and as the command line does."""
    ref = str(look.tool.ref)
    asked: JsonObject = {
        "method": "tools/call",
        "params": {
            "name": verb_for(look.tool.effect),
            "arguments": {"tool": ref, "arguments": dict(arguments)},
        },
    }
    given = json.dumps(arguments, ensure_ascii=False)
    return Copies(
        mcp=json.dumps(asked, ensure_ascii=False, indent=2),
        cli=f"portico call {shlex.quote(ref)} --input {shlex.quote(given)}",
    )
