"""Reading in `just bench bridge`: what is unread, pages and words, with walls and without."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from statistics import median
from typing import Any, Final, LiteralString, TypeVar

from benchmarks.bridge_cast import Cast
from benchmarks.bridge_corpus import Corpus
from benchmarks.bridge_explained import Explaining
from portico.adapters.postgres.bridge.messages import PostgresMessages, PostgresReadState
from portico.adapters.postgres.bridge.search import PostgresMessageSearch
from portico.adapters.postgres.bridge.visibility import placed_from
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.conversations import ConversationId
from portico.bridge.read_state import ShowInbox
from portico.bridge.search import Hit
from portico.kernel.principal import Principal

PAGE: Final = 50
_HITS: Final = 20
_WARMING: Final = 20
"""Of each, before any is counted."""
_RARE: Final = 50
"""Messages of the corpus, at most, that have a word for it to be rare."""
_COMMON: Final = 0.05
"""The part of them, at least, that have a common one."""
_BRUTE: Final[LiteralString] = """
    SELECT count(*) AS many FROM portico.participant t
      JOIN portico.conversation c USING (space_id, conversation_id)
      JOIN portico.message m USING (space_id, conversation_id)
     WHERE t.space_id = %(space)s AND t.principal_id = %(principal)s AND NOT t.muted
       AND c.archived_at IS NULL AND m.seq > t.last_seq AND m.deleted_at IS NULL
       AND m.level <= %(level)s AND m.compartments <@ %(compartments)s::text[]
       AND m.sender <> t.principal_id
       AND NOT EXISTS (SELECT FROM portico.read_message r WHERE r.space_id = t.space_id
                          AND r.principal_id = t.principal_id
                          AND r.conversation_id = t.conversation_id AND r.seq = m.seq)
"""
_BARE_PAGE: Final[LiteralString] = """
    SELECT m.conversation_id, m.seq, m.message_id, m.level, m.compartments, m.sender,
           m.sender_name, m.body, m.reply_to, m.thread, m.mentions, m.addressed, m.attachments,
           m.acknowledge, m.acknowledge_by, m.untrusted, m.sent_at, m.edited_at,
           m.deleted_at
      FROM portico.message m
     WHERE m.space_id = %(space)s AND m.conversation_id = %(conversation)s AND m.seq < %(before)s
     ORDER BY m.seq DESC LIMIT %(limit)s
