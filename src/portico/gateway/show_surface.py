"""What a caller's client lists: the tools of the door itself, and those the caller uses most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from portico.gateway.catalogue import Catalogues
from portico.gateway.core.card import one_line
from portico.gateway.core.names import vendor_name
from portico.gateway.core.surface import HotTool, fixed_tools, search_description
from portico.gateway.core.tool import ToolRef
from portico.gateway.ports import Acquaintances
from portico.gateway.shelf import LiveTool, Shelf
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokenizer

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
    catalogues: Catalogues
    acquaintances: Acquaintances
    tokenizer: Tokenizer
    clock: Clock
    cap: int
    """Tokens of the whole list."""
    steady: timedelta = timedelta(minutes=10)
    """A list that changed with each call would cost a model's cache more than it saves."""
    _kept: dict[PrincipalId, _Kept] = field(default_factory=dict)

    async def __call__(self, caller: Principal) -> Surface:
        permit(caller, Scope.TOOLS_READ)
        shelf = await self.catalogues.offered(caller)
        now = self.clock.now()
        kept = self._kept.get(caller.id)
        if kept is not None and kept.version is shelf.version and now < kept.until:
            return kept.surface
        used = await self.acquaintances.most_used(caller, _CONSIDERED)
        surface = self._made(shelf, used)
        if len(self._kept) >= _REMEMBERED:
            self._kept.clear()
        self._kept[caller.id] = _Kept(shelf.version, surface, now + self.steady)
        return surface

    def _made(self, shelf: Shelf, used: Sequence[ToolRef]) -> Surface:
        description = search_description(shelf.counts, self._fits)
        left = self.cap - sum(map(self._tokens, fixed_tools(description)))
        tools = [shelf.tools[ref] for ref in used if ref in shelf.tools]
        return Surface(description, self._hot(tools, left))

    def _fits(self, text: str) -> bool:
        return self.tokenizer.count(text) <= OF_THE_SEARCH

    def _hot(self, tools: Sequence[LiveTool], left: int) -> Sequence[HotTool]:
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
