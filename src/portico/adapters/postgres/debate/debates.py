"""Debates and their notes in PostgreSQL: what the caller may not read is not there."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.bridge.visibility import WALL, cleared, mark_of, no_write_down
from portico.adapters.postgres.debate.mapping import (
    debate_columns,
    debate_from,
    decision_column,
    note_columns,
    note_from,
    notes_from,
    talk_topic,
)
from portico.adapters.postgres.debate.seats import take_seat, which
from portico.adapters.postgres.mapping import strip_nul
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.errors import ProjectNotFound, WriteDown
from portico.bridge.core.projects import ProjectId
from portico.debate.core.debaters import Debater
from portico.debate.core.debates import Debate, DebateId, DebateStatus, Decision, Note, WholeDebate
from portico.debate.core.errors import DebateNotFound, DebateOver
from portico.kernel.ids import InvalidId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

SEEN: Final[LiteralString] = """d.space_id = %(space)s AND d.level <= %(level)s
       AND d.compartments <@ %(compartments)s::text[]
       AND (%(everyone)s OR NOT d.private OR d.started_by = %(principal)s)"""
DEBATE: Final[LiteralString] = """d.debate_id, d.level, d.compartments, d.private, d.untrusted,
    d.project_id, d.part_of, d.analysis, d.started_by, d.run_id, d.context_id, d.status,
    d.body::text AS body, d.guests, d.unbounded, d.cap_tokens, d.cap_money, d.deadline,
    d.started_at, d.ended_at, d.decision::text AS decision, d.tokens, d.money, d.time, d.calls,
    coalesce((SELECT json_agg(s.voice ORDER BY s.place)::text FROM portico.debate_seat s
               WHERE s.space_id = d.space_id AND s.debate_id = d.debate_id), '[]') AS seated"""
NOTE: Final[LiteralString] = """n.debate_id, n.name, n.kind, n.voice, n.round,
    n.body::text AS body, n.tokens, n.money, n.time, n.calls, n.prompt_tokens, n.output_tokens,
    n.overrun, n.at"""
_THIS: Final[LiteralString] = f"{SEEN} AND d.debate_id = %(debate)s"
_PROJECT: Final[LiteralString] = """
    SELECT level, compartments FROM portico.project
     WHERE space_id = %(space)s AND project_id = %(project)s AND level <= %(level)s
       AND compartments <@ %(compartments)s::text[]
"""
_BEGIN: Final[LiteralString] = """
    INSERT INTO portico.debate (space_id, debate_id, level, compartments, private, untrusted,
        project_id, part_of, analysis, started_by, run_id, context_id, status, question, body,
        guests, unbounded, cap_tokens, cap_money, deadline, started_at, ended_at, decision)
    VALUES (%(space)s, %(debate)s, %(its_level)s, %(its_compartments)s, %(private)s,
        %(untrusted)s, %(project)s, %(part_of)s, %(analysis)s, %(started_by)s, %(run)s,
        %(context)s, %(status)s, %(question)s, %(body)s::json, %(guests)s, %(unbounded)s,
        %(cap_tokens)s, %(cap_money)s, %(deadline)s, %(started_at)s, %(ended_at)s,
        %(decision)s::json)
    ON CONFLICT DO NOTHING
"""
_GET: Final[LiteralString] = f"SELECT {DEBATE} FROM portico.debate d WHERE {_THIS}"
_NOTES: Final[LiteralString] = f"""
    SELECT {NOTE} FROM portico.debate_note n
      JOIN portico.debate d USING (space_id, debate_id) WHERE {_THIS} ORDER BY n.place
"""
_NOTE: Final[LiteralString] = f"""
    SELECT {NOTE}, d.status <> 'running' AS over FROM portico.debate_note n
      JOIN portico.debate d USING (space_id, debate_id) WHERE {_THIS} AND n.name = %(name)s
"""
_ADD_NOTE: Final[LiteralString] = f"""
    SELECT portico.debate_add_note(
        %(debate)s, %(name)s, %(its_level)s::smallint, %(its_compartments)s::text[], %(kind)s,
        %(voice)s, %(round)s, %(body)s::json, %(tokens)s, %(money)s, %(time)s, %(calls)s,
        %(prompt)s, %(output)s, %(overrun)s, %(at)s, {WALL}) AS outcome
"""
_END: Final[LiteralString] = f"""
    UPDATE portico.debate d
       SET status = %(status)s, ended_at = %(at)s, decision = %(decision)s::json,
           tokens = used.tokens, money = used.money, time = used.time, calls = used.calls
      FROM (SELECT coalesce(sum(r.tokens), 0) AS tokens, coalesce(sum(r.money), 0) AS money,
                   coalesce(sum(r.time), interval '0') AS time, coalesce(sum(r.calls), 0) AS calls
              FROM portico.debate_reservation r
             WHERE r.space_id = %(space)s
               AND (r.debate_id = %(debate)s OR r.whole_id = %(debate)s)) used
     WHERE {_THIS} AND d.status = 'running'
"""
_SHARE: Final[LiteralString] = f"""
    UPDATE portico.debate d SET private = false
     WHERE {SEEN} AND %(debate)s IN (d.debate_id, d.part_of) AND d.started_by = %(principal)s
       AND d.private
