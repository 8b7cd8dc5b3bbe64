"""Tools as they are drawn: effects, catalog, one tool, policy, results."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from urllib.parse import quote

from portico.gateway.catalog import ToolDetails
from portico.gateway.core.calls import Call, Called, CallOutcome, CallStats, verb_for
from portico.gateway.core.catalog_snapshot import ToolRef, ToolStatus
from portico.gateway.core.inferred_schema import line_of, schema_of
from portico.gateway.core.reserved_metadata import age_ms
from portico.gateway.core.surface import one_line
from portico.gateway.search import Hit, SearchResult
from portico.gateway.servers import ServerDetails
from portico.guard.core.access_request import Allowed, Decision, Denied, NeedsApproval
from portico.guard.core.policy import Explanation
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.interfaces.console.formatting import State, state_of
from portico.interfaces.console.screens.schema_form import SchemaRow, schema_rows
from portico.kernel.effect import EFFECT_WORDS, Effect
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.tool_graph import Hop
from portico.learning.tool_graph import Neighbours


@dataclass(frozen=True, slots=True)
class ToolBadge:
    """A word with a colour: the word says it too."""

    word: str
    tone: str
    title: str


_WORDS: Final[Mapping[Effect, tuple[str, str]]] = {
    Effect.PURE: ("pure", "ok"),
    Effect.LOCAL_READ: ("reads", "ok"),
    Effect.EXTERNAL_READ: ("reads elsewhere", "ok"),
    Effect.LOCAL_WRITE: ("writes", "warn"),
    Effect.EXTERNAL_WRITE: ("writes elsewhere", "warn"),
    Effect.IRREVERSIBLE: ("cannot be undone", "bad"),
    Effect.UNKNOWN: ("effect unknown", "bad"),
}
_STANDS: Final[Mapping[ToolStatus, ToolBadge]] = {
    ToolStatus.LIVE: ToolBadge("in use", "ok", "It is found and can be called"),
    ToolStatus.PENDING: ToolBadge("waits", "warn", "Its server has not been approved yet"),
    ToolStatus.NEW: ToolBadge("quarantined: new", "warn", "It came after its server was approved"),
    ToolStatus.CHANGED: ToolBadge(
        "quarantined: changed", "warn", "Its definition is not the one that was approved"
    ),
    ToolStatus.REFUSED: ToolBadge("cannot be used", "bad", "Its definition cannot be used"),
    ToolStatus.GONE: ToolBadge("gone", "", "Its server does not have it any more"),
}


def effect_mark(effect: Effect) -> ToolBadge:
    word, tone = _WORDS[effect]
    return ToolBadge(
        word, tone, f"It {EFFECT_WORDS[effect]}" if tone != "bad" else EFFECT_WORDS[effect]
    )


def standing_mark(standing: ToolStatus) -> ToolBadge:
    return _STANDS[standing]


EFFECTS: Final = [(str(effect), effect_mark(effect).word) for effect in Effect]
"""For whoever chooses one."""

GROUPS: Final = 40
"""Servers on one page."""
ROWS: Final = 60
"""Tools in one fragment."""
HITS: Final = 10
EXAMPLES: Final = (
    "read a file and summarise it",
    "search the web for news",
    "create an issue and tell the team",
    "query a database",
)
_WORD: Final = re.compile(r"([^\s,()]+) \(([a-z, _-]+)\)")
_MEANING: Final = re.compile(r"meaning (\d\.\d\d)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    server: str
    state: State
    enabled: bool
    tools: int
    quarantined: int
    tokens: int
    uses: int
    p95: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    href: str
    line: str
    effect: ToolBadge
    status: ToolBadge | None
    """None of one that can be used."""
    tokens: int
    uses: int
    p95: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    server: str
    rows: Sequence[Row]
    more: str | None
    """Where the next ones are."""


@dataclass(frozen=True, slots=True)
class Matched:
    word: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRow:
    number: int
    name: str
    server: str
    href: str
    line: str
    effect: ToolBadge
    score: float
    words: Sequence[Matched]
    meaning: float | None
    """The cosine of the question and the tool; None where nothing is near, or no model at hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    query: str
    fits: bool
    hits: Sequence[HitRow]
    found: int
    among: int
    tokens: int
    """Of what a model is told."""
    all_in: int
    """Of every definition, as a client without a gateway lists them."""
    took: timedelta
    nearest: Sequence[str]
    text: str

    @property
    def saved(self) -> float | None:
        return 1 - self.tokens / self.all_in if self.all_in else None


def tool_href(ref: ToolRef | str) -> str:
    return f"/tools/{quote(str(ref), safe='')}"


