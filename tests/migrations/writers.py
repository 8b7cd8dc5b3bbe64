"""Writers of an earlier version, which know its columns and none that came later."""

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import psycopg

from portico.adapters.postgres.addresses import Addresses

NEW: Final[Mapping[str, tuple[str, ...]]] = {
    "principal": ("principal_id", "name"),
    "idempotency_record": ("key",),
    "run": ("run_id",),
    "tool_call": ("call_id",),
}
"""By table, what must be new in a row that is written after the example of another one; the first
is what it is known by."""

_COLUMNS: Final = (
    "SELECT column_name FROM information_schema.columns WHERE table_schema = 'portico'"
    " AND table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position"
)


_AS: Final = """
    SELECT set_config('portico.space', %(space_id)s, true),
           set_config('portico.principal', %(principal_id)s, true),
           set_config('portico.level', '3', true), set_config('portico.compartments', '', true)
"""


@dataclass(frozen=True, slots=True)
class Form:
    """How this version writes one row into a table."""

    table: str
    row: dict[str, Any]

    def written(self, cursor: psycopg.Cursor, name: str) -> None:
        columns = ", ".join(f'"{column}"' for column in self.row)
        new = {**self.row, **dict.fromkeys(NEW[self.table], name)}
        cursor.execute(
            f"INSERT INTO portico.{self.table} ({columns}) SELECT {columns}"
            f" FROM json_populate_record(NULL::portico.{self.table}, %s)".encode(),
            [json.dumps(new, default=str)],
        )


def forms(owner: str) -> Sequence[Form]:
    """Of the tables that this version has and has something in."""
    found = []
    with psycopg.connect(owner) as connection:
        for table in NEW:
            columns = [str(name) for (name,) in connection.execute(_COLUMNS, [table])]
            if columns and (row := _example(connection, table)):
                found.append(Form(table, {column: row[column] for column in columns}))
    return found


def _example(connection: psycopg.Connection, table: str) -> dict[str, Any] | None:
    """In JSON's words; of the one space that has all of it."""
    row = connection.execute(
        f"SELECT row_to_json(t) FROM portico.{table} t"
        " JOIN portico.space s USING (space_id) WHERE s.name = 'home' LIMIT 1".encode()
    ).fetchone()
    return None if row is None else dict(row[0])


@dataclass(slots=True)
class Traffic:
    database: Addresses
    forms: Sequence[Form]
    acknowledged: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    last: str = ""
    """What the last refusal said."""
    _over: threading.Event = field(default_factory=threading.Event)
    _moved: threading.Condition = field(default_factory=threading.Condition)

    def write(self) -> None:
        """A row into each table, all or none, again and again."""
        receipt = next(form.row for form in self.forms if form.table == "idempotency_record")
        with psycopg.connect(self.database.app) as app:
            while not self._over.is_set():
                name = str(UUID(bytes=os.urandom(16)))
                try:
                    with app.transaction(), app.cursor() as cursor:
                        cursor.execute(_AS, receipt)
                        for form in self.forms:
                            form.written(cursor, name)
                except psycopg.Error as error:
                    self.refused[type(error).__name__] += 1
                    self.last = str(error)
                else:
                    self.acknowledged.append(name)
                with self._moved:
                    self._moved.notify_all()

    def until(self, count: int) -> None:
        with self._moved:
            enough = self._moved.wait_for(lambda: len(self.acknowledged) >= count, timeout=20)
        assert enough, f"{self.refused} {self.last}"

    def lost(self) -> list[str]:
        """What was acknowledged and is not there, by table and name."""
        gone = []
        with psycopg.connect(str(self.database.owner)) as owner:
            for form in self.forms:
                found = owner.execute(
                    f"SELECT {NEW[form.table][0]}::text FROM portico.{form.table}".encode()
                )
                there = {str(name) for (name,) in found}
                gone += [f"{form.table} {name}" for name in self.acknowledged if name not in there]
        return gone

    @contextmanager
    def flowing(self, writers: int) -> Iterator[None]:
        threads = [threading.Thread(target=self.write) for _ in range(writers)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join(60)
