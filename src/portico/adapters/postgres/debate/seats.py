"""Seats for guests in PostgreSQL: each guest sees their own, and what is asked there."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, LiteralString

from portico.adapters.postgres.bridge.visibility import WALL, cleared, mark_of, no_write_down
from portico.adapters.postgres.debate.mapping import (
    label_columns,
    question_from,
    voice_from,
    voice_json,
)
from portico.adapters.postgres.mapping import Row, as_label, strip_nul
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.errors import WriteDown
from portico.debate.core.debaters import Debater, DebaterReply, DebaterRequest
from portico.debate.core.debates import DebateId, DebateStatus, Seat
from portico.debate.core.errors import (
    DebateNotFound,
    DebateOver,
    NoAnswerExpected,
    NoSeatLeft,
    NotSeated,
)
from portico.kernel.budget import Cost, Tokens
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_SIT: Final[LiteralString] = f"""
    SELECT portico.debate_sit(%(debate)s, %(name)s, %(voice)s::json, {WALL}) AS outcome
"""
_VOICE: Final[LiteralString] = """
    SELECT voice::text AS voice FROM portico.debate_seat
     WHERE space_id = %(space)s AND debate_id = %(debate)s AND principal_id = %(principal)s
"""
_CHAIR: Final[LiteralString] = f"""
    SELECT voice, body::text AS body, deadline, status, level, compartments, run_id,
           turn, key, asked::text AS asked
      FROM portico.debate_chair(%(debate)s, {WALL})
"""
_ASK: Final[LiteralString] = """
    INSERT INTO portico.debate_question (space_id, debate_id, key, principal_id, level,
                                         compartments, place, asked)
    SELECT s.space_id, s.debate_id, %(key)s, s.principal_id, %(its_level)s, %(its_compartments)s,
           1 + (SELECT count(*) FROM portico.debate_question q
                 WHERE q.space_id = s.space_id AND q.debate_id = s.debate_id), %(asked)s::json
      FROM portico.debate_seat s
     WHERE s.space_id = %(space)s AND s.debate_id = %(debate)s AND s.name = %(name)s
    ON CONFLICT DO NOTHING
"""
_ANSWER: Final[LiteralString] = f"""
    SELECT portico.debate_answer(%(debate)s, %(key)s, %(answer)s::json, {WALL}) AS outcome
"""
_ANSWERED: Final[LiteralString] = """
    SELECT key, answer::text AS answer FROM portico.debate_question
     WHERE space_id = %(space)s AND debate_id = %(debate)s AND key = ANY(%(keys)s)
       AND answer IS NOT NULL AND level <= %(level)s AND compartments <@ %(compartments)s::text[]
     ORDER BY place, key
