"""Tools over REST: list, find, show."""

from datetime import timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field, JsonValue

from portico.gateway.catalog import ToolDetails
from portico.gateway.core.calls import Verb, verb_for
from portico.gateway.core.catalog_snapshot import ToolRef, ToolStatus
from portico.gateway.core.inferred_schema import ObservedSchema, line_of, schema_of
from portico.gateway.search import SearchResult
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Body,
    Limit,
    OneLine,
    Page,
    Wildcard,
    next_cursor,
    position,
    wire_object,
)
from portico.interfaces.http.use_cases import Gateway
from portico.kernel.effect import Effect

ServerName = Annotated[str, Path(pattern="^[a-z][a-z0-9-]{0,31}$")]
ToolName = Annotated[OneLine, Path(max_length=300, description="`server.tool`")]
_DAY: Final = 24 * 60


class SearchIn(Body, title="SearchIn"):
    queries: list[Annotated[str, Field(max_length=20_000)]] = Field(
        default_factory=list, max_length=16
    )
    """What tools should do: one for each step of a task. None: what you found before."""
    budget: Annotated[int | None, Field(ge=1, le=20_000, strict=True)] = None
    """Tokens that `text` may have."""


class HitOut(BaseModel, title="HitOut"):
    tool: str
    effect: Effect
    call_with: Verb
    signature: str
    summary: str
    score: float
    why: str


class NearestOut(BaseModel, title="NearestOut"):
    server: str
    needs: str
    fix: str


class FoundOut(BaseModel, title="FoundOut"):
    fits: bool
    """False: nothing there fits well, and `hits` are only the nearest."""
    hits: list[HitOut]
    nearest: list[NearestOut]
    """Servers that may have it, if they were let."""
    text: str
    """As a model is told."""
    tokens: int


class ToolLine(BaseModel, title="ToolLine"):
    tool: str
    title: str
    standing: ToolStatus
    effect: Effect
    call_with: Verb
    tokens: int
    """What its definition would cost a client without a gateway."""
    pin: str
    refused: str | None


class ReturnsOut(BaseModel, title="ReturnsOut"):
    """What has been learnt from its results: keys and types, no values."""

    seen: int
    shape: str
    """In short: `{id: int, owner?: {login: str}, tags: [str]}`."""
    json_schema: dict[str, JsonValue]


class ToolOut(ToolLine, title="ToolOut"):
    definition: dict[str, JsonValue]
    accepted_pin: str | None
    returns: ReturnsOut | None
    """Only of a tool whose server does not say it, and once it has been called."""


class EffectsIn(Body, title="EffectsIn"):
    tools: Wildcard
    """`server.tool`, with `*` and `?` as wildcards."""
    effect: Effect


class EffectOut(BaseModel, title="EffectOut"):
    tool: str
    before: Effect
    after: Effect


class FiguresOut(
    BaseModel,
    title="FiguresOut",
    json_schema_extra=alias("portico__faces__http__tools__FiguresOut"),
):
    name: str
    calls: int
    error_rate: float
    p50_ms: float
    p95_ms: float
    p99_ms: float


router = APIRouter(tags=["tools"])


@router.post("/search", name="search_tools", responses=documented())
async def search_tools(gateway: Gateway, caller: Caller, body: SearchIn) -> FoundOut:
    """Find tools by what they should do. Asks no server anything."""
    return _found(await gateway.find_tools(caller, body.queries, budget=body.budget))


@router.get("/tools", name="list_tools", responses=documented(404))
async def list_tools(
    gateway: Gateway,
    caller: Caller,
    *,
    server: Annotated[OneLine | None, Query(max_length=32)] = None,
    standing: Annotated[ToolStatus | None, Query()] = None,
    limit: Limit = DEFAULT_LIMIT,
    after: After = None,
) -> Page[ToolLine]:
    """By server; also those that may not be used, and why not."""
    every = await gateway.list_tools(caller, server=server)
    start = position(after) or ""
    wanted = sorted(
        (str(look.tool.ref), look)
        for look in every
        if str(look.tool.ref) > start and standing in (None, look.status)
    )[:limit]
    data = [_line(look) for _, look in wanted]
    return Page(data=data, next=next_cursor(data, limit, wanted[-1][0] if wanted else ""))


@router.put("/effects", name="set_effects", responses=documented(404, 409))
async def set_effects(gateway: Gateway, caller: Caller, body: EffectsIn) -> list[EffectOut]:
    """Say what live tools can change, by name or by a pattern of names. Another definition of any
    of them is unknown again."""
    found = await gateway.set_effects(caller, body.tools, body.effect)
    return [EffectOut(tool=str(it.ref), before=it.before, after=it.after) for it in found]


@router.get("/tools/{tool}", name="show_tool", responses=documented(404))
async def show_tool(gateway: Gateway, caller: Caller, tool: ToolName) -> ToolOut:
    """All that its server says of it."""
    return _tool(await gateway.show_tool(caller, ToolRef.parse(tool)))


@router.get("/figures", name="show_figures", responses=documented(404))
async def show_figures(
    gateway: Gateway,
    caller: Caller,
    *,
    server: Annotated[OneLine | None, Query(max_length=32)] = None,
    minutes: Annotated[int, Query(ge=1, le=90 * _DAY)] = _DAY,
) -> list[FiguresOut]:
    """How servers have been doing; of one server, how its tools have."""
    within = timedelta(minutes=minutes)
    found = await gateway.show_figures(caller, server=server, within=within)
    return [
        FiguresOut(
            name=its.name,
            calls=its.calls,
            error_rate=its.error_rate,
            p50_ms=_ms(its.p50),
            p95_ms=_ms(its.p95),
            p99_ms=_ms(its.p99),
        )
        for its in found
    ]


def _ms(span: timedelta) -> float:
    return round(span.total_seconds() * 1000, 3)


def _found(found: SearchResult) -> FoundOut:
    return FoundOut(
        fits=found.fits,
        hits=[
            HitOut(
                tool=str(hit.ref),
                effect=hit.effect,
                call_with=hit.verb,
                signature=hit.signature,
                summary=hit.summary,
                score=round(hit.score, 4),
                why=hit.why,
            )
            for hit in found.hits
        ],
        nearest=[NearestOut(server=it.server, needs=it.needs, fix=it.fix) for it in found.nearest],
        text=found.text,
        tokens=found.tokens,
    )


def _line(look: ToolDetails) -> ToolLine:
    tool = look.tool
    return ToolLine(
        tool=str(tool.ref),
        title=tool.definition.title,
        standing=look.status,
        effect=tool.effect,
        call_with=verb_for(tool.effect),
        tokens=tool.tokens,
        pin=tool.pin,
        refused=tool.refused,
    )


def _tool(look: ToolDetails) -> ToolOut:
    tool = look.tool
    return ToolOut(
        **_line(look).model_dump(),
        definition=wire_object(tool.definition.raw),
        accepted_pin=tool.accepted_pin,
        returns=None if look.returns is None else _returns(look.returns),
    )


def _returns(seen: ObservedSchema) -> ReturnsOut:
    return ReturnsOut(
        seen=seen.times,
        shape=line_of(seen.shape),
        json_schema=wire_object(schema_of(seen.shape)),
    )
