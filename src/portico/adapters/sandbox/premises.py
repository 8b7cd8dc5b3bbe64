"""What both kinds of box are built on, and what they make of an order in the same way."""

import itertools
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.adapters.egress.dialer import Dialer
from portico.adapters.egress.proxy import Egress
from portico.adapters.sandbox import network
from portico.adapters.sandbox.account import Account, account_for
from portico.adapters.sandbox.cgroup import Group, Groups
from portico.adapters.sandbox.grants import Bounds, Grant, granted, home_of, is_below
from portico.adapters.sandbox.leavings import name_for
from portico.sandbox.core.errors import BadProfile, BoxUnavailable
from portico.sandbox.core.profile import Limits, Order

_COUNTED: Final = itertools.count(1)
_FIRST_NAMESPACE: Final = 0xEFFF_FFFD
"""Of users: the kernel gives it this number on every machine."""
_PLENTY: Final = 1_000_000
_KEEPERS: Final = 3
"""Processes of ours in a box, which count as well."""
LAUNCHING: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
"""The environment of what is started out here, before there is a box."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """An order that can be met: what it names is there, and may be given."""

    order: Order
    limits: Limits
    account: Account
    grants: Sequence[Grant]
    home: str | None
    """The real folder that becomes its home, if it is one."""

    @property
    def writable(self) -> Sequence[str]:
        own = [each.real for each in self.grants if each.writable]
        return own if self.home is None else [*own, self.home]


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    bounds: Bounds
    run_as: str
    dialer: Dialer
    groups: Groups | None

    def settle(self, order: Order, limits: Limits) -> Settled:
        """Raises `BadProfile`, `BoxUnavailable`."""
        check_order(order)
        return Settled(
            order=order,
            limits=limits,
            account=account_for(self.run_as),
            grants=granted(order, self.bounds),
            home=home_of(order, self.bounds),
        )

    def egress(self, order: Order, *, token: str | None = None) -> Egress | None:
        profile = order.profile
        if not network.is_online(profile):
            return None
        return Egress(profile.network, profile.reach, dialer=self.dialer, token=token)

    def group(self, limits: Limits) -> Group | None:
        """Raises `BoxUnavailable`."""
        if self.groups is None:
            return None
        name = name_for(next(_COUNTED))
        processes = limits.processes + _KEEPERS
        try:
            return self.groups.make(name, memory=limits.memory, processes=processes)
        except OSError as error:
            reason = f"no control group could be made: {error.strerror}"
            raise BoxUnavailable(reason) from error

    def others(self, account: Account, *, shared: bool) -> int:
        """How many processes its account may have besides those of the order. Where the kernel
        counts each box, it does not matter whose they are."""
        if not shared:
            return _KEEPERS
        return _PLENTY if self.groups is not None else _KEEPERS + processes_of(account.uid)

    def hand_over(self, settled: Settled) -> None:
        """Folders of ours, to the account that it will run as."""
        account = settled.account
        for path in settled.writable:
            if account.switch and self.bounds.is_lent(path):
                os.chown(path, account.uid, account.gid, follow_symlinks=False)


def check_order(order: Order) -> None:
    """Raises `BadProfile`."""
    texts = (order.program, *order.arguments, *order.environment, *order.environment.values())
    if any("\0" in text for text in texts):
        raise BadProfile("a program's name, arguments and environment hold no NUL")
    if not order.program.startswith("/"):
        raise BadProfile(f"{order.program!r} is not the whole path of a program")


def folder_of(settled: Settled, home: str) -> str:
    """Where it begins, as it is seen inside, with its home at `home`. Raises `BadProfile`."""
    order = settled.order
    if order.folder is None:
        return home
    folder = os.path.normpath(order.folder)
    if order.home is not None and is_below(folder, order.home.rstrip("/")):
        return home + folder[len(order.home.rstrip("/")) :]
    seen = [path for each in settled.grants for path in (each.path, each.real)]
    if any(is_below(folder, path) for path in (*seen, home)):
        return folder
    raise BadProfile(f"it is to begin in {order.folder!r}, which it may not see")


def processes_of(uid: int) -> int:
    """Threads among them, as the kernel counts: in a namespace of users only those that are in
    it, of which we can see where they are."""
    own = Path("/proc/self/ns/user").stat().st_ino
    processes = [each for each in Path("/proc").iterdir() if each.name.isdigit()]
    if own != _FIRST_NAMESPACE:
        processes = [each for each in processes if _is_in(each, own)]
    return sum(_threads(each, uid) for each in processes)


def _is_in(process: Path, namespace: int) -> bool:
    try:
        return (process / "ns" / "user").stat().st_ino == namespace
    except OSError:
        return False


def _threads(process: Path, uid: int) -> int:
    try:
        if process.stat().st_uid != uid:
            return 0
        after_the_name = (process / "stat").read_bytes().rpartition(b")")[2]
        return int(after_the_name.split()[17])
    except OSError:
        return 0


def check_reach(path: str, account: Account) -> None:
    """Without files of its own it walks there as anybody does. Raises `BadProfile`."""
    for folder in Path(path).parents:
        found = folder.stat()
        if stat.S_ISDIR(found.st_mode) and not account.searches(found):
            raise BadProfile(
                f"{path!r} is in {str(folder)!r}, which the account that it runs as may not enter"
            )
