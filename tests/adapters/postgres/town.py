"""Many spaces in one database with rows in every walled table that its catalogue has, so that no
table can be forgotten."""

import random
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import psycopg

from portico.adapters.postgres.addresses import Addresses
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind

ROWS: Final = 5
"""Of each space in each table; row 1 of a table goes with row 1 of every other."""
WALLED: Final = """
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relnamespace = 'portico'::regnamespace AND c.relkind IN ('r', 'p')
       AND NOT c.relispartition AND a.attname = 'space_id' AND NOT a.attisdropped ORDER BY 1
"""
_CHECKS: Final = """
    SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname)
      FROM pg_constraint WHERE connamespace = 'portico'::regnamespace AND contype = 'c'
       AND conrelid <> 0 AND coninhcount = 0
"""
_COLUMNS: Final = """
    SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
     WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
       AND attnotnull AND attgenerated = ''
"""
_OF_ROW: Final = "md5(space::text || row)::uuid"
_OF_TYPE: Final = {
    "uuid": _OF_ROW,
    "text": "'t' || row",
    "bytea": "sha256((space::text || row)::bytea)",
    "smallint": "1",
    "integer": "row",
    "bigint": "row",
    **dict.fromkeys(["numeric", "real", "double precision"], "1"),
    "boolean": "false",
    "json": "'{}'",
    "jsonb": "'{}'",
    "interval": "'1s'",
    "timestamp with time zone": "now()",
    "vector": "'[1,2]'",
    "bit varying": "''",
}
"""A value of `space` and `row`, by the type of a column; and of some columns, by their names."""
_OF_NAME: Final = {
    "space_id": "space",
    "principal_id": "md5(space::text || 1)::uuid",
    "principal.principal_id": _OF_ROW,
    "kind": "'agent'",
    "purpose": "'access'",
    "api_key.key_id": "left(md5(space::text || row), 12)",
    "setting.value": "to_jsonb(space::text)",
}


@dataclass(frozen=True)
class Town:
    """Who lives where, and what there is of them."""

    addresses: Addresses
    tables: list[str]
    spaces: list[UUID]
    people: dict[UUID, list[UUID]]
    keys: dict[UUID, list[str]]
    rows: int

    def somebody(self, chance: random.Random) -> Principal:
        space = chance.choice(self.spaces)
        return replace(self.principal(space), id=PrincipalId(chance.choice(self.people[space])))

    def principal(self, space: UUID | None = None, number: int = 0) -> Principal:
        space = space or self.spaces[0]
        return Principal(
            id=PrincipalId(self.people[space][number]),
            space=SpaceId(space),
            kind=PrincipalKind.PERSON,
            name="somebody",
            clearance=Label(Level.RESTRICTED),
        )


def built(addresses: Addresses, spaces: int) -> Town:
    with psycopg.connect(str(addresses.owner)) as owner:
        tables = [str(name) for (name,) in owner.execute(WALLED)]
        for (drop,) in owner.execute(_CHECKS).fetchall():
            owner.execute(str(drop).encode())
        inserts = [_insert(owner, table) for table in tables]
    with psycopg.connect(str(addresses.admin)) as admin:
        admin.execute("SET session_replication_role = replica")  # no trigger, no foreign key
        admin.execute("SET search_path = portico, public")
        for insert in inserts:
            admin.execute(insert.encode(), {"spaces": spaces, "rows": ROWS})
        people: dict[UUID, list[UUID]] = {}
        keys: dict[UUID, list[str]] = {}
        for space, who in admin.execute(
            "SELECT space_id, principal_id FROM principal"
            " ORDER BY space_id, principal_id <> md5(space_id::text || 1)::uuid"
        ):
            people.setdefault(space, []).append(who)
        for space, key in admin.execute("SELECT space_id, key_id FROM api_key"):
            keys.setdefault(space, []).append(key)
        rows = sum(counted(admin, table) for table in tables)
    return Town(addresses, tables, [*people], people, keys, rows)


def _insert(owner: psycopg.Connection, table: str) -> str:
    """Of every space, and of every row of it; but one row for what there is one of."""
    columns = {
        str(name): _OF_NAME.get(f"{table}.{name}") or _OF_NAME.get(name) or _of_type(type_)
        for name, type_ in owner.execute(_COLUMNS, [f"portico.{table}"])
    }
    names, values = ", ".join(f'"{name}"' for name in columns), ", ".join(columns.values())
    return (
        f"INSERT INTO {table} ({names}) SELECT {values}"
        " FROM (SELECT md5(n::text)::uuid AS space FROM generate_series(1, %(spaces)s) n) AS spaces"
        " CROSS JOIN generate_series(1, %(rows)s) AS row ON CONFLICT DO NOTHING"
    )


def _of_type(name: str) -> str:
    return "'{}'" if name.endswith("[]") else _OF_TYPE[name]


def counted(connection: psycopg.Connection, table: str) -> int:
    row = connection.execute(f"SELECT count(space_id) FROM {table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def enter(connection: psycopg.Connection, caller: Principal) -> None:
    connection.execute(
        "SELECT set_config('portico.space', %s, true), set_config('portico.principal', %s, true),"
        " set_config('portico.level', %s, true)",
        [str(caller.space.value), str(caller.id.value), str(int(caller.clearance.level))],
    )
