"""Approvals in PostgreSQL: each change names the state that it changes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg.types.json import Json

from portico.adapters.postgres.mapping import as_label
from portico.adapters.postgres.transaction import Connection, Transactions
from portico.guard.core.access_request import Action
from portico.guard.core.approvals import (
    Answered,
    AnswerKind,
    Approval,
    ApprovalRequester,
    Outcome,
    Status,
    Via,
    Waiter,
)
from portico.guard.core.errors import ApprovalNotFound
from portico.guard.core.policy import ArgumentWarning, Danger
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, ContextId, Id, PrincipalId, RunId, SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind

Row = Mapping[str, Any]


def approval_row(approval: Approval, sealed: bytes) -> dict[str, object]:
    asker = approval.requester
    return {
        "space": approval.space.value,
        "principal": asker.id.value,
        "asker": asker.name,
        "asker_kind": asker.kind,
        "key": asker.key,
        "named": _value(asker.at),
        "context": approval.context.value,
        "action": approval.action,
        "tool": approval.tool,
        "server": approval.server,
        "effect": approval.effect,
        "pin": approval.pin,
        "launch": approval.launch,
        "hash": approval.hash,
        "level": int(approval.label.level),
        "compartments": sorted(approval.label.compartments),
        "tainted": approval.tainted,
        "arguments": Json(approval.arguments),
        "sealed": sealed,
        "marks": Json([[mark.pointer, mark.why] for mark in approval.marks]),
        "before": Json(approval.before),
        "rule": approval.rule,
        "reason": approval.reason,
        "asked": approval.asked_at,
        "run": approval.run.value,
        "replaces": _value(approval.replaces),
        **waiter_row(approval.waiter),
        **state_row(approval),
    }


def waiter_row(waiter: Waiter | None) -> dict[str, object]:
    return {
        "waiter_run": None if waiter is None else waiter.run.value,
        "waiter_topic": None if waiter is None else waiter.topic,
        "waiter_level": None if waiter is None else int(waiter.label.level),
        "waiter_compartments": None if waiter is None else sorted(waiter.label.compartments),
    }


def state_row(approval: Approval) -> dict[str, object]:
    """What changes of it."""
    answered = approval.answered
    return {
        "approval": approval.id.value,
        "expires": approval.expires_at,
        "status": approval.status,
        "answer": None if answered is None else answered.kind,
        "answered_by": None if answered is None else answered.by.value,
        "answerer": None if answered is None else answered.by_name,
        "via": None if answered is None else answered.via,
        "answered": None if answered is None else answered.at,
        "answer_reason": None if answered is None else answered.reason,
        "rule_made": None if answered is None else answered.rule,
        "replaced_by": _value(approval.replaced_by),
        "claimed": approval.claimed_at,
        "outcome": approval.outcome,
        "ended": approval.ended_at,
        "error": approval.error,
        "result": approval.result,
        "resolved_by": approval.resolved_by,
    }


def approval_from(row: Row) -> Approval:
    named, replaces, replaced_by = row["named_context"], row["replaces"], row["replaced_by"]
    return Approval(
        id=ApprovalId(row["approval_id"]),
        space=SpaceId(row["space_id"]),
        requester=ApprovalRequester(
            id=PrincipalId(row["principal_id"]),
            name=row["asker"],
            kind=PrincipalKind(row["asker_kind"]),
            key=row["key_id"],
            at=None if named is None else ContextId(named),
        ),
        context=ContextId(row["context_id"]),
        action=Action(row["action"]),
        tool=row["tool"],
        server=row["server"],
        effect=Effect(row["effect"]),
        pin=row["pin"],
        launch=row["launch"],
        hash=row["hash"],
        label=as_label(row["level"], row["compartments"]),
        tainted=row["tainted"],
        arguments=row["arguments"],
        marks=tuple(ArgumentWarning(pointer, Danger(why)) for pointer, why in row["marks"]),
        before=tuple(row["before"]),
        rule=row["rule"],
        reason=row["reason"],
        asked_at=row["asked_at"],
        expires_at=row["expires_at"],
        run=RunId(row["run_id"]),
        status=Status(row["status"]),
        answered=_answered(row),
        replaces=None if replaces is None else ApprovalId(replaces),
        replaced_by=None if replaced_by is None else ApprovalId(replaced_by),
        claimed_at=row["claimed_at"],
        outcome=None if row["outcome"] is None else Outcome(row["outcome"]),
        ended_at=row["ended_at"],
        error=row["error"],
        result=row["result"],
        collected_at=row["collected_at"],
        resolved_by=row["resolved_by"],
        waiter=_waiter(row),
    )


def _waiter(row: Row) -> Waiter | None:
    if row["waiter_run"] is None:
        return None
    label = as_label(row["waiter_level"], row["waiter_compartments"])
    return Waiter(RunId(row["waiter_run"]), row["waiter_topic"], label)


def _answered(row: Row) -> Answered | None:
    if row["answer"] is None:
        return None
    return Answered(
        kind=AnswerKind(row["answer"]),
        by=PrincipalId(row["answered_by"]),
        by_name=row["answerer"],
        via=Via(row["answered_via"]),
        at=row["answered_at"],
        reason=row["answer_reason"],
        rule=row["rule_made"],
    )


def _value(id_: Id | None) -> UUID | None:
    return None if id_ is None else id_.value


_COLUMNS: Final[LiteralString] = """
    space_id, approval_id, principal_id, asker, asker_kind, key_id, named_context, context_id,
    action, tool, server, effect, pin, launch, hash, level, compartments, tainted, arguments,
    marks, before, rule, reason, asked_at, expires_at, run_id, status, answer, answered_by,
    answerer, answered_via, answered_at, answer_reason, rule_made, replaces, replaced_by,
    claimed_at, outcome, ended_at, error, result, collected_at, resolved_by, waiter_run,
    waiter_topic, waiter_level, waiter_compartments