"""
_PAGE: Final[LiteralString] = f"""
    SELECT {DEBATE} FROM portico.debate d
     WHERE {SEEN} AND d.part_of IS NULL
       AND (%(project)s::uuid IS NULL OR d.project_id = %(project)s::uuid)
       AND (%(status)s::text IS NULL OR d.status = %(status)s::text)
       AND NOT EXISTS (SELECT FROM unnest(%(words)s::text[]) AS wanted (word)
                        WHERE position(wanted.word IN lower(d.question)) = 0)
       AND (%(after)s::uuid IS NULL OR (d.started_at, d.debate_id) < (
            SELECT l.started_at, l.debate_id FROM portico.debate l
             WHERE l.space_id = %(space)s AND l.debate_id = %(after)s::uuid))
     ORDER BY d.started_at DESC, d.debate_id DESC LIMIT %(limit)s
"""
_PARTS: Final[LiteralString] = f"""
    SELECT {DEBATE} FROM portico.debate d WHERE {SEEN} AND d.part_of = %(debate)s
     ORDER BY d.started_at, d.debate_id
"""
_REMOVE: Final[LiteralString] = f"""
    DELETE FROM portico.debate d WHERE {_THIS} AND d.started_by = %(principal)s
    RETURNING d.debate_id
"""
_HUSH: Final[LiteralString] = "SELECT portico.debate_hush(%(debate)s, %(topic)s)"


class PostgresBlackboard:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, caller: Principal, debate: Debate) -> None:
        if debate.project is not None and _project(debate.project) is None:
            raise ProjectNotFound(debate.project)
        values = {**cleared(caller), **debate_columns(debate)}
        async with (
            no_write_down(self._transactions, caller, debate.label),
            self._transactions.begin(caller) as connection,
        ):
            if debate.project is not None:
                project = await (await connection.execute(_PROJECT, values)).fetchone()
                if project is None:
                    raise ProjectNotFound(debate.project)
            await connection.execute(_BEGIN, values)

    async def read(self, caller: Principal, debate: DebateId) -> WholeDebate:
        asked = which(caller, debate)
        rows, notes = await self._transactions.looked_up(caller, (_GET, asked), (_NOTES, asked))
        if not rows:
            raise DebateNotFound(str(debate))
        return WholeDebate(debate_from(rows[0]), notes_from(notes))

    async def note(self, caller: Principal, debate: DebateId, note: Note, label: Label) -> Note:
        values = {**which(caller, debate), **note_columns(note, label)}
        async with self._transactions.begin(caller) as connection:
            [added] = await (await connection.execute(_ADD_NOTE, values)).fetchall()
            if added["outcome"] == "not_found":
                raise DebateNotFound(str(debate))
            if added["outcome"] == "write_down":
                raise WriteDown(label, await mark_of(self._transactions, caller))
            [row] = await (await connection.execute(_NOTE, values)).fetchall()
            if added["outcome"] == "written" and row["over"]:
                raise DebateOver(str(debate))  # the note is taken back with it
        return note_from(row)

    async def join(self, caller: Principal, debate: DebateId, voice: Debater) -> Debater:
        return await take_seat(self._transactions, caller, debate, voice)

    async def end(
        self,
        caller: Principal,
        debate: DebateId,
        status: DebateStatus,
        decision: Decision | None,
        *,
        at: datetime,
    ) -> Debate:
        values = {
            **which(caller, debate),
            "status": str(status),
            "decision": decision_column(decision),
            "at": at,
        }
        return await self._changed(caller, debate, _END, values)

    async def share(self, caller: Principal, debate: DebateId) -> Debate:
        return await self._changed(caller, debate, _SHARE, which(caller, debate))

    async def _changed(
        self,
        caller: Principal,
        debate: DebateId,
        statement: LiteralString,
        values: dict[str, object],
    ) -> Debate:
        label = (await self._found(caller, debate)).label
        async with (
            no_write_down(self._transactions, caller, label),
            self._transactions.begin(caller) as connection,
        ):
            await connection.execute(statement, values)
        return await self._found(caller, debate)

    async def _found(self, caller: Principal, debate: DebateId) -> Debate:
        [rows] = await self._transactions.looked_up(caller, (_GET, which(caller, debate)))
        if not rows:
            raise DebateNotFound(str(debate))
        return debate_from(rows[0])

    async def page(
        self,
        caller: Principal,
        *,
        project: str | None,
        status: DebateStatus | None,
        words: str | None,
        after: DebateId | None,
        limit: int,
    ) -> Sequence[Debate]:
        inside = None if project is None else _project(project)
        if project is not None and inside is None:
            return []
        asked = {
            **cleared(caller),
            "project": None if inside is None else inside.value,
            "status": None if status is None else str(status),
            "words": strip_nul(words or "").lower().split(),
            "after": None if after is None else after.value,
            "limit": limit,
        }
        [rows] = await self._transactions.looked_up(caller, (_PAGE, asked))
        return [debate_from(row) for row in rows]

    async def parts(self, caller: Principal, debate: DebateId) -> Sequence[Debate]:
        [rows] = await self._transactions.looked_up(caller, (_PARTS, which(caller, debate)))
        return [debate_from(row) for row in rows]

    async def remove(self, caller: Principal, debate: DebateId) -> None:
        """With what was told of it while somebody followed it."""
        found, asked = await self._found(caller, debate), which(caller, debate)
        parts = await self.parts(caller, debate)
        async with self._transactions.begin(caller) as connection:
            for each in (debate, *(part.id for part in parts)):
                await connection.execute(_HUSH, {"debate": each.value, "topic": talk_topic(each)})
            if not await (await connection.execute(_REMOVE, asked)).fetchall():
                if found.started_by != caller.id:
                    raise DebateNotFound(str(debate))
                mark = await mark_of(self._transactions, caller)
                raise WriteDown(found.label, mark, shared=True)


def _project(text: str) -> ProjectId | None:
    try:
        return ProjectId.parse(text)
    except InvalidId:
        return None
