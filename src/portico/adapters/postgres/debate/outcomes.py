"""Outcomes, personas and promotions of debates in PostgreSQL."""

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.bridge.visibility import WALL, cleared, mark_of, no_write_down
from portico.adapters.postgres.debate.debates import DEBATE, NOTE, SEEN
from portico.adapters.postgres.debate.mapping import debate_from, notes_from
from portico.adapters.postgres.debate.seats import which
from portico.adapters.postgres.mapping import Row, as_label, strip_nul, uuid_or_none
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.declassification import DeclassificationId
from portico.bridge.core.errors import NotApproved, WriteDown
from portico.debate.core.debaters import Persona
from portico.debate.core.debates import DebateId, KnownOutcome, Outcome, Source, WholeDebate
from portico.debate.core.errors import DebateNotFound, PersonaNotFound
from portico.debate.core.vote_weights import known_of
from portico.kernel.ids import ApprovalId, PrincipalId
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal

# How debates turned out, kept in PostgreSQL: the newest of each counts.

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
            "note": strip_nul(outcome.note),
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
    ) -> Sequence[KnownOutcome]:
        found: list[KnownOutcome] = []
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
    ) -> Sequence[KnownOutcome]:
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


# Personas that people of a space have made, kept in PostgreSQL: everybody there reads them.

_ALL: Final[LiteralString] = """
    SELECT name, instructions, specialist, made_by, changed_at FROM portico.debate_persona
     WHERE space_id = %(space)s ORDER BY name
"""
_PUT: Final[LiteralString] = """
    INSERT INTO portico.debate_persona (space_id, name, instructions, specialist, made_by,
                                        changed_at)
    VALUES (%(space)s, %(name)s, %(instructions)s, %(specialist)s, %(by)s, %(at)s)
    ON CONFLICT (space_id, name) DO UPDATE
       SET instructions = %(instructions)s, specialist = %(specialist)s, made_by = %(by)s,
           changed_at = %(at)s
"""
_REMOVE: Final[LiteralString] = """
    DELETE FROM portico.debate_persona WHERE space_id = %(space)s AND name = %(name)s
    RETURNING name
"""


class PostgresPersonas:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def all(self, caller: Principal) -> Sequence[Persona]:
        [rows] = await self._transactions.looked_up(caller, (_ALL, {"space": caller.space.value}))
        return [_persona(row) for row in rows]

    async def put(self, caller: Principal, persona: Persona) -> None:
        values = {
            "space": caller.space.value,
            "name": strip_nul(persona.name),
            "instructions": strip_nul(persona.instructions),
            "specialist": persona.specialist,
            "by": uuid_or_none(persona.made_by),
            "at": persona.changed_at,
        }
        async with (
            no_write_down(self._transactions, caller, PUBLIC),
            self._transactions.begin(caller) as connection,
        ):
            await connection.execute(_PUT, values)

    async def remove(self, caller: Principal, name: str) -> None:
        there = [each.name for each in await self.all(caller)]
        values = {"space": caller.space.value, "name": strip_nul(name)}
        [gone] = await self._transactions.looked_up(caller, (_REMOVE, values))
        if not gone and name in there:
            raise WriteDown(PUBLIC, await mark_of(self._transactions, caller), shared=True)
        if not gone:
            raise PersonaNotFound(name, there)


def _persona(row: Row) -> Persona:
    return Persona(
        name=row["name"],
        instructions=row["instructions"],
        specialist=row["specialist"],
        made_by=None if row["made_by"] is None else PrincipalId(row["made_by"]),
        changed_at=row["changed_at"],
    )


_ADD: Final[LiteralString] = f"""
    SELECT portico.debate_promote(
        %(record)s, %(approval)s, %(source)s, %(copy)s, %(to_level)s::smallint,
        %(to_compartments)s::text[], %(content)s, %(rules)s::text[], %(signature)s, %(at)s,
        {WALL}) AS outcome
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """Kept for ever, and signed: what was let out, from where to where, and on whose word."""

    id: DeclassificationId
    source: DebateId
    copy: DebateId
    before: Label
    after: Label
    rules: tuple[str, ...]
    approval: ApprovalId
    at: datetime
    digest: str
    signature: str = ""


class PostgresPromotions:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, caller: Principal, record: Promoted, content: str) -> None:
        """Both or neither. The store looks by itself whether a person has said yes to exactly
        this. Raises `NotApproved`."""
        values = {
            "record": record.id.value,
            "approval": record.approval.value,
            "source": record.source.value,
            "copy": record.copy.value,
            "to_level": int(record.after.level),
            "to_compartments": sorted(record.after.compartments),
            "content": content,
            "rules": [*record.rules],
            "signature": record.signature,
            "at": record.at,
            **cleared(caller),
        }
        async with self._transactions.begin(caller) as connection:
            [row] = await (await connection.execute(_ADD, values)).fetchall()
        if row["outcome"] != "promoted":
            raise NotApproved(str(record.source))
