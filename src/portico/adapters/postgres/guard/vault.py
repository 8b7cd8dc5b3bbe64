"""Everything in the database that the vault has encrypted, for a rotation of its keys."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from portico.adapters.crypto import HEAD_BYTES, head
from portico.adapters.postgres.guard.logins import BEGUN_IN
from portico.gateway.core.calls import ResultId, sealed_with
from portico.guard.approvals import sealed_for
from portico.guard.core.oauth_logins import client_context, login_context
from portico.guard.ports import Vault
from portico.kernel.ids import ApprovalId, Id, PrincipalId, SpaceId

# Everything in the database that the vault has sealed, to be sealed anew with another key.
#
# Asked as the owner, who alone sees every space. Whoever seals something new names it here.

_SOME: Final[LiteralString] = """
    SELECT {keys}, sealed FROM portico.{table}
     WHERE length(sealed) > 0 AND substr(sealed, 1, {head}) <> %(current)s
       AND substr(sealed, 1, {head}) = ANY(%(known)s)
     LIMIT %(limit)s
"""
_ANEW: Final[LiteralString] = """
    UPDATE portico.{table} SET sealed = %(anew)s WHERE {same} AND sealed = %(sealed)s
"""
_TALLY: Final[LiteralString] = """
    SELECT encode(substr(sealed, 1, {head}), 'escape') AS head, count(*) AS rows
      FROM portico.{table} WHERE length(sealed) > 0 GROUP BY 1
"""
_ALONE: Final[LiteralString] = (
    "SELECT pg_advisory_lock(hashtextextended('portico vault rotation', 0))"
)

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """The column `sealed` of a table, and what each row of it was sealed together with."""

    table: str
    keys: tuple[str, ...]
    context: Callable[[Row], bytes]
    more: tuple[str, ...] = ()
    """Columns besides its keys that the context is made of."""

    def statement(self, text: LiteralString) -> sql.Composed:
        columns = [*map(sql.Identifier, (*self.keys, *self.more))]
        same = [
            sql.SQL("{} = {}").format(sql.Identifier(key), sql.Placeholder(key))
            for key in self.keys
        ]
        return sql.SQL(text).format(
            table=sql.Identifier(self.table),
            keys=sql.SQL(", ").join(columns),
            same=sql.SQL(" AND ").join(same),
            head=sql.Literal(HEAD_BYTES),
        )


def _login(row: Row) -> bytes:
    return login_context(
        SpaceId(row["space_id"]), PrincipalId(row["principal_id"]), Id(row["server_id"])
    )


SEALED: Final = (
    SealedColumn(
        "approval",
        ("space_id", "approval_id"),
        lambda row: sealed_for(ApprovalId(row["approval_id"])),
    ),
    SealedColumn("login", ("space_id", "principal_id", "server_id"), _login),
    SealedColumn(
        "login_attempt",
        ("digest",),
        lambda row: BEGUN_IN + _login(row),
        more=("space_id", "principal_id", "server_id"),
    ),
    SealedColumn(
        "login_client",
        ("space_id", "server_id"),
        lambda row: client_context(SpaceId(row["space_id"]), Id(row["server_id"])),
    ),
    SealedColumn(
        "tool_result",
        ("space_id", "result_id"),
        lambda row: sealed_with(
            SpaceId(row["space_id"]), PrincipalId(row["principal_id"]), ResultId(row["result_id"])
        ),
        more=("principal_id",),
    ),
)


@dataclass(frozen=True, slots=True)
class SealedRows:
    owner_address: str
    columns: Sequence[SealedColumn] = SEALED

    async def seal_anew(self, vault: Vault, current: str, known: Sequence[str], limit: int) -> int:
        """Up to so many rows that another key than the current has sealed; how many it were.
        What somebody else writes meanwhile stays as they wrote it."""
        asked = {"current": head(current), "known": [*map(head, known)], "limit": limit}
        done = 0
        async with await psycopg.AsyncConnection[DictRow].connect(
            self.owner_address, row_factory=dict_row
        ) as connection:
            for column in self.columns:
                found = await connection.execute(column.statement(_SOME), asked)
                for row in await found.fetchall():
                    context = column.context(row)
                    plain = vault.decrypt(bytes(row["sealed"]), context)
                    if plain is not None:
                        anew = {**row, "anew": vault.encrypt(plain, context)}
                        await connection.execute(column.statement(_ANEW), anew)
                        done += 1
        return done

    async def tally(self) -> Mapping[str, int]:
        """How much each key has sealed, by its id."""
        found: dict[str, int] = {}
        async with await psycopg.AsyncConnection[DictRow].connect(
            self.owner_address, row_factory=dict_row
        ) as connection:
            for column in self.columns:
                for row in await (await connection.execute(column.statement(_TALLY))).fetchall():
                    key = row["head"][2:]
                    found[key] = found.get(key, 0) + row["rows"]
        return found


@asynccontextmanager
async def rotating_alone(owner_address: str) -> AsyncGenerator[None, None]:
    """One process at a time, wherever it runs; the lock goes with the connection, however that
    ends."""
    async with await psycopg.AsyncConnection.connect(owner_address, autocommit=True) as connection:
        await connection.execute(_ALONE)
        yield
