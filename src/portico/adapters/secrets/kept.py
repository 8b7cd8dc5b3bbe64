"""The secrets of each space, in whichever place this machine has for them."""

import asyncio
from collections.abc import Callable, Sequence

from portico.adapters.secrets.drawer import Drawer, Kept
from portico.guard.core.secrets import KeptSecret
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal


class DrawerSecrets:
    """`learn` is told every value that passes here, so that it is blacked out wherever else it
    turns up."""

    def __init__(self, drawer: Callable[[], Drawer], learn: Callable[[str], None]) -> None:
        self._drawer = drawer
        self._learn = learn

    async def where(self) -> str:
        return (await asyncio.to_thread(self._drawer)).title

    async def get(self, caller: Principal, name: str) -> str | None:
        kept = await asyncio.to_thread(self._get, str(caller.space), name)
        return None if kept is None else kept.value

    async def put(self, caller: Principal, secret: KeptSecret, value: str) -> None:
        self._learn(value)
        kept = Kept(value, secret.set_at, secret.set_by)
        await asyncio.to_thread(self._change, str(caller.space), secret.name, kept)

    async def remove(self, caller: Principal, name: str) -> bool:
        before = await asyncio.to_thread(self._change, str(caller.space), name, None)
        return before is not None

    async def forget(self, space: SpaceId) -> None:
        """All that it has. Raises `SecretsUnavailable`."""
        await asyncio.to_thread(self._forget, str(space))

    async def all(self, caller: Principal) -> Sequence[KeptSecret]:
        found = await asyncio.to_thread(self._all, str(caller.space))
        return [KeptSecret(name, kept.set_at, kept.set_by) for name, kept in sorted(found)]

    def _get(self, space: str, name: str) -> Kept | None:
        kept = self._drawer().get(space, name)
        if kept is not None:
            self._learn(kept.value)
        return kept

    def _change(self, space: str, name: str, kept: Kept | None) -> Kept | None:
        return self._drawer().change(space, name, lambda _before: kept)

    def _forget(self, space: str) -> None:
        drawer = self._drawer()
        for name in drawer.all(space):
            drawer.change(space, name, lambda _before: None)

    def _all(self, space: str) -> list[tuple[str, Kept]]:
        return [*self._drawer().all(space).items()]
