"""Personas that people of a space have made, kept in PostgreSQL: everybody there reads them."""

from collections.abc import Sequence
from typing import Final, LiteralString

from portico.adapters.postgres.bridge_walls import mark_of
from portico.adapters.postgres.bridge_writes import no_write_down
from portico.adapters.postgres.plain_text import storable
from portico.adapters.postgres.rows import Row, uuid_or_none
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.errors import WriteDown
from portico.debate.core.debaters import Persona
from portico.debate.core.errors import PersonaNotFound
from portico.kernel.ids import PrincipalId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal

_ALL: Final[LiteralString] = """
    SELECT name, instructions, specialist, made_by, changed_at FROM portico.debate_persona
     WHERE space_id = %(space)s ORDER BY name
"""
_PUT: Final[LiteralString] = """
    INSERT INTO portico.debate_persona (space_id, name, instructions, specialist, made_by,
                                        changed_at)
    VALUES (%(space)s, %(name)s, %(instructions)s, %(specialist)s, %(by)s, %(at)s)
    ON CONFLICT (space_id, name) DO UPDATE
       SET instructions = %(instructions)s, specialist = %(specialist)s, made_by = %(by)s,
           changed_at = %(at)s
"""
_REMOVE: Final[LiteralString] = """
    DELETE FROM portico.debate_persona WHERE space_id = %(space)s AND name = %(name)s
    RETURNING name
"""


class PostgresPersonas:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def all(self, caller: Principal) -> Sequence[Persona]:
        [rows] = await self._transactions.looked_up(caller, (_ALL, {"space": caller.space.value}))
        return [_persona(row) for row in rows]

    async def put(self, caller: Principal, persona: Persona) -> None:
        values = {
            "space": caller.space.value,
            "name": storable(persona.name),
            "instructions": storable(persona.instructions),
            "specialist": persona.specialist,
            "by": uuid_or_none(persona.made_by),
            "at": persona.changed_at,
        }
        async with (
            no_write_down(self._transactions, caller, PUBLIC),
            self._transactions.begin(caller) as connection,
        ):
            await connection.execute(_PUT, values)

    async def remove(self, caller: Principal, name: str) -> None:
        there = [each.name for each in await self.all(caller)]
        values = {"space": caller.space.value, "name": storable(name)}
        [gone] = await self._transactions.looked_up(caller, (_REMOVE, values))
        if not gone and name in there:
            raise WriteDown(PUBLIC, await mark_of(self._transactions, caller), shared=True)
        if not gone:
            raise PersonaNotFound(name, there)


def _persona(row: Row) -> Persona:
    return Persona(
        name=row["name"],
        instructions=row["instructions"],
        specialist=row["specialist"],
        made_by=None if row["made_by"] is None else PrincipalId(row["made_by"]),
        changed_at=row["changed_at"],
    )
