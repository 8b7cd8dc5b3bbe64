"""How debates turned out, kept in PostgreSQL: the newest of each counts."""

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.bridge_walls import cleared
from portico.adapters.postgres.bridge_writes import no_write_down
from portico.adapters.postgres.debate_blackboard import DEBATE, NOTE, SEEN
from portico.adapters.postgres.debate_rows import debate_from, notes_from
from portico.adapters.postgres.debate_seats import which
from portico.adapters.postgres.plain_text import storable
from portico.adapters.postgres.rows import Row, as_label
from portico.adapters.postgres.transaction import Transactions
from portico.debate.core.debates import DebateId, Known, Outcome, Source, WholeDebate
from portico.debate.core.errors import DebateNotFound
from portico.debate.core.vote_weights import known_of
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal

_OUTCOME: Final[LiteralString] = """o.debate_id, o.right_answer::text AS right_answer,
    o.shown::text AS shown, o.decided_right, o.source, o.note, o.marked_by, o.at"""
_HOLD: Final[LiteralString] = f"""
    SELECT d.level, d.compartments FROM portico.debate d
     WHERE {SEEN} AND d.debate_id = %(debate)s
"""
_LOCK: Final[LiteralString] = "SELECT pg_advisory_xact_lock(hashtextextended(%(lock)s, 0))"
_MARK: Final[LiteralString] = """
    INSERT INTO portico.debate_outcome (space_id, debate_id, number, level, compartments,
        right_answer, shown, decided_right, source, note, marked_by, at)
    SELECT %(space)s, %(debate)s, 1 + coalesce(max(number), 0), %(its_level)s,
           %(its_compartments)s, %(right)s::json, %(shown)s::json, %(decided_right)s,
           %(source)s, %(note)s, %(by)s, %(at)s
      FROM portico.debate_outcome WHERE space_id = %(space)s AND debate_id = %(debate)s
"""
_OF: Final[LiteralString] = f"""
    SELECT {_OUTCOME} FROM portico.debate_outcome o
      JOIN portico.debate d USING (space_id, debate_id)
     WHERE {SEEN} AND d.debate_id = %(debate)s ORDER BY o.number DESC
"""
_LAST: Final[LiteralString] = f"""
    SELECT DISTINCT ON (o.debate_id) o.debate_id, o.right_answer, o.shown, o.decided_right,
           o.source, o.note, o.marked_by, o.at
      FROM portico.debate_outcome o JOIN portico.debate d USING (space_id, debate_id)
     WHERE {SEEN} AND o.level <= %(level)s AND o.compartments <@ %(compartments)s::text[]
       AND o.at <= %(before)s
     ORDER BY o.debate_id, o.number DESC
"""
_LATELY: Final[LiteralString] = f"""
    SELECT {_OUTCOME} FROM ({_LAST}) o ORDER BY o.at DESC, o.debate_id DESC
     LIMIT %(limit)s OFFSET %(passed)s
"""
_DEBATES: Final[LiteralString] = f"""
    SELECT {DEBATE} FROM portico.debate d WHERE {SEEN} AND d.debate_id = ANY(%(debates)s)
"""
_SAID: Final[LiteralString] = f"""
    SELECT {NOTE} FROM portico.debate_note n JOIN portico.debate d USING (space_id, debate_id)
     WHERE {SEEN} AND d.debate_id = ANY(%(debates)s) AND n.kind IN ('said', 'same')
     ORDER BY n.debate_id, n.place
"""
_LOT: Final = 500
"""That are looked through at a time: who took part in them is in their words."""


class PostgresOutcomes:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def mark(self, caller: Principal, outcome: Outcome) -> None:
        asked = which(caller, outcome.debate)
        [rows] = await self._transactions.looked_up(caller, (_HOLD, asked))
        if not rows:
            raise DebateNotFound(str(outcome.debate))
        label = as_label(rows[0]["level"], rows[0]["compartments"])
        values = {
            **asked,
            "lock": f"portico outcome {caller.space} {outcome.debate}",
            "its_level": int(label.level),
            "its_compartments": sorted(label.compartments),
            "right": json.dumps(outcome.right),
            "shown": json.dumps(outcome.shown),
            "decided_right": outcome.decided_right,
            "source": str(outcome.source),
            "note": storable(outcome.note),
            "by": outcome.by.value,
            "at": outcome.at,
        }
        async with (
            no_write_down(self._transactions, caller, label),
            self._transactions.begin(caller) as connection,
        ):
            await connection.execute(_LOCK, values)
            await connection.execute(_MARK, values)

    async def of(self, caller: Principal, debate: DebateId) -> Sequence[Outcome]:
        [rows] = await self._transactions.looked_up(caller, (_OF, which(caller, debate)))
        return [_outcome(row) for row in rows]

    async def known(
        self, caller: Principal, voices: Collection[str], *, limit: int, before: datetime
    ) -> Sequence[Known]:
        found: list[Known] = []
        passed = 0
        while len(found) < limit:
            asked = {**cleared(caller), "before": before, "limit": _LOT, "passed": passed}
            [rows] = await self._transactions.looked_up(caller, (_LATELY, asked))
            found += await self._known(caller, frozenset(voices), [*map(_outcome, rows)])
            passed += len(rows)
            if len(rows) < _LOT:
                break
        return found[:limit][::-1]

    async def _known(
        self, caller: Principal, voices: frozenset[str], outcomes: Sequence[Outcome]
    ) -> Sequence[Known]:
        asked = {**cleared(caller), "debates": [each.debate.value for each in outcomes]}
        debates, said = await self._transactions.looked_up(
            caller, (_DEBATES, asked), (_SAID, asked)
        )
        notes: defaultdict[DebateId, list[Row]] = defaultdict(list)
        for row in said:
            notes[DebateId(row["debate_id"])].append(row)
        wholes = {
            its.id: WholeDebate(its, notes_from(notes[its.id])) for its in map(debate_from, debates)
        }
        every = [known_of(wholes[each.debate], each) for each in outcomes if each.debate in wholes]
        return [each for each in every if voices & {ballot.voice for ballot in each.ballots}]


def _outcome(row: Row) -> Outcome:
    return Outcome(
        debate=DebateId(row["debate_id"]),
        right=json.loads(row["right_answer"]),
        shown=json.loads(row["shown"]),
        decided_right=row["decided_right"],
        source=Source(row["source"]),
        note=row["note"],
        by=PrincipalId(row["marked_by"]),
        at=row["at"],
    )
