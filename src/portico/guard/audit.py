"""Read the audit log, check its chain, export its heads."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from portico.guard.core.audit import AuditEntry, Checking, Head, Link, Verdict
from portico.guard.core.principals import Scope
from portico.guard.core.rules import fits
from portico.guard.ports import Audit, AuditHeads, AuditLog
from portico.guard.principals import require_scope
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

_LOOKED_AT: Final = 20_000
"""Entries that are looked through for one page: what is seldom takes several."""
_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """What is None is any."""

    action: str | None = None
    """With wildcards: `key.*`."""
    subject: str | None = None
    """With wildcards."""
    principal: PrincipalId | None = None
    since: datetime | None = None

    def includes(self, entry: JsonObject) -> bool:
        act = entry.get("act")
        told = act if isinstance(act, dict) else {}
        return (
            _like(told.get("action"), self.action)
            and _like(told.get("subject"), self.subject)
            and (self.principal is None or entry.get("by") == str(self.principal.value))
            and (self.since is None or not before(entry, self.since))
        )


@dataclass(frozen=True, slots=True)
class ChainedEntry:
    link: Link
    entry: JsonObject


@dataclass(frozen=True, slots=True)
class Findings:
    found: Sequence[ChainedEntry]
    onward: int | None
    """What to go on before; None if there is nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAudit:
    log: AuditLog

    async def __call__(
        self, caller: Principal, wanted: AuditFilter, *, onward: int | None, limit: int
    ) -> Findings:
        """Newest first. Raises `NotPermitted`."""
        require_scope(caller, Scope.AUDIT_READ)
        found: list[ChainedEntry] = []
        for _ in range(_LOOKED_AT // _AT_ONCE):
            links = await self.log.page(caller, before=onward, limit=_AT_ONCE)
            for link in links:
                entry = read(link)
                if wanted.since is not None and before(entry, wanted.since):
                    return Findings(found, None)
                onward = link.number
                if wanted.includes(entry):
                    found.append(ChainedEntry(link, entry))
                    if len(found) == limit:
                        return Findings(found, onward)
            if len(links) < _AT_ONCE:
                return Findings(found, None)
        return Findings(found, onward)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowAuditHead:
    log: AuditLog

    async def __call__(self, caller: Principal) -> Head:
        """Raises `NotPermitted`."""
        require_scope(caller, Scope.AUDIT_READ)
        return await self.log.head(caller)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportAudit:
    log: AuditLog
    audit: Audit

    async def __call__(self, caller: Principal) -> AsyncGenerator[Sequence[Link], None]:
        """All of it, this act included. Raises `NotPermitted`."""
        require_scope(caller, Scope.AUDIT_READ)
        await self.audit.note(
            caller, AuditEntry(action="audit.exported", subject=str(caller.space))
        )
        head = await self.log.head(caller)
        return self.log.stream(caller, last_number=head.number)


@dataclass(frozen=True, slots=True)
class Progress:
    checked: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyAudit:
    log: AuditLog
    heads: AuditHeads
    audit: Audit

    async def __call__(self, caller: Principal) -> AsyncGenerator[Progress | Verdict, None]:
        """Against every head that was exported here, and the one in the database; what it came to
        is the last of what it gives. Raises `NotPermitted`."""
        require_scope(caller, Scope.AUDIT_READ)
        head = await self.log.head(caller)
        return self._checked(caller, head, await self.heads.of(caller.space))

    async def _checked(
        self, caller: Principal, head: Head, exported: Sequence[Head]
    ) -> AsyncGenerator[Progress | Verdict, None]:
        own = [head] if head.number and head not in exported else []
        checking = Checking(caller.space, heads=[*exported, *own])
        async with aclosing(
            self.log.stream(caller, last_number=_furthest(head, exported))
        ) as pieces:
            async for links in pieces:
                await asyncio.to_thread(_add, checking, links)
                yield Progress(checking.checked, max(head.number, checking.checked))
        verdict = checking.verdict()
        if own and verdict.last == head:
            # Whoever changes the chain can change the head beside it: it counts for no other.
            verdict = replace(verdict, heads=verdict.heads - 1)
        await self.audit.note(caller, _verified(caller, verdict))
        yield verdict


def read(link: Link) -> JsonObject:
    """Nothing of it, if somebody has made it unreadable: that is for `VerifyAudit` to say."""
    try:
        entry = json.loads(link.text)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def before(entry: JsonObject, moment: datetime) -> bool:
    at = entry.get("at")
    try:
        return isinstance(at, str) and datetime.fromisoformat(at) < moment
    except ValueError:
        return False


def _like(told: object, wanted: str | None) -> bool:
    return wanted is None or (isinstance(told, str) and fits(told, [wanted]))


def _furthest(head: Head, exported: Sequence[Head]) -> int:
    """What stands beyond the head in the database is looked at too: nobody writes there."""
    return max([head.number, *(each.number for each in exported)])


def _add(checking: Checking, links: Sequence[Link]) -> None:
    for link in links:
        checking.add(link)


def _verified(caller: Principal, verdict: Verdict) -> AuditEntry:
    return AuditEntry(
        action="audit.verified",
        subject=str(caller.space),
        details={"sound": verdict.sound, "checked": verdict.checked, "found": verdict.found},
    )


_log: Final = logging.getLogger("portico.audit")


@dataclass(slots=True, kw_only=True)
class ExportHeads:
    heads: AuditHeads
    settle: Callable[[], Awaitable[None]]
    """Before a head goes out, its chain is on the disk: a head that outlives what it is of would
    tell of a cut that nobody made."""
    every: int
    """Entries of a chain from one of its heads to the next."""
    _newest: dict[SpaceId, Head] = field(default_factory=dict)
    """What was written here since the last export."""
    _due: asyncio.Queue[SpaceId] = field(default_factory=asyncio.Queue)

    def seen(self, space: SpaceId, head: Head, entries: int) -> None:
        """`head` is what the chain ended in after so many entries were added here."""
        if (known := self._newest.get(space)) is None or head.number > known.number:
            self._newest[space] = head
        if head.number // self.every > (head.number - entries) // self.every:
            self._due.put_nowait(space)

    async def run(self) -> None:
        """Until it is cancelled; then every chain that was added to is exported once more."""
        try:
            while True:
                await self._export(await self._due.get())
        finally:
            await asyncio.shield(self.export_all())

    async def export_all(self) -> None:
        for space in [*self._newest]:
            await self._export(space)

    async def _export(self, space: SpaceId) -> None:
        """What fails is tried again with the next one: what counts is that some head is there."""
        head = self._newest.pop(space, None)
        if head is None:
            return
        try:
            await self.settle()
            await self.heads.keep(space, head)
        except (OSError, PorticoError) as error:
            self._newest.setdefault(space, head)
            _log.error("the head of the audit could not be exported: %s", error)