"""
_THIS: Final[LiteralString] = "WHERE space_id = %(space)s AND approval_id = %(approval)s"
_SAME: Final[LiteralString] = """
    WHERE space_id = %(space)s AND principal_id = %(principal)s AND context_id = %(context)s
      AND hash = %(hash)s AND waiter_run IS NULL
"""
_OPEN: Final[LiteralString] = """
    status IN ('waiting', 'approved') AND collected_at IS NULL
    AND (outcome IS NULL OR outcome = 'uncertain')
"""
_OVERDUE: Final[LiteralString] = """
    status IN ('waiting', 'approved') AND claimed_at IS NULL AND expires_at <= %(now)s
"""
_EXPIRE: Final[LiteralString] = "UPDATE portico.approval SET status = 'expired', sealed = ''"
_INSERT: Final[LiteralString] = """
    INSERT INTO portico.approval (
        space_id, approval_id, principal_id, asker, asker_kind, key_id, named_context, context_id,
        action, tool, server, effect, pin, launch, hash, level, compartments, tainted, arguments,
        sealed, marks, before, rule, reason, asked_at, expires_at, run_id, status, answer,
        answered_by, answerer, answered_via, answered_at, answer_reason, rule_made, replaces,
        waiter_run, waiter_topic, waiter_level, waiter_compartments)
    VALUES (
        %(space)s, %(approval)s, %(principal)s, %(asker)s, %(asker_kind)s, %(key)s, %(named)s,
        %(context)s, %(action)s, %(tool)s, %(server)s, %(effect)s, %(pin)s, %(launch)s,
        %(hash)s, %(level)s, %(compartments)s, %(tainted)s, %(arguments)s, %(sealed)s,
        %(marks)s, %(before)s, %(rule)s, %(reason)s, %(asked)s, %(expires)s, %(run)s, %(status)s,
        %(answer)s, %(answered_by)s, %(answerer)s, %(via)s, %(answered)s, %(answer_reason)s,
        %(rule_made)s, %(replaces)s, %(waiter_run)s, %(waiter_topic)s, %(waiter_level)s,
        %(waiter_compartments)s)
    ON CONFLICT DO NOTHING
"""
_FIND_OPEN: Final[LiteralString] = f"SELECT {_COLUMNS} FROM portico.approval {_SAME} AND {_OPEN}"
_OF_WAITER: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.approval
     WHERE space_id = %(space)s AND waiter_run = %(waiter_run)s
       AND waiter_topic = %(waiter_topic)s AND replaces IS NULL
"""
_OF_RUN: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.approval
     WHERE space_id = %(space)s AND waiter_run = %(run)s
     ORDER BY approval_id
"""
_ALONE: Final[LiteralString] = """
    SELECT pg_advisory_xact_lock(hashtextextended(%(lock)s, 0))
"""
_WAITING: Final[LiteralString] = """
    SELECT count(*) AS waiting FROM portico.approval
     WHERE space_id = %(space)s AND principal_id = %(principal)s AND status = 'waiting'
       AND expires_at > %(now)s
