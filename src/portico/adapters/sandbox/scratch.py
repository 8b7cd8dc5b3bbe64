"""A folder that is there as long as a box is, where a box has no files of its own."""

import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from portico.adapters.sandbox.account import Account
from portico.adapters.sandbox.leavings import is_left, name_for
from portico.adapters.system.removing import remove_tree


def make(account: Account) -> Path:
    place = tempfile.gettempdir()
    sweep(place, account)
    folder = Path(place, name_for("home"))
    folder.mkdir(mode=0o700)
    home = folder / "home"
    home.mkdir(mode=0o700)
    if account.switch:
        for each in (home, folder):
            os.chown(each, account.uid, account.gid, follow_symlinks=False)
    return folder


@cache
def sweep(place: str, account: Account) -> None:
    """Once: of what is ours there, and of processes that were killed before they could do so."""
    ours = {os.geteuid(), account.uid}
    with suppress(OSError):
        left = [each for each in Path(place).iterdir() if is_left(each.name)]
        for each in left:
            if not each.is_symlink() and each.stat().st_uid in ours:
                remove_tree(each)
