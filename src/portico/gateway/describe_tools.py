"""All that is needed to call some tools: their schemas, and what they do in full."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from portico.gateway.catalogue import Catalogues
from portico.gateway.core.card import describe
from portico.gateway.core.errors import BadToolRef, ToolNotFound
from portico.gateway.core.learnt import SeenShape
from portico.gateway.core.tool import ToolRef
from portico.gateway.known_shapes import KnownShapes
from portico.gateway.shelf import Shelf
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokenizer

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
    catalogues: Catalogues
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
        permit(caller, Scope.TOOLS_READ)
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
        with suppress(BadToolRef):
            yield ToolRef.parse(name)


def _described(shelf: Shelf, name: str, known: Mapping[ToolRef, SeenShape]) -> JsonObject:
    tool = shelf.find(ToolRef.parse(name))
    return describe(tool.ref, tool.definition, tool.effect, known.get(tool.ref))


def _told(error: PorticoError) -> str:
    return f"{error} {error.fix}" if error.fix else str(error)
