"""The trace of a run as OTLP/JSON: the run, its turns, the uses of tools in them.

Names, numbers and ids, as the conventions for generative models call them. What was said stays
here: whoever collects spans is cleared for none of it.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from portico.adapters.telemetry.spans import (
    AGENT_ID,
    AGENT_NAME,
    CHAT,
    CONVERSATION_ID,
    ERROR_TYPE,
    EXECUTE_TOOL,
    INVOKE_AGENT,
    OPERATION_NAME,
    PROVIDER_NAME,
    REQUEST_MODEL,
    RESPONSE_FINISH_REASONS,
    RESPONSE_MODEL,
    TOOL_CALL_ID,
    TOOL_NAME,
    TOOL_TYPE,
    USAGE_INPUT_TOKENS,
    USAGE_OUTPUT_TOKENS,
)
from portico.agents.core.traces import AgentRunStatus, RunTrace, ToolUse, TurnTrace, WholeTrace
from portico.kernel.json import JsonObject, JsonValue

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_INTERNAL, _CLIENT = 1, 3
_UNSET, _OK, _ERROR = 0, 1, 2
_BROKEN: Final = {AgentRunStatus.FAILED, AgentRunStatus.EXHAUSTED}
_OTHER: Final = "_OTHER"
"""What the conventions call an error that has no name."""

Attributes = Mapping[str, str | int | bool | Sequence[str] | None]


class OtlpSpans:
    def __init__(self, version: str) -> None:
        self._version = version

    def of(self, trace: WholeTrace) -> JsonObject:
        turns = {turn.number: turn.span_id for turn in trace.turns}
        root = root_span(trace.run)
        spans = [
            _run(trace),
            *(_turn(trace.run, turn) for turn in trace.turns),
            *(_use(trace.run, use, turns.get(use.turn, root)) for use in trace.uses),
        ]
        service = {"service.name": "portico", "service.version": self._version}
        scope: JsonObject = {"name": "portico.agents", "version": self._version}
        return {
            "resourceSpans": [
                {
                    "resource": {"attributes": _attributes(service)},
                    "scopeSpans": [{"scope": scope, "spans": spans}],
                }
            ]
        }


def root_span(run: RunTrace) -> str:
    """The id of the span of the run itself: half of that of its trace."""
    return run.trace_id[16:]


def _run(trace: WholeTrace) -> JsonObject:
    run = trace.run
    ends = [turn.started_at + turn.took for turn in trace.turns]
    ends += [use.started_at + use.took for use in trace.uses]
    return {
        **_span(run, root_span(run), f"{INVOKE_AGENT} {run.agent_name}", _INTERNAL),
        **_times(run.started_at, run.ended_at or max(ends, default=run.started_at)),
        "attributes": _attributes(
            {
                OPERATION_NAME: INVOKE_AGENT,
                AGENT_ID: str(run.agent),
                AGENT_NAME: run.agent_name,
                CONVERSATION_ID: str(run.continues or run.run),
                REQUEST_MODEL: run.model,
                USAGE_INPUT_TOKENS: run.usage.input,
                USAGE_OUTPUT_TOKENS: run.usage.output,
                "portico.run.id": str(run.run),
                "portico.run.status": run.status.value,
                "portico.agent.version": run.agent_version,
                "portico.run.money": f"{run.money:f}",
                ERROR_TYPE: (run.error_code or _OTHER) if run.status in _BROKEN else None,
            }
        ),
        "status": {"code": _standing(run)},
    }


def _turn(run: RunTrace, turn: TurnTrace) -> JsonObject:
    provider, _, model = turn.model.partition(":")
    return {
        **_span(run, turn.span_id, f"{CHAT} {model}", _CLIENT, parent=root_span(run)),
        **_times(turn.started_at, turn.started_at + turn.took),
        "attributes": _attributes(
            {
                OPERATION_NAME: CHAT,
                PROVIDER_NAME: provider,
                REQUEST_MODEL: run.model.partition(":")[2],
                RESPONSE_MODEL: model,
                RESPONSE_FINISH_REASONS: [turn.finish.value],
                USAGE_INPUT_TOKENS: turn.usage.input,
                USAGE_OUTPUT_TOKENS: turn.usage.output,
                "portico.turn.number": turn.number,
                "portico.turn.attempts": turn.attempts,
                "portico.turn.money": f"{turn.money:f}",
            }
        ),
        "status": {"code": _OK},
    }


def _use(run: RunTrace, use: ToolUse, parent: str) -> JsonObject:
    return {
        **_span(run, use.span_id, f"{EXECUTE_TOOL} {use.tool}", _INTERNAL, parent=parent),
        **_times(use.started_at, use.started_at + use.took),
        "attributes": _attributes(
            {
                OPERATION_NAME: EXECUTE_TOOL,
                TOOL_NAME: use.tool,
                TOOL_TYPE: "function",
                TOOL_CALL_ID: use.call,
                "portico.tool.early": use.early,
                "portico.approval.id": None if use.approval is None else str(use.approval),
                ERROR_TYPE: (use.code or _OTHER) if use.failed else None,
            }
        ),
        "status": {"code": _ERROR if use.failed else _OK},
    }


def _standing(run: RunTrace) -> int:
    if not run.status.over:
        return _UNSET
    return _ERROR if run.status in _BROKEN else _OK


def _span(run: RunTrace, span: str, name: str, kind: int, *, parent: str = "") -> JsonObject:
    return {
        "traceId": run.trace_id,
        "spanId": span,
        "parentSpanId": parent,
        "name": name,
        "kind": kind,
    }


def _times(start: datetime, end: datetime) -> JsonObject:
    return {"startTimeUnixNano": _nano(start), "endTimeUnixNano": _nano(max(start, end))}


def _nano(moment: datetime) -> str:
    """As a text: a number of JSON would lose its last digits."""
    return str((moment - _EPOCH) // _MICROSECOND * 1000)


def _attributes(values: Attributes) -> Sequence[JsonValue]:
    return [{"key": key, "value": _value(it)} for key, it in values.items() if it is not None]


def _value(value: str | int | bool | Sequence[str]) -> JsonObject:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, str):
        return {"stringValue": value}
    return {"arrayValue": {"values": [{"stringValue": each} for each in value]}}
