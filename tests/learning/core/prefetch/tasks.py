"""Calls of tools that tests go through, one after another."""

import json
from datetime import datetime, timedelta
from uuid import UUID

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.observed_calls import ObservedCall, RecentCalls, seen_call
from portico.testing.memory_store import BEGINNING

SERVER = ServerId(UUID(int=1))
OTHER = ServerId(UUID(int=2))
LIST, READ, WRITE, QUERY = (ToolPlace(SERVER, name) for name in ("list", "read", "write", "query"))


def text(words: str, *, failed: bool = False) -> ToolResult:
    return ToolResult([{"type": "text", "text": words}], failed=failed)


def values(found: JsonValue) -> ToolResult:
    return text(json.dumps(found))


def call(
    tool: ToolPlace,
    arguments: JsonObject,
    answer: ToolResult | None = None,
    *,
    at: datetime = BEGINNING,
    reads: bool = True,
) -> ObservedCall:
    return seen_call(tool, arguments, answer or text(""), ended=at, reads=reads)


def window(*calls: ObservedCall, words: str = "") -> RecentCalls:
    found = RecentCalls().told(words)
    for each in calls:
        found = found.then(each)
    return found


def later(minutes: float) -> datetime:
    return BEGINNING + timedelta(minutes=minutes)