"""

Figures = dict[str, Any]
Found = TypeVar("Found")


@dataclass(slots=True)
class Spans:
    """Milliseconds, by what took them."""

    taken: dict[str, list[float]] = field(default_factory=dict)

    async def of(self, name: str, act: Callable[[], Awaitable[Found]]) -> Found:
        began = time.perf_counter()
        found = await act()
        self.taken.setdefault(name, []).append((time.perf_counter() - began) * 1_000)
        return found

    def p50(self, name: str) -> float:
        return median(self.taken[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    transactions: Transactions
    bare: Transactions
    """Of the administrator, for whom there are no walls."""
    explaining: Explaining
    show_inbox: ShowInbox
    corpus: Corpus

    @property
    def cast(self) -> Cast:
        return self.corpus.cast

    async def unread(self, rounds: int) -> Figures:
        agents = self.cast.everybody[: self.cast.agents]
        read_state, inside = (
            PostgresReadState(self.transactions),
            PostgresReadState(self.explaining),
        )
        spans = Spans()
        for number in range(rounds + 1):
            for agent in agents:
                warming = number == 0
                await spans.of("warm" if warming else "total", partial(read_state.total, agent))
                await spans.of("warm" if warming else "each", partial(read_state.unread, agent))
                await spans.of("warm" if warming else "inbox", partial(self.show_inbox, agent))
        costs = [
            await self.explaining.cost_of(partial(inside.total, agent))
            for agent in [*agents, *agents]
        ]
        totals = {agent.name: (await read_state.total(agent)).count for agent in agents}
        each_by_each = {
            agent.name: sum(each.count for each in await read_state.unread(agent))
            for agent in agents
        }
        brute = {agent.name: await self._brute(agent) for agent in agents}
        wrong = [
            name for name, many in brute.items() if not totals[name] == each_by_each[name] == many
        ]
        for agent in agents[:10]:
            await spans.of("brute", partial(self._brute, agent))
        return {
            "unread_p50_ms": spans.p50("total"),
            "unread_of_each_p50_ms": spans.p50("each"),
            "unread_exact": not wrong,
            "unread_wrong": wrong,
            "unread_in_database_p50_ms": median(each.ms for each in costs[len(agents) :]),
            "inbox_p50_ms": spans.p50("inbox"),
            "unread_counted_one_by_one_p50_ms": spans.p50("brute"),
            "unread_median": median(totals.values()),
        }

    async def _brute(self, who: Principal) -> int:
        """Each message for itself, by nothing that was counted before."""
        asked = {
            "space": who.space.value,
            "principal": who.id.value,
            "level": int(who.clearance.level),
            "compartments": sorted(who.clearance.compartments),
        }
        [[row]] = await self.bare.looked_up(who, (_BRUTE, asked))
        return int(row["many"])

    async def pages(self, many: int) -> Figures:
        """With the walls and without in turn, of the same places."""
        messages, inside = PostgresMessages(self.transactions), PostgresMessages(self.explaining)
        chance, spans = Random(3), Spans()  # noqa: S311 # the same ones on every run
        places = [self._place(chance) for _ in range(many)]
        warming = places[:_WARMING]
        for number, (who, where, before) in enumerate([*warming, *places]):
            ways: dict[str, Callable[[], Awaitable[object]]] = {
                "walled": partial(messages.before, who, where, before=before, limit=PAGE),
                "bare": partial(self._bare_page, who, where, before),
            }
            for name in sorted(ways, reverse=number % 2 == 0):
                await spans.of("warm" if number < len(warming) else name, ways[name])
        costs = [
            await self.explaining.cost_of(
                partial(inside.before, who, where, before=before, limit=PAGE)
            )
            for who, where, before in [*warming, *places[:100]]
        ]
        return {
            "page_ratio": spans.p50("walled") / spans.p50("bare"),
            "page_p50_ms": spans.p50("walled"),
            "bare_page_p50_ms": spans.p50("bare"),
            "page_in_database_p50_ms": median(each.ms for each in costs[len(warming) :]),
        }

    def _place(self, chance: Random) -> tuple[Principal, ConversationId, int]:
        """Somebody, a conversation that they take part in, and somewhere in it."""
        talk = chance.choice(self.cast.talks)
        who = self.cast.everybody[chance.choice(talk.members)]
        end = len(self.corpus.told[self.cast.talks.index(talk)].labels)
        return who, ConversationId(talk.id), chance.randint(min(PAGE, end), end + 1)

    async def _bare_page(self, who: Principal, where: ConversationId, before: int) -> None:
        asked = {
            "space": who.space.value,
            "conversation": where.value,
            "before": before,
            "limit": PAGE + 1,
        }
        [rows] = await self.bare.looked_up(who, (_BARE_PAGE, asked))
        for row in rows[:PAGE]:
            placed_from(row)

    async def words(self, many: int) -> Figures:
        """Half of them rare, half of them common, for everybody in turn; besides, those between,
        and one of each kind together."""
        search, inside = (
            PostgresMessageSearch(self.transactions, lambda: ""),
            PostgresMessageSearch(self.explaining, lambda: ""),
        )
        spans, chance = Spans(), Random(5)  # noqa: S311 # the same ones on every run
        rare, between, common = self.kinds_of_words()
        hits: dict[str, list[int]] = {"rare": [], "common": [], "between": [], "both": []}
        costs: dict[str, list[float]] = {name: [] for name in hits}
        for number in range(many + _WARMING):
            who = self.cast.everybody[number % len(self.cast.everybody)]
            one, other = chance.choice(rare), chance.choice(common)
            asked = {
                "rare": one,
                "common": other,
                "between": chance.choice(between or common),
                "both": f"{other} {one}",
            }
            for name, words in asked.items():
                warming = number < _WARMING
                found = await spans.of(
                    "warm" if warming else name, partial(_found, search, who, words)
                )
                cost = await self.explaining.cost_of(partial(_found, inside, who, words))
                if not warming:
                    hits[name].append(len(found))
                    costs[name].append(cost.ms)
        mix = sorted(spans.taken["rare"] + spans.taken["common"])
        return {
            "fts_p50_ms": median(mix),
            "fts_p95_ms": mix[int(len(mix) * 0.95)],
            **{f"{name}_p50_ms": spans.p50(name) for name in hits},
            **{f"{name}_in_database_p50_ms": median(each) for name, each in costs.items()},
            "rare_words": len(rare),
            "common_words": len(common),
            "rare_found": median(hits["rare"]),
            "common_found": median(hits["common"]),
        }

    def kinds_of_words(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        """Rare ones, those between and common ones, by what was in fact said."""
        counts, words = self.corpus.found_in, self.corpus.speech.words
        rare: list[str] = []
        between: list[str] = []
        common: list[str] = []
        for place, many in counts.items():
            often = many >= self.corpus.messages * _COMMON
            kind = common if often else rare if many <= _RARE else between
            kind.append(str(words[place]))
        return sorted(rare), sorted(between), sorted(common)


async def _found(search: PostgresMessageSearch, who: Principal, words: str) -> Sequence[Hit]:
    return await search.by_words(
        who, words, project=None, conversation=None, max_label=None, limit=_HITS
    )
