"""A box with namespaces: files, processes and a network of its own, made by bubblewrap."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from pathlib import Path
from typing import Final

from portico.adapters.egress.dialer import Dialer
from portico.adapters.sandbox import interpreter, landlock_rules, mounts, network, system_view
from portico.adapters.sandbox.cell import OpenCell, opened
from portico.adapters.sandbox.cgroup import Groups
from portico.adapters.sandbox.grants import Bounds
from portico.adapters.sandbox.mounts import View
from portico.adapters.sandbox.network import Opening
from portico.adapters.sandbox.premises import LAUNCHING, Premises, Settled, folder_of
from portico.adapters.sandbox.rig import Rig
from portico.adapters.sandbox.runner import run_in
from portico.adapters.sandbox.seccomp import Filter
from portico.adapters.sandbox.task import Task
from portico.sandbox.core.errors import BadProfile, BoxUnavailable
from portico.sandbox.core.probes import Report
from portico.sandbox.core.profile import Limits, Order
from portico.sandbox.core.requests import Outcome

_AS_USER: Final = ("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL")
_AS_ROOT: Final = (
    *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"),
    *("--cap-add", "CAP_SETPCAP", "--cap-add", "CAP_NET_BIND_SERVICE"),
)
"""Without a namespace of users: in one, root would still be root to the count of processes. What
is added is for the launcher, which gives it up."""
_ALWAYS: Final = ("--die-with-parent", "--new-session", "--clearenv", "--as-pid-1")
_DEAF: Final = ("/bin/sh", "-c", 'trap "" TERM INT HUP QUIT; exec "$@"', "sh")
"""A signal for the group would end bubblewrap, and with it all inside without a word."""


class BubblewrapBox:
    """Implements `Box`."""

    def __init__(
        self,
        *,
        hidden: Sequence[Path],
        run_as: str,
        dialer: Dialer,
        report: Report,
        lent: Sequence[Path] = (),
        groups: Groups | None = None,
    ) -> None:
        self._premises = Premises(
            bounds=Bounds.of(hidden, lent), run_as=run_as, dialer=dialer, groups=groups
        )
        self._report = report

    @property
    def report(self) -> Report:
        return self._report

    def cell(self, order: Order, limits: Limits) -> AbstractAsyncContextManager[OpenCell]:
        return opened(lambda: self._prepared(order, limits))

    async def run(self, order: Order, limits: Limits, *, given: bytes = b"") -> Outcome:
        return await run_in(self.cell(order, limits), limits, given)

    def _prepared(self, order: Order, limits: Limits) -> OpenCell:
        """Raises `BadProfile`, `BoxUnavailable`."""
        premises = self._premises
        settled = premises.settle(order, limits)
        self._check(settled)
        home = order.environment.get("HOME", system_view.HOME)
        openings = network.openings(order.profile, low_ports=settled.account.switch)
        task = Task(
            order=order,
            environment={"HOME": home, **_proxy(openings), **order.environment},
            folder=folder_of(settled, home),
            limits=limits,
            others=premises.others(settled.account, shared=settled.account.switch),
            account=settled.account,
            rules=landlock_rules.in_namespaces(settled.grants, home),
            filter=Filter(namespaces=True, network=True, counted=premises.groups is not None),
            openings=openings,
        )
        premises.hand_over(settled)
        return self._cell(task, self._view(settled, home))

    def _check(self, settled: Settled) -> None:
        """What is covered up in a folder that may be changed can be moved away, and put there
        anew. Raises `BadProfile`."""
        bounds = self._premises.bounds
        for path in settled.writable:
            if inside := bounds.hidden_in(path):
                raise BadProfile(
                    f"{path!r} may be changed, and holds {inside[0]!r}, which is Portico's own",
                    fix="Give a folder in it, or let it be read alone.",
                )
        for grant in settled.grants:
            for hidden in bounds.hidden_in(grant.real):
                _check_cover(grant.real, hidden)

    def _view(self, settled: Settled, home: str) -> View:
        account, reach = settled.account, settled.order.profile.reach
        return View(
            grants=settled.grants,
            bounds=self._premises.bounds,
            home=home,
            real_home=settled.home,
            scratch=settled.limits.scratch,
            files={
                **system_view.accounts(account.uid, account.gid, home),
                "/etc/hosts": network.hosts_file(reach, system_view.NAME),
            },
            interpreter=interpreter.of_the_system(),
        )

    def _cell(self, task: Task, view: View) -> OpenCell:
        with ExitStack() as undo:
            rig = Rig(task.told(), undo)
            rights = _AS_ROOT if task.account.switch else _AS_USER
            command = [
                *(*_DEAF, _program(), *_ALWAYS, *rights),
                *("--hostname", system_view.NAME, *mounts.arguments(view, rig.descriptors), "--"),
                *view.interpreter.command(interpreter.LIBRARY_INSIDE, *rig.numbers),
            ]
            cell = OpenCell(
                command=command,
                environment=LAUNCHING,
                rig=rig,
                openings=task.openings,
                egress=self._premises.egress(task.order),
                group=self._premises.group(task.limits),
                namespaces=True,
                most_memory=task.limits.memory,
            )
            undo.pop_all()
        return cell


def _check_cover(path: str, hidden: str) -> None:
    """Nothing is put over what is not there yet; and a file comes out from under its cover when it
    is replaced by another, which is how settings are written. Raises `BadProfile`."""
    if not Path(hidden).exists():
        raise BadProfile(
            f"{path!r} will hold {hidden!r}, which is Portico's own and not there yet",
            fix=f"Give a folder in it; or, if that is to be a folder: mkdir -p -m 700 {hidden}",
        )
    if not Path(hidden).is_dir():
        raise BadProfile(
            f"{path!r} holds the file {hidden!r}, which is Portico's own",
            fix="Give a folder in it, or keep that file elsewhere.",
        )


def _proxy(openings: Sequence[Opening]) -> Mapping[str, str]:
    return network.told(openings[0].port) if openings else {}


def _program() -> str:
    found = shutil.which("bwrap")
    if found is None:
        raise BoxUnavailable("bubblewrap is not installed", fix="Install the package bubblewrap.")
    return found