"""
_GET: Final[LiteralString] = f"SELECT {_COLUMNS} FROM portico.approval {_THIS}"
_LATEST: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.approval {_SAME} ORDER BY approval_id DESC LIMIT 1
"""
_UNFINISHED: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.approval
     WHERE space_id = %(space)s AND principal_id = %(principal)s AND hash = %(hash)s
       AND status IN ('waiting', 'approved', 'replaced') AND collected_at IS NULL
       AND waiter_run IS NULL AND (outcome IS NULL OR outcome IN ('uncertain', 'done'))
     ORDER BY approval_id
"""
_WITHDRAW: Final[LiteralString] = f"""
    UPDATE portico.approval SET status = 'withdrawn', sealed = ''
    {_THIS} AND status = 'waiting' AND expires_at > %(now)s
"""
_SEALED: Final[LiteralString] = f"SELECT sealed FROM portico.approval {_THIS}"
_PAGE: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.approval
     WHERE space_id = %(space)s
       AND (%(of)s::uuid IS NULL OR principal_id = %(of)s)
       AND (%(before)s::uuid IS NULL OR approval_id < %(before)s)
       AND (%(statuses)s::text[] = '{{}}'
            OR CASE WHEN {_OVERDUE} THEN 'expired' ELSE status END = ANY(%(statuses)s))
     ORDER BY approval_id DESC LIMIT %(limit)s
"""
_COUNT: Final[LiteralString] = """
    SELECT level, compartments, count(*) AS many
      FROM (SELECT level, compartments FROM portico.approval
             WHERE space_id = %(space)s AND status = 'waiting' AND expires_at > %(now)s
               AND (%(of)s::uuid IS NULL OR principal_id = %(of)s)
             LIMIT %(most)s) AS found
     GROUP BY level, compartments
"""
_ANSWER: Final[LiteralString] = f"""
    UPDATE portico.approval
       SET status = %(status)s, expires_at = %(expires)s, answer = %(answer)s,
           answered_by = %(answered_by)s, answerer = %(answerer)s, answered_via = %(via)s,
           answered_at = %(answered)s, answer_reason = %(answer_reason)s,
           rule_made = %(rule_made)s, replaced_by = %(replaced_by)s,
           sealed = CASE WHEN %(status)s = 'approved' THEN sealed ELSE '' END
    {_THIS} AND status = 'waiting' AND expires_at > %(now)s
"""
_CLAIM: Final[LiteralString] = f"""
    UPDATE portico.approval SET claimed_at = %(now)s
    {_THIS} AND status = 'approved' AND claimed_at IS NULL AND expires_at > %(now)s
"""
_END: Final[LiteralString] = f"""
    UPDATE portico.approval
       SET outcome = %(outcome)s, ended_at = %(ended)s, error = %(error)s, result = %(result)s,
           sealed = CASE WHEN %(outcome)s = 'uncertain' THEN sealed ELSE '' END
    {_THIS} AND claimed_at IS NOT NULL
      AND (outcome IS NULL OR (outcome = 'uncertain' AND resolved_by IS NULL))
"""
_COLLECT: Final[LiteralString] = f"""
    UPDATE portico.approval SET collected_at = %(now)s {_THIS} AND collected_at IS NULL
"""
_RESOLVE: Final[LiteralString] = f"""
    UPDATE portico.approval
       SET outcome = %(outcome)s, claimed_at = %(claimed)s, ended_at = %(ended)s,
           expires_at = %(expires)s, resolved_by = %(resolved_by)s,
           sealed = CASE WHEN %(outcome)s::text IS NULL THEN sealed ELSE '' END
    {_THIS} AND outcome = 'uncertain'
"""
_TRIES: Final = 5


