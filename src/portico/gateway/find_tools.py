"""Find tools by what they should do: the right ones first, within a budget, and with a reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from portico.gateway.build_index import Finder
from portico.gateway.catalogue import Catalogues
from portico.gateway.core.call import Verb, verb_for
from portico.gateway.core.card import Card, card, fit
from portico.gateway.core.nearest import Nearest, nearest_servers
from portico.gateway.core.plain_text import cut
from portico.gateway.core.search.question import MOST_QUERIES
from portico.gateway.core.tool import ToolRef
from portico.gateway.look_up import LookUp, Match
from portico.gateway.ports import Acquaintances
from portico.gateway.shelf import LiveTool, Shelf
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokenizer

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
class Found:
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
    catalogues: Catalogues
    look_up: LookUp
    acquaintances: Acquaintances
    tokenizer: Tokenizer
    clock: Clock
    budget: int
    """Tokens of a reply, where the caller names none."""
    most: int = 20_000
    observer: QueryObserver = ignore_queries

    async def __call__(
        self, caller: Principal, queries: Sequence[str], *, budget: int | None = None
    ) -> Found:
        """Without a query: what this caller has found or used before."""
        permit(caller, Scope.TOOLS_READ)
        room = max(_SMALLEST, min(budget or self.budget, self.most))
        asked = [query.strip() for query in queries[:MOST_QUERIES] if query.strip()]
        if not asked:
            return await self._recalled(caller, room)
        self.observer(caller, *asked)
        finder = await self.catalogues.finder(caller)
        matches = await self.look_up(finder, asked, _MOST)
        found = self._told(finder, matches.found, room, fits=matches.fits)
        if matches.fits:
            seen = [hit.ref for hit in found.hits]
            await self.acquaintances.found(caller, seen, _short(asked), self.clock.now())
            return found
        near = nearest_servers(finder.shelf.servers, matches.elsewhere, _NEAREST)
        return self._told(finder, matches.found[:_WEAK], room, fits=False, near=near)

    async def _recalled(self, caller: Principal, room: int) -> Found:
        shelf = await self.catalogues.offered(caller)
        known = await self.acquaintances.known(caller, _MOST)
        hits, cards = _shown(
            shelf, [Match(ref, 0.0, f"found for: {query}") for ref, query in known]
        )
        header = "Tools you found or used before." if hits else "You have found no tools yet."
        fitted = fit(cards, room, self.tokenizer.count, header=header, footer=_more)
        return Found(fitted.text, fitted.tokens, hits, fits=bool(hits))

    def _told(
        self,
        finder: Finder,
        found: Sequence[Match],
        room: int,
        *,
        fits: bool,
        near: Sequence[Nearest] = (),
    ) -> Found:
        hits, cards = _shown(finder.shelf, found)
        fitted = fit(
            cards[: max(_WEAK, room // _A_CARD)],
            room,
            self.tokenizer.count,
            header=_header(finder.shelf, hits, near, fits=fits),
            footer=_more,
        )
        return Found(fitted.text, fitted.tokens, hits, fits, near)


def _shown(shelf: Shelf, found: Sequence[Match]) -> tuple[Sequence[Hit], Sequence[Card]]:
    """What is on the shelf now; an index may be older than it."""
    tools = [(shelf.tools[it.ref], it) for it in found if it.ref in shelf.tools]
    cards = [card(tool.ref, tool.definition, tool.effect, why=it.why) for tool, it in tools]
    hits = [_hit(tool, it, its) for (tool, it), its in zip(tools, cards, strict=True)]
    return hits, cards


def _hit(tool: LiveTool, match: Match, shown: Card) -> Hit:
    return Hit(
        ref=tool.ref,
        effect=tool.effect,
        verb=verb_for(tool.effect),
        signature=shown.signature,
        summary=shown.line,
        score=match.score,
        why=match.why,
    )


def _header(shelf: Shelf, hits: Sequence[Hit], near: Sequence[Nearest], *, fits: bool) -> str:
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
