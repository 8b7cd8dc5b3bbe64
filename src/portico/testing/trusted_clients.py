"""Whose word a key's program may pass on, in memory."""

from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal
from portico.testing.world import MemoryWorld, RowRefused


class MemoryTrustedClients:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world
        self._people: dict[str, PrincipalId] = {}

    async def person(self, caller: Principal, key_id: str) -> PrincipalId | None:
        return self._people.get(key_id) if self._mine(caller, key_id) else None

    async def trust(self, caller: Principal, key_id: str, person: PrincipalId | None) -> None:
        if not self._mine(caller, key_id):
            return
        if person is None:
            self._people.pop(key_id, None)
            return
        if (caller.space, person) not in self._world.identities:
            raise RowRefused(f"There is no principal {person} to trust.")
        self._people[key_id] = person

    def _mine(self, caller: Principal, key_id: str) -> bool:
        held = self._world.keys.get(key_id)
        return held is not None and held.key.space == caller.space
