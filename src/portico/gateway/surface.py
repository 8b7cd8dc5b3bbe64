"""Show the surface, describe tools, weigh the context that they take."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CallableTool, CatalogSnapshot
from portico.gateway.core.catalog_snapshot import ToolRef, vendor_name
from portico.gateway.core.errors import InvalidToolRef, ToolNotFound
from portico.gateway.core.inferred_schema import ObservedSchema
from portico.gateway.core.surface import (
    HotTool,
    describe,
    fixed_tools,
    one_line,
    search_description,
)
from portico.gateway.inferred_schema import KnownShapes
from portico.gateway.ports import Servers, Tools, ToolUsageStore
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.budget import Tokenizer, Tokens
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.principal import Principal

_MOST: Final = 50


@dataclass(frozen=True, slots=True)
class Described:
    text: str
    """As many of them as the budget has room for, each whole."""
    tools: Sequence[JsonObject]
    refused: Mapping[str, str]
    """By name: why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTools:
    catalogues: Catalogs
    known_shapes: KnownShapes
    tokenizer: Tokenizer
    budget: int
    own: Mapping[str, JsonObject] = field(default_factory=dict)
    """What there is to say of the door's own tools, by their names."""

    async def __call__(
        self, caller: Principal, names: Sequence[str], *, budget: int | None = None
    ) -> Described:
        """The first is given whatever it costs: a tool that cannot be described cannot be
        called. Raises `ToolNotFound` and the like if there is not even one."""
        require_scope(caller, Scope.TOOLS_READ)
        shelf = await self.catalogues.offered(caller)
        known = await self.known_shapes(caller, shelf, _refs(names))
        tools: list[JsonObject] = []
        refused: dict[str, str] = {}
        last: PorticoError = ToolNotFound("")
        for name in list(dict.fromkeys(names))[:_MOST]:
            try:
                tools.append(self.own.get(name) or _described(shelf, name, known))
            except PorticoError as error:
                last, refused[name] = error, _told(error)
        if not tools:
            raise last
        return Described(self._text(tools, refused, budget or self.budget), tools, refused)

    def _text(self, tools: Sequence[JsonObject], refused: Mapping[str, str], budget: int) -> str:
        parts: list[str] = []
        left_out: list[str] = []
        used = 0
        for tool in tools:
            text = json.dumps(tool, ensure_ascii=False, separators=(",", ":"))
            tokens = self.tokenizer.count(text)
            if parts and used + tokens > budget:
                left_out.append(str(tool["tool"]))
                continue
            used += tokens
            parts.append(text)
        parts.extend(refused.values())
        if left_out:
            parts.append(f"No room for {', '.join(left_out)}: ask for them by themselves.")
        return "\n".join(parts)


def _refs(names: Sequence[str]) -> Iterator[ToolRef]:
    for name in names[:_MOST]:
        with suppress(InvalidToolRef):
            yield ToolRef.parse(name)


def _described(
    shelf: CatalogSnapshot, name: str, known: Mapping[ToolRef, ObservedSchema]
) -> JsonObject:
    tool = shelf.find(ToolRef.parse(name))
    return describe(tool.ref, tool.definition, tool.effect, known.get(tool.ref))


def _told(error: PorticoError) -> str:
    return f"{error} {error.fix}" if error.fix else str(error)


OF_THE_SEARCH: Final = 280
"""Tokens that the description of `search_tools` may have."""
_CONSIDERED: Final = 20
_REMEMBERED: Final = 1_000
"""Callers whose surface is kept."""


@dataclass(frozen=True)
class Surface:
    search_description: str
    hot: Sequence[HotTool]

    @cached_property
    def tools(self) -> Sequence[JsonObject]:
        """The whole list, in the protocol's own form."""
        return [*fixed_tools(self.search_description), *(tool.listed() for tool in self.hot)]

    @cached_property
    def _refs(self) -> Mapping[str, ToolRef]:
        return {tool.name: tool.ref for tool in self.hot}

    def hot_ref(self, name: str) -> ToolRef | None:
        return self._refs.get(name)


