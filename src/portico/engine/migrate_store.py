"""Bring the database to the shape this version needs, one checked step at a time."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from portico.engine.core.migration import Migration, pending
from portico.engine.ports import Companion, Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrateStore:
    schema: Schema
    known: Sequence[Migration]
    companions: Sequence[Companion] = field(default_factory=tuple)

    async def __call__(self) -> AsyncIterator[Migration]:
        """Yields each migration once it is applied. Raises `SchemaEdited`, `SchemaAhead`."""
        async with self.schema.locked():
            for migration in pending(self.known, await self.schema.applied()):
                await self.schema.apply(migration)
                yield migration
            for companion in self.companions:
                await companion.migrate()
