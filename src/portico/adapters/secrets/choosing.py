"""Which place for secrets there is on this machine: the one that was asked for, or that works."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from portico.adapters.secrets.age_file import AgeFile
from portico.adapters.secrets.drawer import Drawer
from portico.adapters.secrets.os_keyring import OsKeyring, system_keyring
from portico.adapters.system.private_files import kept_secret
from portico.guard.core.secrets import SecretsUnavailable

Choice = Literal["auto", "keyring", "age"]
_PROBED: Final = "portico probe"


@dataclass(frozen=True, slots=True)
class Places:
    file: Path
    identity: Path
    installation: Path


def choose(choice: Choice, places: Places) -> Drawer:
    """Never a plain file. What was chosen by itself once stays chosen: secrets that lie in the file
    are not forgotten because a keyring has come, nor those in the keyring because it is locked.
    Raises `SecretsUnavailable`."""
    in_file = AgeFile(places.file, places.identity)
    if choice == "age" or (choice == "auto" and places.file.exists()):
        return in_file
    try:
        return _keyring(places)
    except SecretsUnavailable:
        if choice == "keyring" or places.installation.exists():
            raise
        return in_file


def _keyring(places: Places) -> OsKeyring:
    """Only one that works is given a name of ours to keep things under."""
    backend, lock = system_keyring(), places.installation.with_suffix(".lock")
    if not OsKeyring(backend, _PROBED, lock).works():
        raise SecretsUnavailable(
            "the system's keyring does not keep what it is given",
            "Unlock it, or keep the secrets in a file: portico config set secrets.store age",
        )
    name = hashlib.sha256(kept_secret(places.installation).encode()).hexdigest()[:12]
    return OsKeyring(backend, f"portico {name}", lock)
