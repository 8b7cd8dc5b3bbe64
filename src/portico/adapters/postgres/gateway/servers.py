"""MCP servers in PostgreSQL."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, LiteralString

import psycopg
from psycopg.types.json import Json

from portico.adapters.postgres.mapping import storable_or_none, strip_nul
from portico.adapters.postgres.transaction import Connection, Transactions
from portico.gateway.core.confinement import profile_from, profile_json, unboxed_from, unboxed_json
from portico.gateway.core.errors import ServerExists, ServerNotFound
from portico.gateway.core.launch import from_json, to_json
from portico.gateway.core.servers import Identity, ProtocolRevision, Server, ServerId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal

Row = Mapping[str, Any]

SERVER_COLUMNS: Final[LiteralString] = """
    server_id, name, origin, entry, launch, launch_pin, enabled, approved_launch_pin,
    approved_launch, approved_by, approved_at, tools_accepted, set_pin, accepted_set_pin,
    instructions, accepted_instructions, offers, accepted_offers, identity, era, timeout_seconds,
    failure, listed_at, profile, unboxed, label_level, label_compartments, clearance_level,
    clearance_compartments, trusted, gone_at, created_at
"""


def server_row(caller: Principal, server: Server) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "server": server.id.value,
        "name": server.name,
        "origin": server.origin,
        "entry": server.entry,
        "launch": Json(to_json(server.launch)),
        "launch_pin": server.launch_pin,
        "enabled": server.enabled,
        "approved_launch_pin": server.approved_launch_pin,
        "approved_launch": None
        if server.approved_launch is None
        else Json(to_json(server.approved_launch)),
        "approved_by": server.approved_by,
        "approved": server.approved_at,
        "tools_accepted": server.tools_accepted,
        "set_pin": server.set_pin,
        "accepted_set_pin": server.accepted_set_pin,
        "instructions": storable_or_none(server.instructions),
        "accepted_instructions": storable_or_none(server.accepted_instructions),
        "offers": Json(server.offers),
        "accepted_offers": Json(server.accepted_offers),
        "identity": None if server.identity is None else Json(_identity_json(server.identity)),
        "era": server.protocol_revision,
        "timeout": server.timeout,
        "failure": storable_or_none(server.failure),
        "listed": server.listed_at,
        "profile": None if server.profile is None else Json(profile_json(server.profile)),
        "unboxed": None if server.unsandboxed is None else Json(unboxed_json(server.unsandboxed)),
        "label_level": int(server.label.level),
        "label_compartments": sorted(server.label.compartments),
        "clearance_level": int(server.clearance.level),
        "clearance_compartments": sorted(server.clearance.compartments),
        "trusted": server.trusted,
        "gone": server.gone_at,
        "created": server.created_at,
    }


def server_from(row: Row) -> Server:
    return Server(
        id=ServerId(row["server_id"]),
        name=row["name"],
        origin=row["origin"],
        entry=row["entry"],
        launch=from_json(row["launch"]),
        launch_pin=row["launch_pin"],
        enabled=row["enabled"],
        approved_launch_pin=row["approved_launch_pin"],
        approved_launch=None
        if row["approved_launch"] is None
        else from_json(row["approved_launch"]),
        approved_by=row["approved_by"],
        approved_at=row["approved_at"],
        tools_accepted=row["tools_accepted"],
        set_pin=row["set_pin"],
        accepted_set_pin=row["accepted_set_pin"],
        instructions=row["instructions"],
        accepted_instructions=row["accepted_instructions"],
        offers=row["offers"],
        accepted_offers=row["accepted_offers"],
        identity=None if row["identity"] is None else Identity(**row["identity"]),
        protocol_revision=None if row["era"] is None else ProtocolRevision(row["era"]),
        timeout=row["timeout_seconds"],
        failure=row["failure"],
        listed_at=row["listed_at"],
        profile=None if row["profile"] is None else profile_from(row["profile"]),
        unsandboxed=None if row["unboxed"] is None else unboxed_from(row["unboxed"]),
        label=_label(row, "label"),
        clearance=_label(row, "clearance"),
        trusted=row["trusted"],
        gone_at=row["gone_at"],
        created_at=row["created_at"],
    )


def _label(row: Row, which: str) -> Label:
    return Label(Level(row[f"{which}_level"]), frozenset(row[f"{which}_compartments"]))


def _identity_json(identity: Identity) -> JsonObject:
    return {"name": strip_nul(identity.name), "version": strip_nul(identity.version)}


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
