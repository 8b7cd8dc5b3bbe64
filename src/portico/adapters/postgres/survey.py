"""What an operator wants to know of the database: version, shape, size, and whether it is safe."""

from typing import Final, LiteralString

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from portico.engine.core.errors import PasswordRefused, StoreUnavailable
from portico.engine.core.store import StoreInfo, StoreStatus, TableSize

_INFO: Final[LiteralString] = """
    SELECT pg_database_size(current_database()) AS size,
           (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())
               AS connections,
           (SELECT array_agg(extname || ' ' || extversion ORDER BY extname) FROM pg_extension)
               AS extensions
"""
_TABLES: Final[LiteralString] = """
    SELECT relname AS name, n_live_tup AS rows, pg_total_relation_size(relid) AS size
      FROM pg_stat_user_tables WHERE schemaname = 'portico' ORDER BY relname
"""
_UNSAFE: Final[LiteralString] = """
    SELECT 'table ' || c.relname || ' lacks forced row-level security' AS problem
      FROM pg_class c
     WHERE c.relnamespace = 'portico'::regnamespace AND c.relkind IN ('r', 'p')
       AND EXISTS (SELECT FROM pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attname = 'space_id' AND NOT a.attisdropped)
       AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
    UNION ALL
    SELECT 'view ' || c.relname || ' is not security_invoker'
      FROM pg_class c
     WHERE c.relnamespace = 'portico'::regnamespace AND c.relkind = 'v'
       AND NOT coalesce('security_invoker=true' = ANY(c.reloptions), false)
    UNION ALL
    SELECT 'materialized view ' || c.relname || ' cannot have row-level security'
      FROM pg_class c
     WHERE c.relnamespace = 'portico'::regnamespace AND c.relkind = 'm'
    UNION ALL
    SELECT 'the role portico_app owns ' || c.relname
      FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname = 'portico_app'
    UNION ALL
    SELECT 'the role portico_app owns the schema ' || n.nspname
      FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner WHERE r.rolname = 'portico_app'
    UNION ALL
    SELECT 'the role portico_app owns the function ' || p.proname
      FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner WHERE r.rolname = 'portico_app'
    UNION ALL
    SELECT 'the role ' || rolname || ' may bypass row-level security'
      FROM pg_roles
     WHERE rolname IN ('portico_app', 'portico_engine', 'portico_owner')
       AND (rolsuper OR rolbypassrls)
    UNION ALL
    SELECT 'the role ' || m.rolname || ' is a member of ' || r.rolname
      FROM pg_roles r, pg_roles m
     WHERE r.rolname IN ('portico_owner', 'portico_app', 'portico_engine')
       AND m.rolname IN ('portico_app', 'portico_engine') AND m.oid <> r.oid
       AND pg_has_role(m.oid, r.oid, 'MEMBER')
    UNION ALL
    SELECT 'the policy ' || p.policyname || ' on ' || p.tablename || ' opens a wall'
      FROM pg_policies p
     WHERE p.schemaname = 'portico'
       AND NOT (p.policyname = 'owner_door' AND p.roles = '{portico_owner}')
       AND NOT (p.policyname = 'engine_door' AND p.roles = '{portico_engine}')
       AND p.permissive = 'PERMISSIVE'
       AND NOT (p.policyname = 'space_wall' AND p.permissive = 'PERMISSIVE' AND p.cmd = 'ALL'
                AND p.qual = p.with_check AND starts_with(ltrim(p.qual, '('), %(wall)s)
                AND p.qual !~* '\\mor\\M')
    UNION ALL
    SELECT 'the role portico_engine may read ' || c.relname || '.' || a.attname
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
     WHERE c.relnamespace = 'portico'::regnamespace AND c.relkind IN ('r', 'p')
       AND a.atttypid IN ('json'::regtype, 'jsonb'::regtype, 'bytea'::regtype)
       AND has_column_privilege('portico_engine', c.oid, a.attnum, 'SELECT')
    UNION ALL
    SELECT 'the function ' || p.proname || ' runs as its owner without a fixed search_path'
      FROM pg_proc p
     WHERE p.pronamespace = 'portico'::regnamespace AND p.prosecdef
       AND NOT EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'search\\_path=%%')
"""

_WALL: Final = (
    "space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid"
)
"""How every policy begins, as PostgreSQL writes it; one that is longer only narrows it (AND)."""


async def server_version(address: str) -> str | None:
    """None if no server answers. Raises `PasswordRefused` if one does and does not want us."""
    try:
        async with await AsyncConnection.connect(address, connect_timeout=5) as connection:
            number = connection.info.server_version
    except psycopg.OperationalError as error:
        if "authentication failed" in str(error):
            raise PasswordRefused from error
        return None
    return f"{number // 10000}.{number % 10000}"


async def survey(address: str, status: StoreStatus) -> StoreInfo:
    """Raises `StoreUnavailable`."""
    try:
        connection = await AsyncConnection[DictRow].connect(
            address, row_factory=dict_row, autocommit=True
        )
    except psycopg.OperationalError as error:
        raise StoreUnavailable("The database does not answer.") from error
    async with connection:
        facts = await (await connection.execute(_INFO)).fetchone()
        tables = [TableSize(**row) for row in await (await connection.execute(_TABLES)).fetchall()]
    return StoreInfo(status=status, tables=tables, **facts or {})


async def unsafe(address: str) -> list[str]:
    """What in the catalogue would let one space see another; empty is what it must be."""
    async with await AsyncConnection[DictRow].connect(address, row_factory=dict_row) as connection:
        return [
            row["problem"]
            for row in await (await connection.execute(_UNSAFE, {"wall": _WALL})).fetchall()
        ]
