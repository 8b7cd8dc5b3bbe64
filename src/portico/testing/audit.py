"""The audit in memory: the same chain, made by the same rules."""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Final

from portico.guard.core.audit import BEGINNING, AuditEntry, Head, Link, act_text, entry_text, linked
from portico.kernel.clock import Clock
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.testing.kernel import TickingClock
from portico.testing.world import MemoryWorld, RowRefused

_AT_ONCE: Final = 500


class MemoryAudit:
    """Both doors, `Audit` and `AuditLog`; without a world it takes anybody's entries. `acts` and
    `actions` are for tests to look at."""

    def __init__(self, world: MemoryWorld | None = None, clock: Clock | None = None) -> None:
        self._world = MemoryWorld() if world is None else world
        self._anywhere = world is None
        self._clock = clock or TickingClock()

    @property
    def acts(self) -> list[JsonObject]:
        """Of every space, as they came."""
        return [json.loads(link.text)["act"] for link in self._world.audit.values()]

    @property
    def actions(self) -> list[JsonValue]:
        return [act["action"] for act in self.acts]

    async def note(self, caller: Principal, *entries: AuditEntry) -> None:
        for entry in entries:
            self._append(caller, entry)

    async def note_ahead(self, caller: Principal, entry: AuditEntry) -> None:
        self._append(caller, entry)

    def note_behind(self, caller: Principal, entry: AuditEntry) -> None:
        self._append(caller, entry)

    async def head(self, caller: Principal) -> Head:
        return self._world.audit_heads.get(caller.space, BEGINNING)

    async def page(self, caller: Principal, *, before: int | None, limit: int) -> Sequence[Link]:
        links = self._links(caller.space)
        older = links if before is None else [link for link in links if link.number < before]
        return [*reversed(older)][:limit]

    async def stream(self, caller: Principal, *, upto: int) -> AsyncGenerator[Sequence[Link], None]:
        links = [link for link in self._links(caller.space) if link.number <= upto]
        for start in range(0, len(links), _AT_ONCE):
            yield links[start : start + _AT_ONCE]

    def _append(self, caller: Principal, entry: AuditEntry) -> None:
        space = caller.space
        if not self._anywhere and space not in self._world.spaces:
            raise RowRefused(f"There is no space {space}.")
        before = self._world.audit_heads.get(space, BEGINNING)
        act, now = act_text(caller, entry), self._clock.now()
        link = linked(before, entry_text(act, now, caller.id, before.number + 1, space))
        self._world.audit.insert((space, link.number), link)
        self._world.audit_heads[space] = Head(link.number, link.hash)

    def _links(self, space: SpaceId) -> list[Link]:
        mine = [link for (whose, _), link in self._world.audit.items() if whose == space]
        return sorted(mine, key=lambda link: link.number)


class MemoryAuditHeads:
    def __init__(self) -> None:
        self.kept: list[tuple[SpaceId, Head]] = []

    async def keep(self, space: SpaceId, head: Head) -> None:
        self.kept.append((space, head))

    async def of(self, space: SpaceId) -> Sequence[Head]:
        return [head for whose, head in self.kept if whose == space]
