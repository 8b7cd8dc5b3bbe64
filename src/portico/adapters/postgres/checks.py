"""What can be wrong with the database."""

from collections.abc import Callable
from dataclasses import dataclass

from portico.engine.core.store import Finding, State
from portico.engine.ports import Store
from portico.engine.store import MigrateStore
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.words import many


@dataclass(frozen=True, slots=True)
class CheckDatabase:
    store: Callable[[], Store]

    async def __call__(self, *, mend: bool) -> Finding:  # noqa: ARG002 # nothing to mend here
        """Starts it if it is ours: whether it can be started is the question. Makes none."""
        try:
            await self.store().start(create=False, progress=lambda _: None)
            status = await self.store().status()
        except PorticoError as error:
            return Finding(check="database", state=State.BROKEN, detail=str(error), fix=error.fix)
        if not status.running:
            return Finding(
                check="database",
                state=State.BROKEN,
                detail=f"no PostgreSQL answers at {status.address}",
                fix="See that it runs, and that database.dsn is right.",
            )
        detail = f"PostgreSQL {status.server_version} ({status.source})"
        return Finding(check="database", state=State.GOOD, detail=detail)


@dataclass(frozen=True, slots=True)
class CheckSchema:
    store: Callable[[], Store]
    migrate: Callable[[], MigrateStore]

    async def __call__(self, *, mend: bool) -> Finding:
        try:
            pending = (await self.store().status()).pending
            if mend and pending:
                done = [migration async for migration in self.migrate()()]
                return Finding(
                    check="schema",
                    state=State.MENDED,
                    detail=f"applied {many(len(done), 'migration')}",
                )
        except PorticoError as error:
            if error.kind is Kind.CONFLICT:
                return Finding(check="schema", state=State.BROKEN, detail=str(error), fix=error.fix)
            pending = None
        if pending is None:
            return Finding(check="schema", state=State.BROKEN, detail="not known: no database")
        if pending:
            return Finding(
                check="schema",
                state=State.BROKEN,
                detail=f"{many(pending, 'migration')} to apply",
                fix="portico db migrate",
            )
        return Finding(check="schema", state=State.GOOD, detail="up to date")


@dataclass(frozen=True, slots=True)
class CheckWalls:
    """Row-level security is only a wall while nobody has left a gap in it."""

    store: Callable[[], Store]

    async def __call__(self, *, mend: bool) -> Finding:  # noqa: ARG002 # a person looks at this
        try:
            status = await self.store().status()
            if not status.running or not status.applied:
                return Finding(
                    check="isolation", state=State.BROKEN, detail="not known: no schema yet"
                )
            problems = await self.store().unsafe()
        except PorticoError:
            return Finding(check="isolation", state=State.BROKEN, detail="not known: no database")
        if problems:
            return Finding(
                check="isolation",
                state=State.BROKEN,
                detail="; ".join(problems),
                fix="Somebody changed the schema by hand; restore a backup or undo it.",
            )
        return Finding(check="isolation", state=State.GOOD, detail="every table is walled")
