"""The folders of the embedded server: private, owned by its account, and never taken on trust."""

import stat
from pathlib import Path

from portico.adapters.postgres.account import Account
from portico.adapters.system.private_files import make_above
from portico.adapters.system.sockets import short_folder
from portico.engine.core.errors import StoreRefused


def own_folder(folder: Path, account: Account) -> Path:
    """Made for `account` alone; one that exists must be so already. Raises `StoreRefused`.

    Only a folder that we have just made is given away, never one that we find.
    """
    make_above(folder)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        check_private(folder, account)
    else:
        account.owns(folder)
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
    return short_folder(postgres / "run")