def groups(looks: Iterable[ServerDetails], figures: Iterable[CallStats]) -> Sequence[Group]:
    known = {each.name: each for each in figures}
    return [_group(look, known.get(look.server.name)) for look in looks]


def _group(look: ServerDetails, its: CallStats | None) -> Group:
    counted = look.tools
    return Group(
        server=look.server.name,
        state=state_of(look),
        enabled=look.server.enabled,
        tools=there(look),
        quarantined=counted.get(ToolStatus.NEW, 0) + counted.get(ToolStatus.CHANGED, 0),
        tokens=look.tokens,
        uses=0 if its is None else its.calls,
        p95=None if its is None else its.p95,
    )


def there(look: ServerDetails) -> int:
    return sum(number for stands, number in look.tools.items() if stands is not ToolStatus.GONE)


def in_use(looks: Iterable[ServerDetails]) -> tuple[int, int]:
    """How many tools can be called, and what all of them would cost a client that lists them."""
    approved = [look for look in looks if look.server.approved]
    live = sum(look.tools.get(ToolStatus.LIVE, 0) for look in approved)
    return live, sum(look.tokens for look in approved)


def rows(
    server: str, looks: Sequence[ToolDetails], figures: Iterable[CallStats], *, start: int = 0
) -> Rows:
    known = {each.name: each for each in figures}
    shown = looks[start : start + ROWS]
    following = start + ROWS
    left = following < len(looks)
    return Rows(
        server=server,
        rows=[_row(look, known.get(look.tool.ref.name)) for look in shown],
        more=f"/tools/group?server={quote(server)}&start={following}" if left else None,
    )


def _row(look: ToolDetails, its: CallStats | None) -> Row:
    tool = look.tool
    live = look.status is ToolStatus.LIVE
    return Row(
        name=tool.ref.name,
        href=tool_href(tool.ref),
        line=one_line(tool.definition),
        effect=effect_mark(tool.effect),
        status=None if live else standing_mark(look.status),
        tokens=tool.tokens,
        uses=0 if its is None else its.calls,
        p95=None if its is None else its.p95,
    )


def search(query: str, found: SearchResult, counted: tuple[int, int], took: timedelta) -> Search:
    live, tokens = counted
    shown = found.hits[:HITS]
    return Search(
        query=query,
        fits=found.fits,
        hits=[_hit(number, hit) for number, hit in enumerate(shown, 1)],
        found=len(found.hits),
        among=live,
        tokens=found.tokens,
        all_in=tokens,
        took=took,
        nearest=[str(each) for each in found.nearest],
        text=found.text,
    )


def _hit(number: int, hit: Hit) -> HitRow:
    words, meaning = reasons(hit.why)
    return HitRow(
        number=number,
        name=str(hit.ref),
        server=hit.ref.server,
        href=tool_href(hit.ref),
        line=hit.summary,
        effect=effect_mark(hit.effect),
        score=hit.score,
        words=words,
        meaning=meaning,
    )


def reasons(why: str) -> tuple[Sequence[Matched], float | None]:
    """Of `post (name), slack (server), meaning 0.62`, as search tells it to models too."""
    words = [Matched(found[1], found[2]) for found in _WORD.finditer(why)]
    near = _MEANING.search(why)
    return words, None if near is None else float(near[1])


def by_server(looks: Iterable[ServerDetails]) -> Mapping[str, ServerDetails]:
    return {look.server.name: look for look in looks}


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

    samples: int
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
    effect: ToolBadge
    effect_value: str
    status: ToolBadge
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
    outcome: ToolBadge
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


