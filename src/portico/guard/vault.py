"""Rotate the keys of the vault."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from portico.guard.core.vault import VaultClosed, VaultKey, VaultKeys
from portico.guard.ports import Vault

BATCH: Final = 500


class VaultKeyStore(Protocol):
    async def read(self) -> VaultKeys | None: ...

    async def change(self, to: Callable[[VaultKeys], VaultKeys]) -> VaultKeys:
        """While this is done, nobody else changes them. Raises `KeysElsewhere`."""
        ...


class Sealed(Protocol):
    async def seal_anew(self, vault: Vault, current: str, known: Sequence[str], limit: int) -> int:
        """Up to so many of each kind that another key than the current has sealed."""
        ...

    async def tally(self) -> Mapping[str, int]:
        """How much each key has sealed, by its id."""
        ...


@dataclass(frozen=True, slots=True)
class Rotated:
    key: str
    sealed_anew: int
    lost: int
    """What no key that is here opens."""
    left: tuple[str, ...] = ()
    """Keys that nothing needs any more, where we do not keep them ourselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateVault:
    """May be repeated after it was interrupted: first it ends what was begun.

    A new key is known to every process before anything is sealed with it, and none seals with the
    old one any more when the last rows are sealed anew.
    """

    keys: VaultKeyStore
    sealed: Sealed
    vault_of: Callable[[VaultKeys], Vault]
    fresh: Callable[[], VaultKey]
    until_known: Callable[[], Awaitable[None]]
    """Waits until every process has looked at the keys again."""
    alone: Callable[[], AbstractAsyncContextManager[object]]
    """Whoever exchanges them too, in any process, waits here until this ends."""
    elsewhere: bool = False
    """The keys are somebody else's to change: only seal anew with the first of them."""

    async def __call__(self) -> Rotated:
        """Raises `VaultClosed`."""
        async with self.alone():
            return await self._exchanged()

    async def _exchanged(self) -> Rotated:
        keys = await self.keys.read()
        if keys is None:
            raise VaultClosed
        if self.elsewhere:
            done = await self._all(keys)
            return await self._rotated(keys, done, left=tuple(keys.ids())[1:])
        done = 0
        if len(keys.keys) > 1:
            done += await self._ended(keys)
        fresh = self.fresh()
        await self.keys.change(lambda now: now.announcing(fresh))
        await self.until_known()
        keys = await self.keys.change(VaultKeys.led_by_newest)
        done += await self._ended(keys)
        return await self._rotated(await self.keys.read() or keys, done)

    async def _ended(self, keys: VaultKeys) -> int:
        """Until nothing more comes: somebody may have been slow to write what it had sealed. Keys
        that are not the ones that were sealed with stay, all of them: the next one ends that."""
        await self.until_known()
        done = more = await self._all(keys)
        while more:
            await self.until_known()
            done += (more := await self._all(keys))
        await self.keys.change(lambda now: now.only_current() if now == keys else now)
        return done

    async def _all(self, keys: VaultKeys) -> int:
        vault, done = self.vault_of(keys), 0
        current, known = keys.current.id, [*keys.ids()]
        while more := await self.sealed.seal_anew(vault, current, known, BATCH):
            done += more
        return done

    async def _rotated(self, keys: VaultKeys, done: int, left: tuple[str, ...] = ()) -> Rotated:
        known = {*keys.ids()}
        tally = await self.sealed.tally()
        lost = sum(rows for key, rows in tally.items() if key not in known)
        return Rotated(keys.current.id, done, lost, left)
