"""Servers, kept in PostgreSQL."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, LiteralString

import psycopg

from portico.adapters.postgres.server_rows import SERVER_COLUMNS, server_from, server_row
from portico.adapters.postgres.transaction import Connection, Transactions
from portico.gateway.core.errors import ServerExists, ServerNotFound
from portico.gateway.core.servers import Server, ServerId
from portico.kernel.principal import Principal

_ALL: Final[LiteralString] = f"""
    SELECT {SERVER_COLUMNS} FROM portico.server WHERE space_id = %(space)s
     ORDER BY name COLLATE "C"
"""
_GET: Final[LiteralString] = f"""
    SELECT {SERVER_COLUMNS} FROM portico.server
     WHERE space_id = %(space)s AND name = %(name)s
"""
_HOLD: Final[LiteralString] = f"{_GET} FOR UPDATE"
_INSERT: Final[LiteralString] = f"""
    INSERT INTO portico.server (space_id, {SERVER_COLUMNS})
    VALUES (%(space)s, %(server)s, %(name)s, %(origin)s, %(entry)s, %(launch)s, %(launch_pin)s,
            %(enabled)s, %(approved_launch_pin)s, %(approved_launch)s, %(approved_by)s,
            %(approved)s, %(tools_accepted)s, %(set_pin)s, %(accepted_set_pin)s, %(instructions)s,
            %(accepted_instructions)s, %(offers)s, %(accepted_offers)s, %(identity)s, %(era)s,
            %(timeout)s, %(failure)s, %(listed)s, %(profile)s, %(unboxed)s, %(label_level)s,
            %(label_compartments)s, %(clearance_level)s, %(clearance_compartments)s, %(trusted)s,
            %(gone)s, %(created)s)
"""
_PUT: Final[LiteralString] = """
    UPDATE portico.server
       SET launch = %(launch)s, launch_pin = %(launch_pin)s, enabled = %(enabled)s,
           approved_launch_pin = %(approved_launch_pin)s,
           approved_launch = %(approved_launch)s, approved_by = %(approved_by)s,
           approved_at = %(approved)s, tools_accepted = %(tools_accepted)s,
           set_pin = %(set_pin)s, accepted_set_pin = %(accepted_set_pin)s,
           instructions = %(instructions)s, accepted_instructions = %(accepted_instructions)s,
           offers = %(offers)s, accepted_offers = %(accepted_offers)s, identity = %(identity)s,
           era = %(era)s, timeout_seconds = %(timeout)s, failure = %(failure)s,
           listed_at = %(listed)s, profile = %(profile)s, unboxed = %(unboxed)s,
           label_level = %(label_level)s, label_compartments = %(label_compartments)s,
           clearance_level = %(clearance_level)s,
           clearance_compartments = %(clearance_compartments)s, trusted = %(trusted)s,
           gone_at = %(gone)s
     WHERE space_id = %(space)s AND server_id = %(server)s
"""
_REMOVE: Final[LiteralString] = """
    DELETE FROM portico.server WHERE space_id = %(space)s AND server_id = %(server)s
"""


class PostgresServers:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def all(self, caller: Principal) -> Sequence[Server]:
        asked = {"space": caller.space.value}
        async with self._transactions.begin(caller) as connection:
            return [
                server_from(row) for row in await (await connection.execute(_ALL, asked)).fetchall()
            ]

    async def get(self, caller: Principal, name: str) -> Server:
        async with self._transactions.begin(caller) as connection:
            return await _found(connection, _GET, caller, name)

    @asynccontextmanager
    async def changing(self, caller: Principal, name: str) -> AsyncIterator[Server]:
        async with self._transactions.begin(caller) as connection:
            yield await _found(connection, _HOLD, caller, name)

    async def add(self, caller: Principal, server: Server) -> None:
        try:
            async with self._transactions.begin(caller) as connection:
                await connection.execute(_INSERT, server_row(caller, server))
        except psycopg.errors.UniqueViolation as error:
            raise ServerExists(server.name, server.name) from error

    async def put(self, caller: Principal, server: Server) -> None:
        async with self._transactions.begin(caller) as connection:
            done = await connection.execute(_PUT, server_row(caller, server))
        if done.rowcount != 1:
            raise ServerNotFound(server.name)

    async def remove(self, caller: Principal, server: ServerId) -> None:
        asked = {"space": caller.space.value, "server": server.value}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_REMOVE, asked)


async def _found(
    connection: Connection, query: LiteralString, caller: Principal, name: str
) -> Server:
    asked = {"space": caller.space.value, "name": name}
    row = await (await connection.execute(query, asked)).fetchone()
    if row is None:
        raise ServerNotFound(name)
    return server_from(row)