"""
_REFUSED: Final[Mapping[str, Callable[[str], PorticoError]]] = {
    "not_found": DebateNotFound,
    "not_seated": NotSeated,
    "over": DebateOver,
    "full": NoSeatLeft,
    "nothing": NoAnswerExpected,
}


def which(caller: Principal, debate: DebateId) -> dict[str, object]:
    return {**cleared(caller), "debate": debate.value}


async def take_seat(
    transactions: Transactions, caller: Principal, debate: DebateId, voice: Debater
) -> Debater:
    """Raises `DebateNotFound`, `DebateOver`, `NoSeatLeft`, `WriteDown`."""
    values = {
        **which(caller, debate),
        "name": strip_nul(voice.name),
        "voice": json.dumps(voice_json(voice)),
    }
    sitting, rows = await transactions.looked_up(caller, (_SIT, values), (_VOICE, values))
    await _check(transactions, caller, debate, sitting[0]["outcome"])
    return voice_from(json.loads(rows[0]["voice"]))


class PostgresSeats:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def ask(self, caller: Principal, debate: DebateId, ask: DebaterRequest) -> None:
        values = {
            **which(caller, debate),
            **label_columns(ask.label),
            "key": strip_nul(ask.key),
            "name": strip_nul(ask.debater.name),
            "asked": json.dumps({"system": ask.system, "prompt": ask.prompt, "schema": ask.schema}),
        }
        async with (
            no_write_down(self._transactions, caller, ask.label),
            self._transactions.begin(caller) as connection,
        ):
            await connection.execute(_ASK, values)

    async def secrecy(self, guest: Principal, debate: DebateId) -> Label:
        row = await _chair(self._transactions, guest, debate)
        return as_label(row["level"], row["compartments"])

    async def seat(self, guest: Principal, debate: DebateId) -> Seat:
        return _seat(debate, await _chair(self._transactions, guest, debate))

    async def answer(
        self, guest: Principal, debate: DebateId, key: str, reply: DebaterReply
    ) -> None:
        values = {
            **which(guest, debate),
            "key": strip_nul(key),
            "answer": json.dumps(reply_json(reply)),
        }
        [rows] = await self._transactions.looked_up(guest, (_ANSWER, values))
        await _check(self._transactions, guest, debate, rows[0]["outcome"])

    async def answered(
        self, caller: Principal, debate: DebateId, keys: Collection[str]
    ) -> Sequence[tuple[str, DebaterReply]]:
        names = {strip_nul(key): key for key in keys}
        asked = {**which(caller, debate), "keys": [*names]}
        [rows] = await self._transactions.looked_up(caller, (_ANSWERED, asked))
        return [(names[row["key"]], reply_from(json.loads(row["answer"]))) for row in rows]


async def _chair(transactions: Transactions, guest: Principal, debate: DebateId) -> Row:
    [rows] = await transactions.looked_up(guest, (_CHAIR, which(guest, debate)))
    if not rows:
        raise DebateNotFound(str(debate))
    return rows[0]


async def _check(
    transactions: Transactions, guest: Principal, debate: DebateId, outcome: str
) -> None:
    """Raises what the database has said."""
    if outcome == "write_down":
        row = await _chair(transactions, guest, debate)
        label = as_label(row["level"], row["compartments"])
        raise WriteDown(label, await mark_of(transactions, guest), shared=True)
    if outcome in _REFUSED:
        raise _REFUSED[outcome](str(debate))


def _seat(debate: DebateId, row: Row) -> Seat:
    if row["voice"] is None:
        raise NotSeated(str(debate))
    asked = None if row["asked"] is None else json.loads(row["asked"])
    return Seat(
        voice=row["voice"],
        question=question_from(row["body"]),
        asked=None if asked is None else _told(asked),
        key=row["key"],
        schema=None if asked is None else asked["schema"],
        until=row["deadline"],
        label=as_label(row["level"], row["compartments"]),
        run=RunId(row["run_id"]),
        turn=row["turn"],
        over=DebateStatus(row["status"]).over,
    )


def _told(asked: Mapping[str, Any]) -> str:
    """A guest has a system prompt of its own, which is nobody's to change."""
    return "\n\n".join(part for part in (asked["system"], asked["prompt"]) if part)


def reply_json(reply: DebaterReply) -> JsonObject:
    return {
        "text": reply.text,
        "prompt_tokens": reply.prompt_tokens,
        "output_tokens": reply.output_tokens,
        "tokens": int(reply.cost.tokens),
        "money": str(reply.cost.money),
        "seconds": reply.cost.time.total_seconds(),
        "calls": reply.cost.calls,
        "cut": reply.cut,
        "overrun": reply.overrun,
        "label": str(reply.label),
        "untrusted": reply.untrusted,
        "model": reply.model,
        "notes": [*reply.notes],
    }


def reply_from(value: Mapping[str, Any]) -> DebaterReply:
    return DebaterReply(
        text=value["text"],
        prompt_tokens=value["prompt_tokens"],
        output_tokens=value["output_tokens"],
        cost=Cost(
            tokens=Tokens(value["tokens"]),
            money=Decimal(value["money"]),
            time=timedelta(seconds=value["seconds"]),
            calls=value["calls"],
        ),
        cut=value["cut"],
        overrun=value["overrun"],
        label=Label.parse(value["label"]),
        untrusted=value["untrusted"],
        model=value["model"],
        notes=tuple(value["notes"]),
    )
