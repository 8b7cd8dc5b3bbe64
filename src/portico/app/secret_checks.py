"""Whether secrets can be kept here, and whether what others have sealed can be opened here."""

import asyncio
from dataclasses import dataclass
from typing import Final

import psycopg

from portico.adapters.postgres.guard.vault import SealedRows
from portico.adapters.secrets import OURS
from portico.app.ground import Ground
from portico.app.secrets import SecretDoors
from portico.engine.core.store import Finding, State
from portico.kernel.errors import PorticoError, many

_KEPT_IN: Final = {
    "keyring": "kept in the keyring of the system",
    "age": "kept in a file that age has encrypted",
}


@dataclass(frozen=True, slots=True)
class CheckSecrets:
    ground: Ground

    async def __call__(self, *, mend: bool) -> Finding:  # noqa: ARG002 # what is lost stays lost
        doors = SecretDoors(self.ground)
        try:
            where = await doors.secrets.where()
            spaces = await asyncio.to_thread(lambda: {*doors.drawer.spaces()} - {OURS})
        except PorticoError as error:
            return Finding(check="secrets", state=State.BROKEN, detail=str(error), fix=error.fix)
        detail = (
            f"{_KEPT_IN[where]}, of {many(len(spaces), 'space')}" if spaces else _KEPT_IN[where]
        )
        return Finding(check="secrets", state=State.GOOD, detail=detail)


@dataclass(frozen=True, slots=True)
class CheckVault:
    """Of two machines that share a database, each has to open what the other has sealed."""

    ground: Ground

    async def __call__(self, *, mend: bool) -> Finding:  # noqa: ARG002 # no key can be guessed
        doors = SecretDoors(self.ground)
        try:
            keys = await asyncio.to_thread(doors.vault_keys.read)
            tally = await SealedRows(self.ground.store.owner_address).tally()
        except PorticoError as error:
            return Finding(check="vault", state=State.BROKEN, detail=str(error), fix=error.fix)
        except psycopg.Error:
            return Finding(check="vault", state=State.WARNING, detail="not known: no database")
        known = set() if keys is None else {*keys.ids()}
        if missing := {key: rows for key, rows in tally.items() if key not in known}:
            detail = (
                f"{sum(missing.values())} sealed by keys that are not here: {', '.join(missing)}"
            )
            fix = "Set secrets.keys here to the keys of the machine that sealed them."
            return Finding(check="vault", state=State.BROKEN, detail=detail, fix=fix)
        if keys is None:
            detail, fix = "there is no key yet", "portico init, or set secrets.keys"
            return Finding(check="vault", state=State.WARNING, detail=detail, fix=fix)
        detail = f"key {keys.current.id}, {sum(tally.values())} sealed"
        return Finding(check="vault", state=State.GOOD, detail=detail)
