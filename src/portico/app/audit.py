"""The audit of one process: on its real doors, with its heads on their way out."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from portico.adapters.postgres.guard.audit import PostgresAudit, PostgresAuditLog
from portico.adapters.postgres.transaction import Transactions
from portico.adapters.system.audit_heads import AuditHeadsFile
from portico.adapters.system.clock import SystemClock
from portico.adapters.telemetry.spans import tell_head
from portico.app.ground import Ground
from portico.gateway.ports import house
from portico.guard.audit import ExportHeads
from portico.guard.core.audit import AuditEntry, Head
from portico.guard.ports import AuditHeads
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonValue, canonical

Home = Callable[[], Awaitable[SpaceId | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Auditing:
    audit: PostgresAudit
    log: PostgresAuditLog
    heads: AuditHeads
    export: ExportHeads

    async def run(self) -> None:
        """Until it is cancelled: then what is kept back is written, and after it the heads."""
        async with asyncio.TaskGroup() as group:
            exporting = group.create_task(self.export.run())
            try:
                await self.audit.run()
            finally:
                exporting.cancel()


def open_audit(ground: Ground, transactions: Transactions) -> Auditing:
    settings, paths = ground.loaded.settings.audit, ground.loaded.paths
    chosen = settings.heads_file
    file = Path(chosen).expanduser() if chosen else paths.audit_heads_file
    heads = AuditHeadsFile(file, SystemClock(), tell_head)

    def seen(space: SpaceId, head: Head, entries: int) -> None:
        export.seen(space, head, entries)

    audit = PostgresAudit(transactions, seen)
    export = ExportHeads(heads=heads, settle=audit.settle, every=settings.heads_every)
    log = PostgresAuditLog(transactions, audit.flush)
    return Auditing(audit=audit, log=log, heads=heads, export=export)


def configuration_loaded(ground: Ground) -> AuditEntry:
    """By hashes, so that a change can be told, and where: a section at a time, no secret in it."""
    told: dict[str, dict[str, JsonValue]] = {}
    for path, value in ground.loaded.leaves():
        section, _, name = path.partition(".")
        told.setdefault(section, {})[name] = repr(value)
    sections: Mapping[str, JsonValue] = {name: _hash(part) for name, part in told.items()}
    return AuditEntry(
        action="configuration.loaded",
        subject="portico.toml",
        facts={"version": ground.version, "sha256": _hash(told), "sections": sections},
    )


async def note_configuration(ground: Ground, auditing: Auditing, home: Home) -> None:
    """In the chain of this machine's own space; a server without one has no configuration that
    is anybody's there. Raises `StoreUnavailable`."""
    if (space := await home()) is not None:
        await auditing.audit.note(house(space), configuration_loaded(ground))


def _hash(value: JsonValue) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()
