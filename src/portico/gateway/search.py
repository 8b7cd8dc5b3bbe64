"""Find tools by what they are needed for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CallableTool, CatalogSnapshot
from portico.gateway.core.calls import Verb, verb_for
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.search import (
    MOST_QUERIES,
    Nearest,
    Question,
    nearest_servers,
    texts_to_embed,
)
from portico.gateway.core.search import Hit as SearchHit
from portico.gateway.core.search_scoring import ENCODER, STATIC
from portico.gateway.core.surface import Card, card, fit
from portico.gateway.core.untrusted_text import cut
from portico.gateway.ports import Embedder, ToolUsageStore
from portico.gateway.search_index import EncodeQuery, Finder
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.budget import Tokenizer
from portico.kernel.clock import Clock
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal

_ENOUGH: Final = 0.98
"""Of all the likelihood there is; what comes after is hardly the tool that was meant."""
_AT_LEAST: Final = 5


@dataclass(frozen=True, slots=True)
class Match:
    ref: ToolRef
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Matches:
    found: Sequence[Match]
    fits: bool
    elsewhere: Sequence[str] = ()
    """Servers whose tools may not be found, but come into question more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTools:
    static: Embedder
    encode: EncodeQuery | None

    async def __call__(self, finder: Finder, queries: Sequence[str], limit: int) -> Matches:
        question = Question.of(queries)
        vectors = await self._vectors(finder, question)
        ranking = finder.live.search(question, vectors, limit, allowed=finder.allowed)
        found = [
            Match(ToolRef.parse(hit.ref), hit.probability, str(hit.why))
            for hit in _likely(ranking.hits, len(queries))
        ]
        if ranking.fits:
            return Matches(found, fits=True)
        hidden = finder.waiting.search(question, {STATIC: vectors[STATIC]}, limit)
        better = hidden.fits or hidden.confidence > ranking.confidence
        return Matches(found, fits=False, elsewhere=hidden.servers if better else ())

    async def _vectors(
        self, finder: Finder, question: Question
    ) -> Mapping[str, NDArray[np.float32]]:
        """The encoder's only where the tools have such, and if it answers soon: search goes on
        without."""
        texts = texts_to_embed(question)
        vectors = {STATIC: await self.static.embed(texts[STATIC])}
        if self.encode is not None and ENCODER in finder.live.vectors:
            encoded = await self.encode(texts[ENCODER])
            if encoded is not None:
                vectors[ENCODER] = encoded
        return vectors


def _likely(hits: Sequence[SearchHit], steps: int) -> Sequence[SearchHit]:
    """The first few, and then for as long as something is missing: each step has a tool."""
    sum_so_far = 0.0
    for number, hit in enumerate(hits):
        if number >= _AT_LEAST and sum_so_far >= _ENOUGH * steps:
            return hits[:number]
        sum_so_far += hit.probability
    return hits


_MOST: Final = 40
"""Tools that are looked at for one reply; the budget decides how many of them are in it."""
_WEAK: Final = 5
"""How many are named where none of them fits well."""
_NEAREST: Final = 2
_A_CARD: Final = 40
"""Tokens of most cards. Where there is room for a few, more of them would only be names."""
_SMALLEST: Final = 100
"""Tokens that every reply may have, so that there is one."""


@dataclass(frozen=True, slots=True)
class Hit:
    ref: ToolRef
    effect: Effect
    verb: Verb
    signature: str
    summary: str
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    text: str
    """For a model; never over the budget."""
    tokens: int
    hits: Sequence[Hit]
    """All that were looked at, best first; `text` has as many of them as fit."""
    fits: bool
    nearest: Sequence[Nearest] = ()
    """Servers that may have what was looked for, if they were let."""


class QueryObserver(Protocol):
    """Is told what callers look for, in their own words. The caller waits, so it only takes
    note."""

    def __call__(self, caller: Principal, *queries: str) -> None: ...


