"""From rows to approvals, and back."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from psycopg.types.json import Json

from portico.adapters.postgres.rows import as_label
from portico.guard.core.access_request import Action
from portico.guard.core.approvals import (
    Answered,
    AnswerKind,
    Approval,
    Asker,
    Outcome,
    Status,
    Via,
    Waiter,
)
from portico.guard.core.policy import Danger, Mark
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, ContextId, Id, PrincipalId, RunId, SpaceId
from portico.kernel.principal import PrincipalKind

Row = Mapping[str, Any]


def approval_row(approval: Approval, sealed: bytes) -> dict[str, object]:
    asker = approval.asker
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
        asker=Asker(
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
        marks=tuple(Mark(pointer, Danger(why)) for pointer, why in row["marks"]),
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
