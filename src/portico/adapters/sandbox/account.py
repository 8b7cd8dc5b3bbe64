"""Whom things in a box run as: never root, where that can be helped."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from portico.sandbox.core.errors import BoxUnavailable


@dataclass(frozen=True, slots=True)
class Account:
    uid: int
    gid: int
    switch: bool
    """Whether we are root, and it becomes somebody else."""

    def searches(self, folder: os.stat_result) -> bool:
        """Whether it gets through; of its groups it has its first one only."""
        if not self.switch:
            return True
        shift = 6 if folder.st_uid == self.uid else 3 if folder.st_gid == self.gid else 0
        return bool(folder.st_mode >> shift & 0o1)


def account_for(run_as: str) -> Account:
    """Raises `BoxUnavailable`."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switch=False)
    try:
        other = pwd.getpwnam(run_as)
    except KeyError:
        raise BoxUnavailable(
            f"there is no account {run_as!r} to run it as",
            fix=f"Make it, or name another one: useradd --system --no-create-home {run_as}; "
            "portico config set box.run_as NAME",
        ) from None
    if other.pw_uid == 0:
        raise BoxUnavailable(
            f"the account {run_as!r} is root itself",
            fix="Name an unprivileged account: portico config set box.run_as NAME",
        )
    if not _is_mapped("uid", other.pw_uid) or not _is_mapped("gid", other.pw_gid):
        # Root of a namespace of one account, which outside of it is none.
        return Account(0, 0, switch=False)
    return Account(other.pw_uid, other.pw_gid, switch=True)


def _is_mapped(kind: str, number: int) -> bool:
    lines = Path(f"/proc/self/{kind}_map").read_text(encoding="ascii").splitlines()
    ranges = (tuple(map(int, line.split())) for line in lines)
    return any(first <= number < first + length for first, _, length in ranges)