def ignore_queries(caller: Principal, *queries: str) -> None:
    """Nothing is learned from them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindTools:
    catalogues: Catalogs
    look_up: RankTools
    tool_usage: ToolUsageStore
    tokenizer: Tokenizer
    clock: Clock
    budget: int
    """Tokens of a reply, where the caller names none."""
    limit: int = 20_000
    observer: QueryObserver = ignore_queries

    async def __call__(
        self, caller: Principal, queries: Sequence[str], *, budget: int | None = None
    ) -> SearchResult:
        """Without a query: what this caller has found or used before."""
        require_scope(caller, Scope.TOOLS_READ)
        room = max(_SMALLEST, min(budget or self.budget, self.limit))
        asked = [query.strip() for query in queries[:MOST_QUERIES] if query.strip()]
        if not asked:
            return await self._recalled(caller, room)
        self.observer(caller, *asked)
        finder = await self.catalogues.finder(caller)
        matches = await self.look_up(finder, asked, _MOST)
        found = self._told(finder, matches.found, room, fits=matches.fits)
        if matches.fits:
            seen = [hit.ref for hit in found.hits]
            await self.tool_usage.found(caller, seen, _short(asked), self.clock.now())
            return found
        near = nearest_servers(finder.snapshot.servers, matches.elsewhere, _NEAREST)
        return self._told(finder, matches.found[:_WEAK], room, fits=False, near=near)

    async def _recalled(self, caller: Principal, room: int) -> SearchResult:
        shelf = await self.catalogues.offered(caller)
        known = await self.tool_usage.known(caller, _MOST)
        hits, cards = _shown(
            shelf, [Match(ref, 0.0, f"found for: {query}") for ref, query in known]
        )
        header = "Tools you found or used before." if hits else "You have found no tools yet."
        fitted = fit(cards, room, self.tokenizer.count, header=header, footer=_more)
        return SearchResult(fitted.text, fitted.tokens, hits, fits=bool(hits))

    def _told(
        self,
        finder: Finder,
        found: Sequence[Match],
        room: int,
        *,
        fits: bool,
        near: Sequence[Nearest] = (),
    ) -> SearchResult:
        hits, cards = _shown(finder.snapshot, found)
        fitted = fit(
            cards[: max(_WEAK, room // _A_CARD)],
            room,
            self.tokenizer.count,
            header=_header(finder.snapshot, hits, near, fits=fits),
            footer=_more,
        )
        return SearchResult(fitted.text, fitted.tokens, hits, fits, near)


def _shown(shelf: CatalogSnapshot, found: Sequence[Match]) -> tuple[Sequence[Hit], Sequence[Card]]:
    """What is on the shelf now; an index may be older than it."""
    tools = [(shelf.tools[it.ref], it) for it in found if it.ref in shelf.tools]
    cards = [card(tool.ref, tool.definition, tool.effect, why=it.why) for tool, it in tools]
    hits = [_hit(tool, it, its) for (tool, it), its in zip(tools, cards, strict=True)]
    return hits, cards


def _hit(tool: CallableTool, match: Match, shown: Card) -> Hit:
    return Hit(
        ref=tool.ref,
        effect=tool.effect,
        verb=verb_for(tool.effect),
        signature=shown.signature,
        summary=shown.line,
        score=match.score,
        why=match.why,
    )


def _header(
    shelf: CatalogSnapshot, hits: Sequence[Hit], near: Sequence[Nearest], *, fits: bool
) -> str:
    if fits:
        return "Best first. [read] is called with call_read, [write] with call_write, and so on."
    told = [
        "No server has been approved yet." if not shelf.tools else "No tool fits this well.",
        *(f"May have it: {each}." for each in near),
        *(["Nearest, if any:"] if hits else []),
    ]
    return "\n".join(told)


def _short(queries: Sequence[str]) -> str:
    """To be told again some day, not to be kept whole."""
    return cut(" ".join("; ".join(queries)[:1_000].split()), 200)


def _more(left: int) -> str:
    return f"{left} more; ask for a larger budget, or more exactly." if left else ""
