"""The folders of the embedded server: private, owned by its account, and never taken on trust."""

import hashlib
import re
import stat
import tempfile
from pathlib import Path
from typing import Final

from portico.adapters.postgres.account import Account
from portico.adapters.system.private_files import private_folder
from portico.engine.core.errors import StoreRefused

_LONGEST_SOCKET: Final = 100
"""An address of a socket holds 104 bytes on macOS and 108 on Linux."""
_PLAIN: Final = re.compile(r"[\w./+-]+")


def own_folder(folder: Path, account: Account) -> Path:
    """Made for `account` alone; one that exists must be so already. Raises `StoreRefused`."""
    if not folder.exists():
        private_folder(folder)
        account.owns(folder)
    check_private(folder, account)
    return folder


def check_private(folder: Path, account: Account) -> None:
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode):
        raise StoreRefused(f"{folder} is not a folder.", fix=f"Remove it: rm {folder}")
    if state.st_uid != account.uid:
        raise StoreRefused(
            f"{folder} belongs to another account than {account.name!r}.",
            fix=f"Give it back (chown {account.name} {folder}), or set another PORTICO_HOME.",
        )
    if stat.S_IMODE(state.st_mode) & 0o077:
        raise StoreRefused(
            f"Others can look into {folder}.",
            fix=f"Close it: chmod 700 {folder}, or: portico doctor --fix",
        )


def socket_folder(postgres: Path) -> Path:
    """Beside the data if the address is short and plain enough, else one with a short name.

    A comma would be read as two folders, and a quote as the end of one.
    """
    beside = postgres / "run"
    short = len(f"{beside}/.s.PGSQL.5432".encode()) <= _LONGEST_SOCKET
    if short and _PLAIN.fullmatch(str(beside)):
        return beside
    digest = hashlib.sha256(str(postgres).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"portico-{digest}"
