"""Agents and their versions in PostgreSQL."""

import json
from collections.abc import Sequence
from typing import Final, LiteralString
from uuid import UUID

from psycopg.errors import UniqueViolation

from portico.adapters.postgres.mapping import Row, strip_nul
from portico.adapters.postgres.transaction import Transactions
from portico.agents.core.agents import (
    Agent,
    AgentFilter,
    AgentId,
    AgentVersion,
    spec_from,
    spec_json,
    takes,
)
from portico.agents.core.errors import AgentChanged, AgentNameTaken, AgentNotFound
from portico.kernel.ids import InvalidId, PrincipalId, SpaceId
from portico.kernel.principal import Principal

_AT_ONCE: Final = 200
"""Rows that are looked through at a time, for a filter that the database does not know."""
_COLUMNS: Final[LiteralString] = (
    "space_id, agent_id, principal_id, version, spec::text AS spec, made_by, made_by_name,"
    " made_at, changed_at"
)
_ADD: Final[LiteralString] = """
    INSERT INTO portico.agent (space_id, agent_id, principal_id, name, level, compartments,
        version, spec, made_by, made_by_name, made_at, changed_at)
    VALUES (%(space)s, %(agent)s, %(principal)s, %(name)s, %(level)s, %(compartments)s,
        %(version)s, %(spec)s::json, %(made_by)s, %(made_by_name)s, %(made)s, %(changed)s)
"""
_ADD_VERSION: Final[LiteralString] = """
    INSERT INTO portico.agent_version (space_id, agent_id, number, level, compartments, spec,
        made_by, made_by_name, made_at)
    VALUES (%(space)s, %(agent)s, %(version)s, %(level)s, %(compartments)s, %(spec)s::json,
        %(by)s, %(by_name)s, %(changed)s)
"""
# By its id first: nobody else's name is taken for it then.
_GET: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.agent
     WHERE space_id = %(space)s AND (agent_id = %(agent)s OR name = %(name)s)
     ORDER BY agent_id = %(agent)s DESC NULLS LAST LIMIT 1
"""
_PUT: Final[LiteralString] = """
    UPDATE portico.agent
       SET name = %(name)s, level = %(level)s, compartments = %(compartments)s,
           version = %(version)s, spec = %(spec)s::json, changed_at = %(changed)s
     WHERE space_id = %(space)s AND agent_id = %(agent)s AND version = %(was)s
"""
_REMOVE: Final[LiteralString] = """
    DELETE FROM portico.agent WHERE space_id = %(space)s AND agent_id = %(agent)s
"""
_PAGE: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.agent
     WHERE space_id = %(space)s AND name COLLATE "C" > %(after)s
     ORDER BY name COLLATE "C" LIMIT %(limit)s
"""
_VERSIONS: Final[LiteralString] = """
    SELECT number, spec::text AS spec, made_by, made_by_name, made_at FROM portico.agent_version
     WHERE space_id = %(space)s AND agent_id = %(agent)s ORDER BY number DESC
"""


class PostgresAgents:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, caller: Principal, agent: Agent) -> None:
        values = _values(caller, agent)
        try:
            async with self._transactions.begin(caller) as connection:
                await connection.execute(_ADD, values)
                await connection.execute(_ADD_VERSION, values)
        except UniqueViolation as error:
            raise AgentNameTaken(agent.name) from error

    async def get(self, caller: Principal, name: str) -> Agent:
        asked = {"space": caller.space.value, "agent": _id_or_none(name), "name": strip_nul(name)}
        [rows] = await self._transactions.looked_up(caller, (_GET, asked))
        if not rows:
            raise AgentNotFound(name)
        return _agent(rows[0])

    async def put(self, caller: Principal, agent: Agent, *, was: int) -> None:
        values = {**_values(caller, agent), "was": was}
        try:
            async with self._transactions.begin(caller) as connection:
                done = await connection.execute(_PUT, values)
                if done.rowcount != 1:
                    there = await self.get(caller, str(agent.id))
                    raise AgentChanged(there.name, there.version)
                await connection.execute(_ADD_VERSION, values)
        except UniqueViolation as error:
            raise AgentNameTaken(agent.name) from error

    async def remove(self, caller: Principal, agent: AgentId) -> None:
        doomed = {"space": caller.space.value, "agent": agent.value}
        async with self._transactions.begin(caller) as connection:
            done = await connection.execute(_REMOVE, doomed)
        if done.rowcount != 1:
            raise AgentNotFound(str(agent))

    async def page(
        self, caller: Principal, which: AgentFilter, *, after: str | None, limit: int
    ) -> Sequence[Agent]:
        found: list[Agent] = []
        at = strip_nul(after or "")
        async with self._transactions.begin(caller) as connection:
            while len(found) < limit:
                asked = {"space": caller.space.value, "after": at, "limit": _AT_ONCE}
                rows = await (await connection.execute(_PAGE, asked)).fetchall()
                agents = [_agent(row) for row in rows]
                found += [agent for agent in agents if takes(which, agent.spec)]
                if len(rows) < _AT_ONCE:
                    break
                at = agents[-1].name
        return found[:limit]

    async def versions(self, caller: Principal, agent: AgentId) -> Sequence[AgentVersion]:
        asked = {"space": caller.space.value, "agent": agent.value}
        async with self._transactions.begin(caller) as connection:
            return [
                _version(row)
                for row in await (await connection.execute(_VERSIONS, asked)).fetchall()
            ]


def _id_or_none(text: str) -> UUID | None:
    try:
        return AgentId.parse(text).value
    except InvalidId:
        return None


def _values(caller: Principal, agent: Agent) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "agent": agent.id.value,
        "principal": agent.principal.value,
        "name": agent.name,
        "level": int(agent.spec.label.level),
        "compartments": sorted(agent.spec.label.compartments),
        "version": agent.version,
        "spec": json.dumps(spec_json(agent.spec)),
        "made_by": agent.made_by.value,
        "made_by_name": strip_nul(agent.made_by_name),
        "made": agent.made_at,
        "changed": agent.changed_at,
        "by": caller.id.value,
        "by_name": strip_nul(caller.name),
    }


def _agent(row: Row) -> Agent:
    return Agent(
        id=AgentId(row["agent_id"]),
        space=SpaceId(row["space_id"]),
        principal=PrincipalId(row["principal_id"]),
        spec=spec_from(json.loads(row["spec"])),
        version=row["version"],
        made_by=PrincipalId(row["made_by"]),
        made_by_name=row["made_by_name"],
        made_at=row["made_at"],
        changed_at=row["changed_at"],
    )


def _version(row: Row) -> AgentVersion:
    return AgentVersion(
        number=row["number"],
        spec=spec_from(json.loads(row["spec"])),
        by=PrincipalId(row["made_by"]),
        by_name=row["made_by_name"],
        at=row["made_at"],
    )
