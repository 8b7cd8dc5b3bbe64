"""Whether what is asked most often costs more where more was said before: pages of the database
that it looks at, in a small history and in one ten times as long."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from random import Random
from statistics import median
from typing import Final, LiteralString

import psycopg

from benchmarks.bridge_cast import LABELS
from benchmarks.bridge_corpus import Corpus
from benchmarks.bridge_explained import Cost, Explaining
from benchmarks.bridge_loading import without_indexes
from portico.adapters.postgres.bridge.messages import PostgresMessages, PostgresReadState
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.messages import MessageId, NewMessage
from portico.bridge.ports import Stamp

_ASKED: Final = 40
_PAGE: Final = 50
_WARMING: Final = 3
"""Until the database knows its own tables."""
_GROW: Final[LiteralString] = """
    INSERT INTO portico.message (
        space_id, conversation_id, seq, message_id, level, compartments, label, closed, sender,
        sender_name, body, sent_at)
    SELECT c.space_id, c.conversation_id, c.last_seq + g, gen_random_uuid(), c.level,
           c.compartments, l.number, c.closed, c.made_by, 'somebody',
           'number ' || g || ' of what was said at length about ' || md5((g %% 5000)::text),
           greatest(c.made_at, (SELECT max(at) FROM unnest(c.newest) AS at)) + g * interval '1 s'
      FROM portico.conversation c
      JOIN portico.bridge_label l USING (space_id, level, compartments)
     CROSS JOIN generate_series(1, %(many)s) AS g
"""
_SAID: Final[LiteralString] = """
    UPDATE portico.conversation c
       SET last_seq = c.last_seq + %(many)s,
           said[l.number] = coalesce(c.said[l.number], 0) + %(many)s
      FROM portico.bridge_label l
     WHERE l.space_id = c.space_id AND l.level = c.level AND l.compartments = c.compartments
"""
_READ: Final[LiteralString] = """
    UPDATE portico.participant t
       SET last_seq = t.last_seq + %(many)s,
           seen[l.number] = coalesce(t.seen[l.number], 0) + %(many)s
      FROM portico.conversation c JOIN portico.bridge_label l USING (space_id, level, compartments)
     WHERE c.space_id = t.space_id AND c.conversation_id = t.conversation_id
"""
_APART: Final[tuple[LiteralString, ...]] = (
    "UPDATE portico.read_message SET seq = seq + %(many)s",
    "UPDATE portico.mention SET seq = seq + %(many)s",
)


def grow(
    admin: psycopg.Connection, corpus: Corpus, times: int, progress: Callable[[str], None]
) -> int:
    """So many times as much was said; everybody has read on, and is as far behind as before. How
    many messages there are then."""
    more = corpus.messages * (times - 1) // len(corpus.cast.talks)
    whole = corpus.messages + more * len(corpus.cast.talks)
    with admin.transaction():
        admin.execute("SET LOCAL session_replication_role = replica")
        admin.execute("SET LOCAL maintenance_work_mem = '1GB'")
        again = without_indexes(admin)
        progress(f"saying on until there are {whole:,}")
        for statement in (_GROW, _SAID, _READ, *_APART):
            admin.execute(statement, {"many": more})
        progress(f"making indexes of {whole:,}")
        for statement in again:
            admin.execute(statement.encode())
    admin.execute("VACUUM ANALYZE")
    return whole


async def buffers(explaining: Explaining, corpus: Corpus) -> Mapping[str, float]:
    """Pages looked at, the median of each."""
    cast, chance = corpus.cast, Random(13)  # noqa: S311 # the same ones on every run
    read_state, messages = PostgresReadState(explaining), PostgresMessages(explaining)
    costs: dict[str, list[Cost]] = {"unread": [], "page": [], "send": []}
    for number in range(_ASKED + _WARMING):
        talk = chance.choice(cast.talks)
        # In a task that has read nothing: else what it says would be refused, and cost little.
        who = cast.everybody[chance.choice(talk.members)]
        who = replace(who, key=f"plans {who.name}")
        where = ConversationId(talk.id)
        now = SystemClock().now()
        stamp = Stamp(id=MessageId.mint(now, system_entropy), label=LABELS[talk.label], at=now)
        wish = NewMessage(conversation=where, body="what is said now", key=f"plan {number}")
        cost_of = explaining.cost_of
        found = {
            "unread": await cost_of(partial(read_state.unread, who)),
            "page": await cost_of(partial(messages.before, who, where, before=None, limit=_PAGE)),
            "send": await cost_of(partial(messages.send, who, wish, stamp)),
        }
        if number >= _WARMING:
            for name, cost in found.items():
                costs[name].append(cost)
    return {name: median(each.buffers for each in found) for name, found in costs.items()}