class PostgresApprovals:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, caller: Principal, approval: Approval, sealed: bytes) -> Approval:
        values = {**approval_row(approval, sealed), "now": approval.asked_at}
        looking = _FIND_OPEN if approval.waiter is None else _OF_WAITER
        async with self._transactions.begin(caller) as connection:
            await connection.execute(f"{_EXPIRE} {_SAME} AND {_OVERDUE}", values)
            for _ in range(_TRIES):
                if (await connection.execute(_INSERT, values)).rowcount:
                    return approval
                row = await (await connection.execute(looking, values)).fetchone()
                if row is not None:  # it can end between the two statements
                    return approval_from(row)
        raise ApprovalNotFound(str(approval.id))

    async def asked_by(self, caller: Principal, waiter: Waiter) -> Approval | None:
        asked = {"space": caller.space.value, **waiter_row(waiter)}
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_OF_WAITER, asked)).fetchone()
        return None if row is None else approval_from(row)

    async def of_run(self, caller: Principal, run: RunId) -> Sequence[Approval]:
        asked = {"space": caller.space.value, "run": run.value}
        async with self._transactions.begin(caller) as connection:
            return [
                approval_from(row)
                for row in await (await connection.execute(_OF_RUN, asked)).fetchall()
            ]

    async def waiting(self, caller: Principal, now: datetime) -> int:
        """Of what is above the key's clearance none is seen, and so none counts."""
        own = {"space": caller.space.value, "principal": caller.id.value, "now": now}
        lock = {"lock": f"approvals of {caller.space} {caller.id}"}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_ALONE, lock)
            row = await (await connection.execute(_WAITING, own)).fetchone()
        return 0 if row is None else int(row["waiting"])

    async def get(self, caller: Principal, approval: ApprovalId) -> Approval:
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_GET, _which(caller, approval))).fetchone()
        if row is None:
            raise ApprovalNotFound(str(approval))
        return approval_from(row)

    async def latest(self, caller: Principal, context: ContextId, hash_: str) -> Approval | None:
        asked = {
            "space": caller.space.value,
            "principal": caller.id.value,
            "context": context.value,
            "hash": hash_,
        }
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_LATEST, asked)).fetchone()
        return None if row is None else approval_from(row)

    async def unfinished(self, caller: Principal, hash_: str) -> Sequence[Approval]:
        own = {"space": caller.space.value, "principal": caller.id.value, "hash": hash_}
        async with self._transactions.begin(caller) as connection:
            return [
                approval_from(row)
                for row in await (await connection.execute(_UNFINISHED, own)).fetchall()
            ]

    async def withdraw(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        return await self._changed(caller, _WITHDRAW, {"approval": approval.value, "now": now})

    async def sealed(self, caller: Principal, approval: ApprovalId) -> bytes:
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_SEALED, _which(caller, approval))).fetchone()
        if row is None:
            raise ApprovalNotFound(str(approval))
        return bytes(row["sealed"])

    async def page(
        self,
        caller: Principal,
        *,
        of: PrincipalId | None,
        statuses: Sequence[Status],
        before: ApprovalId | None,
        now: datetime,
        limit: int,
    ) -> Sequence[Approval]:
        asked = {
            "space": caller.space.value,
            "of": None if of is None else of.value,
            "statuses": [*statuses],
            "before": None if before is None else before.value,
            "now": now,
            "limit": limit,
        }
        async with self._transactions.begin(caller) as connection:
            return [
                approval_from(row)
                for row in await (await connection.execute(_PAGE, asked)).fetchall()
            ]

    async def count_waiting(
        self, caller: Principal, *, of: PrincipalId | None, now: datetime, most: int
    ) -> Mapping[Label, int]:
        whose = None if of is None else of.value
        asked = {"space": caller.space.value, "of": whose, "now": now, "most": most}
        async with self._transactions.begin(caller) as connection:
            return {
                as_label(row["level"], row["compartments"]): row["many"]
                for row in await (await connection.execute(_COUNT, asked)).fetchall()
            }

    async def answer(self, caller: Principal, answered: Approval, now: datetime) -> bool:
        return await self._changed(caller, _ANSWER, {**state_row(answered), "now": now})

    async def expire(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        values = {"approval": approval.value, "now": now}
        return await self._changed(caller, f"{_EXPIRE} {_THIS} AND {_OVERDUE}", values)

    async def claim(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        return await self._changed(caller, _CLAIM, {"approval": approval.value, "now": now})

    async def end(self, caller: Principal, ended: Approval) -> bool:
        return await self._changed(caller, _END, state_row(ended))

    async def collect(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        return await self._changed(caller, _COLLECT, {"approval": approval.value, "now": now})

    async def resolve(self, caller: Principal, resolved: Approval) -> bool:
        return await self._changed(caller, _RESOLVE, state_row(resolved))

    async def _changed(
        self, caller: Principal, statement: LiteralString, values: Mapping[str, object]
    ) -> bool:
        """Whether it was in the state that the statement names."""
        async with self._transactions.begin(caller) as connection:
            return await _count(connection, statement, {**values, "space": caller.space.value}) > 0


async def _count(
    connection: Connection, statement: LiteralString, values: Mapping[str, object]
) -> int:
    return (await connection.execute(statement, values)).rowcount


def _which(caller: Principal, approval: ApprovalId) -> dict[str, object]:
    return {"space": caller.space.value, "approval": approval.value}
