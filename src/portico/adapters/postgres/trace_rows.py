"""From rows to what is written down of runs, and back."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Final

from portico.adapters.postgres.plain_text import storable, storable_or_none
from portico.adapters.postgres.rows import Row, as_label
from portico.agents.core.agents import AgentId
from portico.agents.core.model_requests import (
    Finish,
    Usage,
    calls_as_json,
    calls_of,
    message_as_json,
    message_of,
)
from portico.agents.core.traces import AgentRunStatus, PersonSaid, RunTrace, ToolUse, TurnTrace
from portico.kernel.ids import ApprovalId, ContextId, PrincipalId, RunId
from portico.kernel.json import JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_SURROGATE: Final = "\\ud"
"""How JSON spells halves of letters, and whole ones that are made of two."""


def run_columns(caller: Principal, run: RunTrace) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "run": run.run.value,
        "agent": run.agent.value,
        "agent_name": run.agent_name,
        "agent_version": run.agent_version,
        "started_by": run.started_by.value,
        "acts_as": run.acts_as.value,
        "context": run.context.value,
        "continues": None if run.continues is None else run.continues.value,
        "history": _json([message_as_json(each) for each in run.history]),
        "status": run.status.value,
        **label_columns(run.label),
        "started": run.started_at,
        "ended": run.ended_at,
        "model": storable(run.model),
        "turns": run.turns,
        "tool_uses": run.tool_uses,
        **_usage_columns(run.usage),
        "money": run.money,
        "answer": storable(run.answer),
        "error_code": storable_or_none(run.error_code),
        "error": storable_or_none(run.error),
        "trace": run.trace_id,
    }


def run_from(row: Row) -> RunTrace:
    return RunTrace(
        run=RunId(row["run_id"]),
        agent=AgentId(row["agent_id"]),
        agent_name=row["agent_name"],
        agent_version=row["agent_version"],
        started_by=PrincipalId(row["started_by"]),
        acts_as=PrincipalId(row["acts_as"]),
        context=ContextId(row["context_id"]),
        continues=None if row["continues"] is None else RunId(row["continues"]),
        history=tuple(message_of(each) for each in json.loads(row["history"])),
        status=AgentRunStatus(row["status"]),
        label=as_label(row["level"], row["compartments"]),
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        model=row["model"],
        turns=row["turns"],
        tool_uses=row["tool_uses"],
        usage=_usage(row),
        money=row["money"],
        answer=row["answer"],
        error_code=row["error_code"],
        error=row["error"],
        trace_id=row["trace_id"],
    )


def turn_columns(caller: Principal, turn: TurnTrace) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "run": turn.run.value,
        "number": turn.number,
        **label_columns(turn.label),
        "model": storable(turn.model),
        "attempts": turn.attempts,
        "heard": turn.heard,
        "text": storable(turn.text),
        "thought": storable(turn.thought),
        "calls": _json(calls_as_json(turn.calls)),
        "kept": _json(turn.kept),
        **_usage_columns(turn.usage),
        "counted": turn.counted,
        "money": turn.money,
        "finish": turn.finish.value,
        "started": turn.started_at,
        "took": turn.took,
        "first_piece": turn.first_piece,
        "notes": [storable(note) for note in turn.notes],
        "span": turn.span_id,
    }


def turn_from(row: Row) -> TurnTrace:
    return TurnTrace(
        run=RunId(row["run_id"]),
        number=row["number"],
        model=row["model"],
        attempts=row["attempts"],
        heard=row["heard"],
        text=row["text"],
        thought=row["thought"],
        calls=calls_of(json.loads(row["calls"])),
        kept=json.loads(row["kept"]),
        usage=_usage(row),
        counted=row["counted"],
        money=row["money"],
        finish=Finish(row["finish"]),
        started_at=row["started_at"],
        took=row["took"],
        first_piece=row["first_piece"],
        notes=tuple(row["notes"]),
        label=as_label(row["level"], row["compartments"]),
        span_id=row["span_id"],
    )


def use_columns(caller: Principal, use: ToolUse) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "run": use.run.value,
        "turn": use.turn,
        "place": use.place,
        **label_columns(use.label),
        "call": storable(use.call),
        "tool": storable(use.tool),
        "arguments": _json(use.arguments),
        "text": storable(use.text),
        "failed": use.failed,
        "code": storable_or_none(use.code),
        "approval": None if use.approval is None else use.approval.value,
        "early": use.early,
        "started": use.started_at,
        "took": use.took,
        "span": use.span_id,
    }


def use_from(row: Row) -> ToolUse:
    return ToolUse(
        run=RunId(row["run_id"]),
        turn=row["turn"],
        place=row["place"],
        call=row["call"],
        tool=row["tool"],
        arguments=json.loads(row["arguments"]),
        text=row["text"],
        failed=row["failed"],
        code=row["code"],
        approval=None if row["approval_id"] is None else ApprovalId(row["approval_id"]),
        early=row["early"],
        started_at=row["started_at"],
        took=row["took"],
        label=as_label(row["level"], row["compartments"]),
        span_id=row["span_id"],
    )


def said_columns(caller: Principal, said: PersonSaid, label: Label) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "run": said.run.value,
        "number": said.number,
        **label_columns(label),
        "text": storable(said.text),
        "by": said.by.value,
        "at": said.at,
    }


def said_from(row: Row) -> PersonSaid:
    return PersonSaid(
        run=RunId(row["run_id"]),
        number=row["number"],
        text=row["text"],
        by=PrincipalId(row["said_by"]),
        at=row["said_at"],
    )


def _json(value: JsonValue) -> str:
    """Models write numbers that JSON has not, and halves of letters that nobody can be shown; what
    was paid for is not lost for that."""
    try:
        text = json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_written(value))
    return json.dumps(_written(value)) if _SURROGATE in text else text


def _written(value: JsonValue) -> JsonValue:
    match value:
        case float() if not isfinite(value):
            return str(value)
        case str():
            return _whole(value)
        case Mapping():
            return {_whole(name): _written(each) for name, each in value.items()}
        case list() | tuple():
            return [_written(each) for each in value]
        case _:
            return value


def _whole(text: str) -> str:
    return text.encode(errors="replace").decode()


def label_columns(label: Label) -> dict[str, object]:
    return {"level": int(label.level), "compartments": sorted(label.compartments)}


def _usage_columns(usage: Usage) -> dict[str, object]:
    return {
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "reported": usage.reported,
    }


def _usage(row: Row) -> Usage:
    return Usage(
        input=row["input_tokens"],
        output=row["output_tokens"],
        cached=row["cached_tokens"],
        reported=row["reported"],
    )
