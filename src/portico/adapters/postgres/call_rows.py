"""From rows to calls and figures, and back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from portico.adapters.postgres.plain_text import storable, storable_or_none
from portico.gateway.core.calls import Call, CallId, CallOutcome, Figures, lost
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId, PrincipalId
from portico.kernel.json import JsonValue
from portico.kernel.label import Label, Level

Row = Mapping[str, Any]


def call_columns(calls: Sequence[Call]) -> dict[str, object]:
    """As lists, one a column."""
    return {
        "calls": [call.id.value for call in calls],
        "started": [call.started_at for call in calls],
        "principals": [call.principal.value for call in calls],
        "servers": [call.ref.server for call in calls],
        "tools": [storable(call.ref.name) for call in calls],
        "effects": [call.effect.value for call in calls],
        "pins": [call.pin for call in calls],
        "arguments": [_json_text(call.arguments) for call in calls],
        "due": [call.due_at for call in calls],
        "took": [call.took for call in calls],
        "outcomes": [None if call.outcome is None else call.outcome.value for call in calls],
        "errors": [storable_or_none(call.error) for call in calls],
        "bytes": [call.bytes_out for call in calls],
        "contexts": [None if call.context is None else call.context.value for call in calls],
        "levels": [int(call.label.level) for call in calls],
        "compartments": [",".join(sorted(call.label.compartments)) for call in calls],
    }


def call_from(row: Row, *, incarnation: str, now: datetime) -> Call:
    """Without an outcome, what we ourselves have begun is under way."""
    call = Call(
        id=CallId(row["call_id"]),
        principal=PrincipalId(row["principal_id"]),
        ref=ToolRef(row["server"], row["tool"]),
        effect=Effect(row["effect"]),
        pin=row["pin"],
        arguments=row["arguments"],
        started_at=row["started_at"],
        due_at=row["due_at"],
        took=row["took"],
        outcome=None if row["outcome"] is None else CallOutcome(row["outcome"]),
        error=row["error"],
        bytes_out=row["bytes_out"],
        label=Label(Level(row["level"]), frozenset(row["compartments"])),
        context=None if row["context_id"] is None else ContextId(row["context_id"]),
    )
    if row["incarnation"] != incarnation and lost(call, now):
        return replace(call, outcome=CallOutcome.UNCERTAIN)
    return call


def figures_from(row: Row) -> Figures:
    p50, p95, p99 = row["percentiles"] or [timedelta()] * 3
    return Figures(
        name=row["name"],
        calls=row["calls"],
        failures=row["failures"],
        p50=p50,
        p95=p95,
        p99=p99,
        last_at=row["last_at"],
    )


def _json_text(value: JsonValue) -> str:
    """A number that JSON has no word for does not keep the call out of the record."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(repr(value))
