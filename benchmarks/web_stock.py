"""What else is in the house of `just bench web`: calls on the record, what was learnt of their
order, the audit, and what people and agents say to each other."""

from collections.abc import Callable
from random import Random
from typing import Final, LiteralString

import psycopg

from benchmarks.bridge_cast import LABELS, drawn_cast
from benchmarks.bridge_corpus import Corpus
from benchmarks.bridge_loading import load
from benchmarks.bridge_vocabulary import vocabulary
from benchmarks.graph_world import drawn_edges
from benchmarks.web_sizes import Sizes
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.learning.counts import PostgresEdgeStore
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.kernel.ids import SpaceId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal

_SEED: Final = 12
_AGENTS: Final = 40
_PEOPLE: Final = 8
_EVERY: Final = 1_000
# Some tools are called often and most of them seldom; what fails and what lasts is by lot.
_CALLS: Final[LiteralString] = """
    WITH known AS MATERIALIZED (
        SELECT row_number() OVER (ORDER BY md5(s.name || t.name)) - 1 AS place,
               s.name AS server, t.name AS tool, t.effect, t.pin
          FROM portico.tool t JOIN portico.server s USING (space_id, server_id)
    ), once AS MATERIALIZED (SELECT * FROM portico.tool_call LIMIT 1), drawn AS MATERIALIZED (
        SELECT floor(random() ^ 3 * (SELECT count(*) FROM known)) AS place, random() AS lot,
               now() - random() * interval '14 days' AS at
          FROM generate_series(1, %(calls)s)
    )
    INSERT INTO portico.tool_call (
        space_id, call_id, started_at, principal_id, server, tool, effect, pin, arguments,
        incarnation, took, outcome, error, bytes_out, context_id, level, compartments)
    SELECT o.space_id, gen_random_uuid(), d.at, o.principal_id, k.server, k.tool, k.effect, k.pin,
           o.arguments, o.incarnation, d.lot ^ 4 * interval '3 seconds',
           CASE WHEN d.lot > 0.97 THEN 'failed' WHEN d.lot > 0.96 THEN 'timed_out' ELSE 'done' END,
           CASE WHEN d.lot > 0.96 THEN 'It did not work.' END, o.bytes_out, o.context_id, o.level,
           o.compartments
      FROM drawn d JOIN known k USING (place), once o
"""
_ACTS: Final[LiteralString] = """
    SELECT portico.append_audit(ARRAY(
        SELECT (e.entry::json -> 'act')::text FROM portico.audit_entry e
         WHERE e.space_id = %(space)s AND e.number <= %(known)s
         ORDER BY md5(e.number::text || %(batch)s) LIMIT %(many)s))
"""
# As far as somebody else has read who is in it, and has said nothing oneself.
_JOIN: Final[LiteralString] = """
    INSERT INTO portico.participant (
        space_id, conversation_id, principal_id, joined_at, last_seq, seen, apart)
    SELECT DISTINCT ON (p.conversation_id) p.space_id, p.conversation_id, %(me)s, p.joined_at,
           p.last_seq, p.seen, array_fill(0::bigint, ARRAY[cardinality(p.seen)])
      FROM portico.participant p JOIN portico.conversation c USING (space_id, conversation_id)
     WHERE c.compartments = '{}' AND (c.conversation_id = ANY (%(always)s) OR NOT c.closed)
     ORDER BY p.conversation_id, p.last_seq DESC
"""

Progress = Callable[[str], None]


def load_calls(admin: psycopg.Connection, sizes: Sizes, progress: Progress) -> None:
    progress(f"making {sizes.calls:,} calls")
    admin.execute(_CALLS, {"calls": sizes.calls})


def load_audit(admin: psycopg.Connection, me: Principal, sizes: Sizes, progress: Progress) -> None:
    """By the one function that can: each is chained to the one before it."""
    [(known,)] = admin.execute("SELECT max(number) FROM portico.audit_entry")
    for done in range(0, sizes.audit, _EVERY):
        progress(f"writing {sizes.audit:,} entries of the audit: {done:,}")
        with admin.transaction():
            for name, value in {"space": me.space.value, "principal": me.id.value}.items():
                asked = "SELECT set_config(%s, %s, true)"
                admin.execute(asked, [f"portico.{name}", str(value)])
            many = min(_EVERY, sizes.audit - done)
            asked_for = {"space": me.space.value, "known": known, "batch": str(done), "many": many}
            admin.execute(_ACTS, asked_for)


async def load_edges(
    admin: psycopg.Connection, addresses: Addresses, me: Principal, sizes: Sizes
) -> None:
    rows = admin.execute("SELECT server_id, name FROM portico.tool ORDER BY server_id, name")
    places = [ToolPlace(ServerId(server), name) for server, name in rows]
    chance = Random(_SEED)  # noqa: S311 # the same ones on every run
    drawn = drawn_edges(chance, places, sizes.edges, SystemClock().now())
    async with open_pool(addresses.app, 2) as pool:
        book = PostgresEdgeStore(Transactions(pool))
        for label in (PUBLIC, Label(Level.TEAM)):
            mine = {edge: seen for edge, (its, seen) in drawn.items() if its == label}
            await book.learn(me, label, mine)


def load_talk(admin: psycopg.Connection, me: Principal, sizes: Sizes, progress: Progress) -> Corpus:
    """With whoever looks at the console among those who take part. Raises `NoWords`."""
    cast = drawn_cast(
        SpaceId(me.space.value),
        _SEED,
        conversations=sizes.conversations,
        agents=_AGENTS,
        people=_PEOPLE,
        projects=sizes.projects,
    )
    corpus = Corpus(cast, vocabulary(), sizes.messages, _SEED)
    load(admin, corpus, 0, progress)
    long = cast.talks[long_talk(corpus, sizes.long_talk)]
    admin.execute(_JOIN, {"me": me.id.value, "always": [long.id]})
    return corpus


def long_talk(corpus: Corpus, wanted: int) -> int:
    """The place of the conversation that is nearest to so many messages, of those that somebody
    without compartments may see."""
    return min(
        (
            place
            for place, talk in enumerate(corpus.cast.talks)
            if not LABELS[talk.label].compartments
        ),
        key=lambda place: abs(len(corpus.told[place].labels) - wanted),
    )
