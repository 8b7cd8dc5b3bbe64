"""The catalogue by server, and what a search finds in it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from urllib.parse import quote

from portico.gateway.catalog import ToolLook
from portico.gateway.core.calls import Figures
from portico.gateway.core.catalog_snapshot import Standing, ToolRef
from portico.gateway.core.surface import one_line
from portico.gateway.search import Found, Hit
from portico.gateway.servers import ServerLook
from portico.interfaces.console.screens.tools.effects import Mark, effect_mark, standing_mark
from portico.interfaces.console.server_states import State, state_of

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
    effect: Mark
    standing: Mark | None
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
    effect: Mark
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


def groups(looks: Iterable[ServerLook], figures: Iterable[Figures]) -> Sequence[Group]:
    known = {each.name: each for each in figures}
    return [_group(look, known.get(look.server.name)) for look in looks]


def _group(look: ServerLook, its: Figures | None) -> Group:
    counted = look.tools
    return Group(
        server=look.server.name,
        state=state_of(look),
        enabled=look.server.enabled,
        tools=there(look),
        quarantined=counted.get(Standing.NEW, 0) + counted.get(Standing.CHANGED, 0),
        tokens=look.tokens,
        uses=0 if its is None else its.calls,
        p95=None if its is None else its.p95,
    )


def there(look: ServerLook) -> int:
    return sum(number for stands, number in look.tools.items() if stands is not Standing.GONE)


def in_use(looks: Iterable[ServerLook]) -> tuple[int, int]:
    """How many tools can be called, and what all of them would cost a client that lists them."""
    approved = [look for look in looks if look.server.approved]
    live = sum(look.tools.get(Standing.LIVE, 0) for look in approved)
    return live, sum(look.tokens for look in approved)


def rows(
    server: str, looks: Sequence[ToolLook], figures: Iterable[Figures], *, start: int = 0
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


def _row(look: ToolLook, its: Figures | None) -> Row:
    tool = look.tool
    live = look.standing is Standing.LIVE
    return Row(
        name=tool.ref.name,
        href=tool_href(tool.ref),
        line=one_line(tool.definition),
        effect=effect_mark(tool.effect),
        standing=None if live else standing_mark(look.standing),
        tokens=tool.tokens,
        uses=0 if its is None else its.calls,
        p95=None if its is None else its.p95,
    )


def search(query: str, found: Found, counted: tuple[int, int], took: timedelta) -> Search:
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


def by_server(looks: Iterable[ServerLook]) -> Mapping[str, ServerLook]:
    return {look.server.name: look for look in looks}
