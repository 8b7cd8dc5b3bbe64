"""A sandbox with namespaces: files, processes and a network of its own, made by bubblewrap."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.adapters.egress.dialer import Dialer
from portico.adapters.sandbox import folders, kernel_filters, runner, sandbox_process
from portico.adapters.sandbox.cgroup import Groups
from portico.adapters.sandbox.folders import Bounds, Grant, is_below
from portico.adapters.sandbox.kernel_filters import Filter
from portico.adapters.sandbox.runner import (
    LAUNCHING,
    Interpreter,
    Premises,
    Settled,
    Task,
    folder_of,
    run_in,
)
from portico.adapters.sandbox.sandbox_process import (
    Descriptors,
    Opening,
    OpenSandboxProcess,
    Rig,
    opened,
)
from portico.sandbox.core.errors import InvalidProfile, SandboxUnavailable
from portico.sandbox.core.probes import Report
from portico.sandbox.core.profile import Limits, SandboxCommand
from portico.sandbox.core.requests import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    grants: Sequence[Grant]
    bounds: Bounds
    home: str
    """As it is seen."""
    real_home: str | None
    scratch: int
    """Bytes."""
    files: Mapping[str, str]
    """That we write ourselves, by their paths."""
    interpreter: Interpreter


def arguments(view: View, descriptors: Descriptors) -> Sequence[str]:
    # What is further down has to come later, or it would be covered.
    placed = sorted(_placed(view), key=lambda each: each.path.count("/"))
    return [
        *_folders(runner.MODULES_INSIDE, *folders.SCRATCH, *folders.settings()),
        *_system(),
        *_own_files(view.files, descriptors),
        *("--proc", "/proc", "--dev", "/dev"),
        *(part for path in folders.SCRATCH for part in _empty(path, view.scratch)),
        *("--ro-bind", runner.HERE, runner.MODULES_INSIDE),
        *(part for each in placed for part in (*_folders(each.path), *each.arguments)),
        *(part for each in placed if each.sealed for part in ("--remount-ro", each.path)),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
    ]


@dataclass(frozen=True, slots=True)
class _Placed:
    path: str
    arguments: tuple[str, ...]
    sealed: bool = False
    """Nothing may be put there once all is in its place."""


def _system() -> Iterator[str]:
    for each in folders.folders():
        if isinstance(each, folders.Link):
            yield from ("--symlink", each.target, each.path)
        else:
            yield from ("--ro-bind", each, each)
    for path in folders.settings():
        yield from ("--ro-bind", path, path)


def _own_files(files: Mapping[str, str], descriptors: Descriptors) -> Iterator[str]:
    for path, content in files.items():
        number = descriptors.file(path, content.encode())
        yield from ("--perms", "0644", "--ro-bind-data", str(number), path)


def _folders(*paths: str) -> Iterator[str]:
    """Those that lead there. Left to itself, bubblewrap makes some that none but root may enter."""
    leading = {str(parent) for path in paths for parent in Path(path).parents}
    for folder in sorted(leading - {"/"}):
        if not any(is_below(folder, each) for each in folders.FOLDERS):
            yield from ("--perms", "0755", "--dir", folder)


def _empty(path: str, size: int) -> tuple[str, ...]:
    return ("--perms", "1777", "--size", str(size), "--tmpfs", path)


def _placed(view: View) -> Iterator[_Placed]:
    for folder in view.interpreter.folders:
        yield from _bound("--ro-bind", folder, folder, view.bounds)
    for grant in view.grants:
        kind = "--bind" if grant.writable else "--ro-bind"
        for path in _seen_at(grant, view.grants):
            yield from _bound(kind, grant.real, path, view.bounds)
    for system in (*folders.FOLDERS, *folders.SETTINGS):
        yield from _masks(system, system, view.bounds)
    if view.real_home is None:
        yield _Placed(view.home, _empty(view.home, view.scratch))
    else:
        yield from _bound("--bind", view.real_home, view.home, view.bounds)


def _seen_at(grant: Grant, grants: Sequence[Grant]) -> Iterator[str]:
    """Where it really is; and where it was named, unless a link in another one leads from there."""
    yield grant.real
    others = [*(each.real for each in grants if each is not grant), *folders.FOLDERS]
    if grant.path != grant.real and not any(is_below(grant.path, each) for each in others):
        yield grant.path


def _bound(kind: str, real: str, path: str, bounds: Bounds) -> Iterator[_Placed]:
    yield _Placed(path, (kind, real, path))
    yield from _masks(real, path, bounds)


def _masks(real: str, path: str, bounds: Bounds) -> Iterator[_Placed]:
    """Over what is hidden in a folder, wherever that is seen. What is lent can still be come to."""
    for hidden in bounds.hidden_in(real):
        place = path + hidden[len(real) :]
        if Path(hidden).is_dir():
            mask = ("--perms", "0111", "--size", "65536", "--tmpfs", place)
            yield _Placed(place, mask, sealed=True)
        elif Path(hidden).exists():
            yield _Placed(place, ("--ro-bind", "/dev/null", place))


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


class BubblewrapSandbox:
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

    def cell(
        self, order: SandboxCommand, limits: Limits
    ) -> AbstractAsyncContextManager[OpenSandboxProcess]:
        return opened(lambda: self._prepared(order, limits))

    async def run(self, order: SandboxCommand, limits: Limits, *, given: bytes = b"") -> Outcome:
        return await run_in(self.cell(order, limits), limits, given)

    def _prepared(self, order: SandboxCommand, limits: Limits) -> OpenSandboxProcess:
        """Raises `InvalidProfile`, `SandboxUnavailable`."""
        premises = self._premises
        settled = premises.settle(order, limits)
        self._check(settled)
        home = order.environment.get("HOME", folders.HOME)
        openings = sandbox_process.openings(order.profile, low_ports=settled.account.switch)
        task = Task(
            order=order,
            environment={"HOME": home, **_proxy(openings), **order.environment},
            folder=folder_of(settled, home),
            limits=limits,
            others=premises.others(settled.account, shared=settled.account.switch),
            account=settled.account,
            rules=kernel_filters.in_namespaces(settled.grants, home),
            filter=Filter(namespaces=True, network=True, counted=premises.groups is not None),
            openings=openings,
        )
        premises.hand_over(settled)
        return self._cell(task, self._view(settled, home))

    def _check(self, settled: Settled) -> None:
        """What is covered up in a folder that may be changed can be moved away, and put there
        anew. Raises `InvalidProfile`."""
        bounds = self._premises.bounds
        for path in settled.writable:
            if inside := bounds.hidden_in(path):
                raise InvalidProfile(
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
                **folders.accounts(account.uid, account.gid, home),
                "/etc/hosts": sandbox_process.hosts_file(reach, folders.NAME),
            },
            interpreter=runner.of_the_system(),
        )

    def _cell(self, task: Task, view: View) -> OpenSandboxProcess:
        with ExitStack() as undo:
            rig = Rig(task.told(), undo)
            rights = _AS_ROOT if task.account.switch else _AS_USER
            command = [
                *(*_DEAF, _program(), *_ALWAYS, *rights),
                *("--hostname", folders.NAME, *arguments(view, rig.descriptors), "--"),
                *view.interpreter.command(runner.LIBRARY_INSIDE, *rig.numbers),
            ]
            cell = OpenSandboxProcess(
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
    is replaced by another, which is how settings are written. Raises `InvalidProfile`."""
    if not Path(hidden).exists():
        raise InvalidProfile(
            f"{path!r} will hold {hidden!r}, which is Portico's own and not there yet",
            fix=f"Give a folder in it; or, if that is to be a folder: mkdir -p -m 700 {hidden}",
        )
    if not Path(hidden).is_dir():
        raise InvalidProfile(
            f"{path!r} holds the file {hidden!r}, which is Portico's own",
            fix="Give a folder in it, or keep that file elsewhere.",
        )


def _proxy(openings: Sequence[Opening]) -> Mapping[str, str]:
    return sandbox_process.told(openings[0].port) if openings else {}


def _program() -> str:
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxUnavailable(
            "bubblewrap is not installed", fix="Install the package bubblewrap."
        )
    return found
