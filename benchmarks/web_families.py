"""A run and whatever was written because of it: its steps, what was told of it, the requests in it,
the turns of its agent, the notes of its debate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString
from uuid import UUID

import psycopg
from psycopg import sql

from benchmarks.web_copies import NUMBER, Template, spelled, template
from portico.kernel.ids import RunId

SHARED: Final = ("runs", "approvals")
"""Topics that all of them are told in."""
_RUNS: Final[LiteralString] = """
    SELECT %(run)s::uuid UNION SELECT run_id FROM portico.approval WHERE waiter_run = %(run)s
"""
_REQUESTS: Final[LiteralString] = (
    "SELECT approval_id FROM portico.approval WHERE waiter_run = %(run)s"
)
_DEBATES: Final[LiteralString] = "SELECT debate_id FROM portico.debate WHERE run_id = %(run)s"
_BY_RUN: Final[LiteralString] = "run_id = ANY (%(runs)s)"
_BY_DEBATE: Final[LiteralString] = "debate_id = ANY (%(debates)s)"
_BY_TOPIC: Final[LiteralString] = "topic = ANY (%(topics)s)"
_TABLES: Final[Mapping[str, LiteralString]] = {
    "run": _BY_RUN,
    "run_step": _BY_RUN,
    "run_signal": _BY_RUN,
    "stream": _BY_TOPIC,
    "event": _BY_TOPIC,
    "approval": "waiter_run = ANY (%(runs)s)",
    "agent_run": _BY_RUN,
    "agent_turn": _BY_RUN,
    "agent_tool_use": _BY_RUN,
    "agent_input": _BY_RUN,
    "debate": _BY_DEBATE,
    "debate_note": _BY_DEBATE,
    "debate_outcome": _BY_DEBATE,
    "debate_reservation": _BY_DEBATE,
}
_SHARED: Final[LiteralString] = "topic = %(shared)s AND facts::text ~ %(told)s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    ids: Sequence[UUID]
    runs: int
    began: datetime
    rows: Mapping[str, Template]
    """By table."""
    told: Mapping[str, Template]
    """In topics that it shares, without their numbers."""


class Families:
    def __init__(self, admin: psycopg.Connection) -> None:
        self._admin = admin
        self.columns = {table: self._columns(table) for table in _TABLES}

    def of(self, run: RunId) -> Family:
        asked = {"run": run.value}
        runs = [each for (each,) in self._admin.execute(_RUNS, asked)]
        requests = [each for (each,) in self._admin.execute(_REQUESTS, asked)]
        debates = [each for (each,) in self._admin.execute(_DEBATES, asked)]
        topics = [f"run_{spelled(each)}" for each in runs]
        topics += [f"~talk:{topic}" for topic in topics]
        topics += [f"~debate:dbt_{spelled(each)}" for each in debates]
        ids = [*runs, *requests, *debates]
        values: dict[str, Any] = {"runs": runs, "debates": debates, "topics": topics}
        values["told"] = "|".join(map(spelled, ids))
        return Family(
            ids=ids,
            runs=len(runs),
            began=self._began(run),
            rows={
                table: template(text, ids)
                for table, where in _TABLES.items()
                if (text := self._text(table, where, values))
            },
            told={
                shared: template(text, ids)
                for shared in SHARED
                if (text := self._text("event", _SHARED, {**values, "shared": shared}))
            },
        )

    def _began(self, run: RunId) -> datetime:
        asked = "SELECT created_at FROM portico.run WHERE run_id = %s"
        [(began,)] = self._admin.execute(asked, [run.value])
        found: datetime = began
        return found

    def _columns(self, table: str) -> Sequence[str]:
        rows = self._admin.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
            " AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
            [f"portico.{table}"],
        )
        return [name for (name,) in rows]

    def _text(self, table: str, where: LiteralString, values: Mapping[str, object]) -> str:
        """As COPY tells it, in the order in which it was written."""
        order: LiteralString = "ORDER BY number" if "shared" in values else ""
        columns = [
            sql.Literal(NUMBER) if name == "number" and "shared" in values else sql.Identifier(name)
            for name in self.columns[table]
        ]
        asked = sql.SQL("COPY (SELECT {} FROM portico.{} WHERE {} {}) TO STDOUT").format(
            sql.SQL(", ").join(columns),
            sql.Identifier(table),
            sql.SQL(where),
            sql.SQL(order),
        )
        with psycopg.ClientCursor(self._admin) as cursor, cursor.copy(asked, values) as copy:
            return b"".join(bytes(block) for block in copy).decode()