@dataclass(frozen=True, slots=True)
class _Kept:
    version: object
    surface: Surface
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSurface:
    catalogues: Catalogs
    tool_usage: ToolUsageStore
    tokenizer: Tokenizer
    clock: Clock
    cap: int
    """Tokens of the whole list."""
    steady: timedelta = timedelta(minutes=10)
    """A list that changed with each call would cost a model's cache more than it saves."""
    _kept: dict[PrincipalId, _Kept] = field(default_factory=dict)

    async def __call__(self, caller: Principal) -> Surface:
        require_scope(caller, Scope.TOOLS_READ)
        shelf = await self.catalogues.offered(caller)
        now = self.clock.now()
        kept = self._kept.get(caller.id)
        if kept is not None and kept.version is shelf.version and now < kept.until:
            return kept.surface
        used = await self.tool_usage.most_used(caller, _CONSIDERED)
        surface = self._made(shelf, used)
        if len(self._kept) >= _REMEMBERED:
            self._kept.clear()
        self._kept[caller.id] = _Kept(shelf.version, surface, now + self.steady)
        return surface

    def _made(self, shelf: CatalogSnapshot, used: Sequence[ToolRef]) -> Surface:
        description = search_description(shelf.counts, self._fits)
        left = self.cap - sum(map(self._tokens, fixed_tools(description)))
        tools = [shelf.tools[ref] for ref in used if ref in shelf.tools]
        return Surface(description, self._hot(tools, left))

    def _fits(self, text: str) -> bool:
        return self.tokenizer.count(text) <= OF_THE_SEARCH

    def _hot(self, tools: Sequence[CallableTool], left: int) -> Sequence[HotTool]:
        """Those that fit, however many: a large one gives way to smaller ones after it."""
        hot: list[HotTool] = []
        taken: set[str] = set()
        for tool in tools:
            name, told = vendor_name(tool.ref, taken), one_line(tool.definition)
            found = HotTool(name, tool.ref, told, tool.definition.input_schema, tool.effect)
            tokens = self._tokens(found.listed())
            if tokens <= left:
                hot.append(found)
                taken.add(name)
                left -= tokens
        return hot

    def _tokens(self, tool: JsonObject) -> int:
        return self.tokenizer.count(canonical(tool).decode())


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWeight:
    servers: int
    tools: int
    before: Tokens
    """Every tool listed by its own server."""
    after: Tokens
    """The door's own tools, for somebody who has used none yet."""
    tokenizer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighContext:
    servers: Servers
    tools: Tools
    tokenizer: Tokenizer

    async def __call__(self, caller: Principal) -> ContextWeight:
        """Of the servers that are in use. Raises `NotPermitted`."""
        require_scope(caller, Scope.SERVERS_READ)
        tallies = await self.tools.tally(caller)
        in_use = [each for each in await self.servers.all(caller) if each.may_start]
        counted = {each.name: tallies[each.id] for each in in_use if each.id in tallies}
        live = {each.name: tallies[each.id].agreed for each in in_use if each.approved}
        return ContextWeight(
            servers=len(counted),
            tools=sum(each.there for each in counted.values()),
            before=Tokens(sum(each.tokens for each in counted.values())),
            after=self._surface(live),
            tokenizer=self.tokenizer.name,
        )

    def _surface(self, live: Mapping[str, int]) -> Tokens:
        most_first = dict(sorted(live.items(), key=lambda each: (-each[1], each[0])))
        told = search_description(
            {name: count for name, count in most_first.items() if count},
            lambda text: self.tokenizer.count(text) <= OF_THE_SEARCH,
        )
        listed = [canonical(tool).decode() for tool in fixed_tools(told)]
        return Tokens(sum(map(self.tokenizer.count, listed)))
