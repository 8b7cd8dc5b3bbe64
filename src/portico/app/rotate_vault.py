"""`portico secrets rotate`: in this process, whether the server runs or not."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from portico.adapters.crypto import RingVault
from portico.adapters.postgres.checks import first_admin
from portico.adapters.postgres.guard.vault import SealedRows, rotating_alone
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.secrets import KeptKeys, KeysByReference
from portico.adapters.system.clock import system_entropy
from portico.app.audit import open_audit
from portico.app.ground import Ground
from portico.app.secrets import LOOKED_AT, SecretDoors
from portico.guard.core.audit import AuditEntry
from portico.guard.core.authentication import as_principal
from portico.guard.core.vault import VaultKeys
from portico.guard.vault import Rotated, RotateVault


@dataclass(frozen=True, slots=True)
class _InThread:
    keys: KeptKeys

    async def read(self) -> VaultKeys | None:
        return await asyncio.to_thread(self.keys.read)

    async def change(self, to: Callable[[VaultKeys], VaultKeys]) -> VaultKeys:
        return await asyncio.to_thread(self.keys.change, to)


async def rotate_vault(ground: Ground) -> Rotated:
    """Raises `VaultClosed`, `SecretsUnavailable`, `StoreUnavailable`."""
    doors = SecretDoors(ground)
    await ground.store.start(create=False, progress=lambda _: None)
    try:
        await asyncio.to_thread(doors.open_vault)
        rotate = RotateVault(
            keys=_InThread(doors.vault_keys),
            sealed=SealedRows(ground.store.owner_address),
            vault_of=RingVault,
            fresh=lambda: VaultKeys.fresh(system_entropy).current,
            alone=lambda: rotating_alone(ground.store.owner_address),
            until_known=lambda: asyncio.sleep(3 * LOOKED_AT.total_seconds()),
            elsewhere=isinstance(doors.vault_keys, KeysByReference),
        )
        rotated = await rotate()
        await _write_down(ground, rotated)
        return rotated
    finally:
        await ground.store.release()


async def _write_down(ground: Ground, rotated: Rotated) -> None:
    """In the name of the first admin: whoever can read the vault's keys is at this machine."""
    admin = await first_admin(ground.store.owner_address)
    if admin is None:
        return
    entry = AuditEntry(
        action="vault.rotated",
        subject=rotated.key,
        facts={"sealed_anew": rotated.sealed_anew, "lost": rotated.lost},
    )
    async with open_pool(ground.store.addresses.app, 2) as pool:
        await open_audit(ground, Transactions(pool)).audit.note(as_principal(admin), entry)
