"""Secrets, the vault and its rotation, and the audit log, on their adapters."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Final

from portico.adapters.crypto import RingVault
from portico.adapters.postgres.checks import first_admin
from portico.adapters.postgres.guard.audit import PostgresAudit, PostgresAuditLog
from portico.adapters.postgres.guard.vault import SealedRows, rotating_alone
from portico.adapters.postgres.transaction import (
    Transactions,
    open_pool,
)
from portico.adapters.secrets import (
    BlockingVaultKeyStore,
    KeysByReference,
    Places,
    References,
    SecretsInStore,
    SecretStore,
    VaultKeysInStore,
    choose,
)
from portico.adapters.system.audit_heads import AuditHeadsFile
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.adapters.telemetry.spans import tell_head
from portico.app.app_context import AppContext
from portico.gateway.ports import house
from portico.guard.audit import ExportHeads
from portico.guard.core.audit import AuditEntry, Head
from portico.guard.core.authentication import as_principal
from portico.guard.core.secrets import SecretsUnavailable, parse_ref
from portico.guard.core.vault import VaultKeys
from portico.guard.ports import AuditHeads
from portico.guard.vault import Rotated, RotateVault
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonValue, canonical
from portico.settings.load import own_file, process_environment

LOOKED_AT: Final = timedelta(seconds=1)
"""How old what a process knows of the vault's keys may be."""

_LOCKED: Final = timedelta(seconds=30)
"""Between two questions to a keyring that does not answer: each may ask a person."""

_log: Final = logging.getLogger("portico.secrets")


@dataclass(frozen=True)
class SecretDependencies:
    """One for a process. What waits for files or the keyring does so when it is first asked for."""

    app: AppContext

    @cached_property
    def drawer(self) -> SecretStore:
        """Raises `SecretsUnavailable`."""
        paths = self.app.loaded.paths
        places = Places(paths.secrets_file, paths.identity_file, paths.installation_file)
        return choose(self.app.loaded.settings.secrets.store, places)

    @cached_property
    def references(self) -> References:
        paths = self.app.loaded.paths
        environment = process_environment()
        return References(
            environment,
            self.stored_secret,
            own=(paths.data, paths.config, paths.state),
            own_file=own_file(environment, self.app.config),
        )

    @cached_property
    def secrets(self) -> SecretsInStore:
        return SecretsInStore(lambda: self.drawer, self.app.secrets.learn)

    async def kept_in(self) -> str | None:
        try:
            return await self.secrets.where()
        except SecretsUnavailable:
            return None

    def stored_secret(self, space: str, name: str) -> str | None:
        """Raises `SecretsUnavailable`."""
        found = self.drawer.get(space, name)
        if found is None:
            return None
        self.app.secrets.learn(found.value)
        return found.value

    @cached_property
    def vault_keys(self) -> BlockingVaultKeyStore:
        told = self.app.loaded.settings.secrets.keys
        ref = None if told is None else parse_ref(told)
        if ref is None:
            return VaultKeysInStore(self.drawer, SystemClock(), system_entropy)
        own = References(process_environment(), self.stored_secret)
        return KeysByReference(str(ref), lambda: own.value("", ref))

    @cached_property
    def vault(self) -> RingVault:
        """Closed until `open_vault`."""
        return RingVault(None)

    def open_vault(self, *, first: bool = False) -> None:
        """`first`: nothing is sealed yet. Raises `SecretsUnavailable`, `InvalidVaultKeys`. Waits,
        so call it in a thread."""
        keys = self.vault_keys
        found = keys.read()
        may_make = first or self._is_where_it_began
        if found is None and may_make and isinstance(keys, VaultKeysInStore):
            found = keys.make()
        if found is not None:
            self.vault.use(found)

    @property
    def _is_where_it_began(self) -> bool:
        """Another machine's key would shut the others out of what it seals."""
        return self.app.loaded.paths.pepper_file.exists()

    async def start(self) -> None:
        """Before anything is sealed or opened. The server serves without it, and says so."""
        try:
            await asyncio.to_thread(self.open_vault)
            await asyncio.to_thread(self._learn_all)
        except PorticoError as error:
            _log.error("nothing can be sealed or opened yet: %s %s", error, error.fix)

    async def keep_up(self) -> None:
        """Until cancelled: when the keys are exchanged, every process follows at once."""
        pause = LOOKED_AT
        while True:
            await asyncio.sleep(pause.total_seconds())
            pause = LOOKED_AT
            try:
                await asyncio.to_thread(self.open_vault)
            except PorticoError as error:
                _log.warning("the keys of the vault stay as they were: %s", error)
                if isinstance(error, SecretsUnavailable):
                    pause = _LOCKED

    def _learn_all(self) -> None:
        """What is known is blacked out, whoever repeats it."""
        for space in self.drawer.spaces():
            self.app.secrets.learn(*(kept.value for kept in self.drawer.all(space).values()))


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


def open_audit(ground: AppContext, transactions: Transactions) -> Auditing:
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


def configuration_loaded(ground: AppContext) -> AuditEntry:
    """By hashes, so that a change can be told, and where: a section at a time, no secret in it."""
    told: dict[str, dict[str, JsonValue]] = {}
    for path, value in ground.loaded.leaves():
        section, _, name = path.partition(".")
        told.setdefault(section, {})[name] = repr(value)
    sections: Mapping[str, JsonValue] = {name: _hash(part) for name, part in told.items()}
    return AuditEntry(
        action="configuration.loaded",
        subject="portico.toml",
        details={"version": ground.version, "sha256": _hash(told), "sections": sections},
    )


async def note_configuration(ground: AppContext, auditing: Auditing, home: Home) -> None:
    """In the chain of this machine's own space; a server without one has no configuration that
    is anybody's there. Raises `StoreUnavailable`."""
    if (space := await home()) is not None:
        await auditing.audit.note(house(space), configuration_loaded(ground))


def _hash(value: JsonValue) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


# `portico secrets rotate`: in this process, whether the server runs or not.


@dataclass(frozen=True, slots=True)
class _InThread:
    keys: BlockingVaultKeyStore

    async def read(self) -> VaultKeys | None:
        return await asyncio.to_thread(self.keys.read)

    async def change(self, to: Callable[[VaultKeys], VaultKeys]) -> VaultKeys:
        return await asyncio.to_thread(self.keys.change, to)


async def rotate_vault(ground: AppContext) -> Rotated:
    """Raises `VaultClosed`, `SecretsUnavailable`, `StoreUnavailable`."""
    doors = SecretDependencies(ground)
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


async def _write_down(ground: AppContext, rotated: Rotated) -> None:
    """In the name of the first admin: whoever can read the vault's keys is at this machine."""
    admin = await first_admin(ground.store.owner_address)
    if admin is None:
        return
    entry = AuditEntry(
        action="vault.rotated",
        subject=rotated.key,
        details={"sealed_anew": rotated.sealed_anew, "lost": rotated.lost},
    )
    async with open_pool(ground.store.addresses.app, 2) as pool:
        await open_audit(ground, Transactions(pool)).audit.note(as_principal(admin), entry)
