"""Secrets and the vault on their real doors."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Final

from portico.adapters.crypto import RingVault
from portico.adapters.secrets import (
    Drawer,
    DrawerSecrets,
    KeptKeys,
    KeysByReference,
    KeysInDrawer,
    Places,
    References,
    choose,
)
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.app.ground import Ground
from portico.guard.core.secrets import SecretsUnavailable, parse_ref
from portico.kernel.errors import PorticoError
from portico.settings.load import own_file, process_environment

LOOKED_AT: Final = timedelta(seconds=1)
"""How old what a process knows of the vault's keys may be."""

_LOCKED: Final = timedelta(seconds=30)
"""Between two questions to a keyring that does not answer: each may ask a person."""

_log: Final = logging.getLogger("portico.secrets")


@dataclass(frozen=True)
class SecretDoors:
    """One for a process. What waits for files or the keyring does so when it is first asked for."""

    ground: Ground

    @cached_property
    def drawer(self) -> Drawer:
        """Raises `SecretsUnavailable`."""
        paths = self.ground.loaded.paths
        places = Places(paths.secrets_file, paths.identity_file, paths.installation_file)
        return choose(self.ground.loaded.settings.secrets.store, places)

    @cached_property
    def references(self) -> References:
        paths = self.ground.loaded.paths
        environment = process_environment()
        return References(
            environment,
            self.kept,
            own=(paths.data, paths.config, paths.state),
            own_file=own_file(environment, self.ground.config),
        )

    @cached_property
    def secrets(self) -> DrawerSecrets:
        return DrawerSecrets(lambda: self.drawer, self.ground.secrets.learn)

    async def kept_in(self) -> str | None:
        try:
            return await self.secrets.where()
        except SecretsUnavailable:
            return None

    def kept(self, space: str, name: str) -> str | None:
        """Raises `SecretsUnavailable`."""
        found = self.drawer.get(space, name)
        if found is None:
            return None
        self.ground.secrets.learn(found.value)
        return found.value

    @cached_property
    def vault_keys(self) -> KeptKeys:
        told = self.ground.loaded.settings.secrets.keys
        ref = None if told is None else parse_ref(told)
        if ref is None:
            return KeysInDrawer(self.drawer, SystemClock(), system_entropy)
        own = References(process_environment(), self.kept)
        return KeysByReference(str(ref), lambda: own.value("", ref))

    @cached_property
    def vault(self) -> RingVault:
        """Closed until `open_vault`."""
        return RingVault(None)

    def open_vault(self, *, first: bool = False) -> None:
        """`first`: nothing is sealed yet. Raises `SecretsUnavailable`, `BadVaultKeys`. Waits, so
        call it in a thread."""
        keys = self.vault_keys
        found = keys.read()
        may_make = first or self._is_where_it_began
        if found is None and may_make and isinstance(keys, KeysInDrawer):
            found = keys.make()
        if found is not None:
            self.vault.use(found)

    @property
    def _is_where_it_began(self) -> bool:
        """Another machine's key would shut the others out of what it seals."""
        return self.ground.loaded.paths.pepper_file.exists()

    async def begin(self) -> None:
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
            self.ground.secrets.learn(*(kept.value for kept in self.drawer.all(space).values()))