def tool_view(look: ToolDetails, its: CallStats | None) -> ToolView:
    tool, said = look.tool, look.tool.definition
    return ToolView(
        ref=str(tool.ref),
        name=tool.ref.name,
        server=tool.ref.server,
        title=said.title,
        description=said.description,
        effect=effect_mark(tool.effect),
        effect_value=str(tool.effect),
        status=standing_mark(look.status),
        live=look.status is ToolStatus.LIVE,
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


def _returns(look: ToolDetails) -> Returns | None:
    said, seen = look.tool.definition.output_schema, look.returns
    if seen is not None:
        return Returns(samples=seen.times, line=line_of(seen.shape), schema=schema_of(seen.shape))
    return None if said is None else Returns(samples=0, line="", schema=said)


def call_rows(calls: Sequence[Call], viewer: PrincipalId) -> Sequence[CallRow]:
    return [_call(call, viewer) for call in calls]


def _call(call: Call, viewer: PrincipalId) -> CallRow:
    words, tone = _OUTCOMES[call.outcome]
    return CallRow(
        id=str(call.id),
        at=call.started_at,
        by="you" if call.principal == viewer else str(call.principal),
        outcome=ToolBadge(words, tone, ""),
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


def examples(look: ToolDetails, calls: Sequence[Call]) -> Sequence[tuple[str, str]]:
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


def copies(look: ToolDetails, arguments: JsonObject) -> Copies:
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


class Setting(StrEnum):
    """What is said of one tool alone."""

    DEFAULT = "default"
    """Nothing: what holds for its effect."""
    AUTO = "auto"
    ASK = "ask"
    NEVER = "never"


_MARKS: Final[Mapping[type[Decision], ToolBadge]] = {
    Allowed: ToolBadge("runs at once", "ok", "Nobody is asked"),
    NeedsApproval: ToolBadge("needs approval", "warn", "Somebody is asked first"),
    Denied: ToolBadge("refused", "bad", "It is not called"),
}
_RULINGS: Final[Mapping[Ruling, Setting]] = {
    Ruling.ALLOW: Setting.AUTO,
    Ruling.ASK: Setting.ASK,
    Ruling.DENY: Setting.NEVER,
}
SETTINGS: Final = (
    (Setting.DEFAULT, "as its effect says"),
    (Setting.AUTO, "auto: run at once"),
    (Setting.ASK, "ask first"),
    (Setting.NEVER, "never"),
)


@dataclass(frozen=True, slots=True)
class Otherwise:
    when: str
    mark: ToolBadge


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    mark: ToolBadge
    rule: str
    reason: str
    matched: Sequence[tuple[str, str]]
    """Rules that are about it, and what each says."""
    otherwise: Sequence[Otherwise]
    label: str
    """Of what was read at the task that this would be part of."""
    untrusted: bool
    setting: Setting


def policy(found: Explanation) -> Policy:
    decision = found.decision
    return Policy(
        mark=_MARKS[type(decision)],
        rule=decision.rule,
        reason=decision.reason,
        matched=[(rule.name, str(rule.ruling)) for rule in found.matched],
        otherwise=[Otherwise(it.when, _MARKS[type(it.decision)]) for it in found.otherwise],
        label=str(found.context.label),
        untrusted=found.context.untrusted,
        setting=_setting(own_rules(found.matched, found.access_request.target.tool)),
    )


def own_rules(rules: Sequence[Rule], tool: str) -> Sequence[Rule]:
    """Those that are about this one tool, for everybody and always: a page can replace these."""
    return [
        rule
        for rule in rules
        if rule.source is RuleSource.DATABASE
        and rule.tools == (tool,)
        and not (rule.who or rule.but or rule.effects or rule.tainted)
        and rule.context is None
        and rule.expires_at is None
    ]


def _setting(own: Sequence[Rule]) -> Setting:
    return _RULINGS[own[0].ruling] if len(own) == 1 else Setting.DEFAULT


def wanted_rule(tool: str, setting: Setting) -> Rule | None:
    """None where no rule is wanted."""
    for ruling, its in _RULINGS.items():
        if its is setting:
            return Rule(name="", ruling=ruling, tools=(tool,), reads=ruling is Ruling.ASK)
    return None


_LONGEST: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    text: str
    json: bool = False
    """Whether it is to be shown as JSON."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    failed: bool
    blocks: Sequence[Block]
    structured: Block | None
    """Only where it says something that the text does not."""
    took: timedelta
    age_ms: int | None
    """How old it is, if it ran ahead."""
    rest: str | None
    """The id under which the whole of it is kept, if this is only its beginning."""


def result(called: Called, took: timedelta) -> Result:
    answer = called.answer
    blocks = [_block(each) for each in answer.content]
    whole = None if answer.structured is None else _pretty(answer.structured)
    told = whole is not None and any(block.text == whole.text for block in blocks)
    return Result(
        failed=answer.failed,
        blocks=blocks,
        structured=None if told else whole,
        took=took,
        age_ms=age_ms(answer),
        rest=None if called.stored is None else str(called.stored),
    )


def _block(block: JsonObject) -> Block:
    match block.get("type"):
        case "text":
            return _text(str(block.get("text", "")))
        case "image" | "audio" as kind:
            size = len(str(block.get("data", ""))) * 3 // 4
            return Block(text="", note=f"{kind}, {block.get('mimeType', '?')}, {size} bytes")
        case _:
            inner = block.get("resource")
            said = inner.get("text") if isinstance(inner, Mapping) else None
            return _text(said) if isinstance(said, str) else _pretty(dict(block))


def _text(text: str) -> Block:
    if text[:1] in ("{", "["):
        try:
            return _pretty(json.loads(text))
        except (ValueError, RecursionError):
            pass  # it only began like JSON
    return Block(text=_cut(text))


def _pretty(value: JsonValue) -> Block:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return Block(text=_cut(text), json=True)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n… {len(text) - _LONGEST} more"
