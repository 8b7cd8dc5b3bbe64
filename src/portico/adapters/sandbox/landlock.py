"""A box without namespaces: the files, processes and network of this machine, out of reach."""

import secrets
import socket
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from portico.adapters.egress.dialer import Dialer
from portico.adapters.sandbox import folders, kernel_filters, runner, sandbox_process
from portico.adapters.sandbox.cgroup import Groups
from portico.adapters.sandbox.folders import Bounds
from portico.adapters.sandbox.kernel_filters import Filter
from portico.adapters.sandbox.runner import (
    LAUNCHING,
    Premises,
    Settled,
    Task,
    check_reach,
    folder_of,
    run_in,
)
from portico.adapters.sandbox.sandbox_process import OpenSandboxProcess, Rig, opened
from portico.adapters.system.removing import remove_tree
from portico.sandbox.core.errors import InvalidProfile
from portico.sandbox.core.probes import Report
from portico.sandbox.core.profile import Limits, Network, SandboxCommand
from portico.sandbox.core.requests import Outcome

_APART: Final = "Install bubblewrap, or let it reach the public network: --network public."
"""Landlock knows the proxy's port, and not its address."""


class LandlockSandbox:
    """Implements `Box`. Its only way out is the proxy, on a port of this machine that others see
    too; a token keeps them from it."""

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
        settled = self._premises.settle(order, limits)
        self._check(settled)
        self._premises.hand_over(settled)
        with ExitStack() as undo:
            folder = runner.make(settled.account)
            undo.callback(remove_tree, folder)
            cell = self._cell(settled, folder, undo)
            undo.pop_all()
        return cell

    def _check(self, settled: Settled) -> None:
        """There is no covering up here: what is in a folder is seen, and who may connect to one
        place may connect to others. Raises `InvalidProfile`."""
        profile = settled.order.profile
        if profile.reach and profile.network is Network.NONE:
            raise InvalidProfile(
                "without namespaces single places cannot be held apart from others", fix=_APART
            )
        bounds = self._premises.bounds
        named = [*(each.real for each in settled.grants), *settled.writable]
        for path in (*named, *folders.FOLDERS, *folders.SETTINGS):
            if inside := bounds.hidden_in(path):
                raise InvalidProfile(f"{path!r} holds {inside[0]!r}, which is Portico's own")
        for path in named:
            check_reach(path, settled.account)

    def _cell(self, settled: Settled, folder: Path, undo: ExitStack) -> OpenSandboxProcess:
        order, counted = settled.order, self._premises.groups is not None
        home = settled.home or str(folder / "home")
        way = _Way.out(order, undo)
        task = Task(
            order=order,
            environment={**order.environment, "HOME": home, "TMPDIR": str(folder), **way.told()},
            folder=folder_of(settled, home),
            limits=settled.limits,
            others=self._premises.others(settled.account, shared=True),
            account=settled.account,
            rules=kernel_filters.without(settled.grants, home, str(folder), way.ports),
            filter=Filter(namespaces=False, network=bool(way.ports), counted=counted),
        )
        rig = Rig(task.told(), undo)
        return OpenSandboxProcess(
            command=runner.own().command(runner.LIBRARY, *rig.numbers),
            environment=LAUNCHING,
            rig=rig,
            openings=(),
            egress=self._premises.egress(order, token=way.token),
            here=way.listener,
            group=self._premises.group(settled.limits),
            namespaces=False,
            most_memory=settled.limits.memory,
            clean_up=partial(remove_tree, folder),
        )


@dataclass(frozen=True, slots=True)
class _Way:
    """Where its proxy listens, on this machine's own loopback; and the word that opens it."""

    listener: socket.socket | None
    token: str | None

    @classmethod
    def out(cls, order: SandboxCommand, undo: ExitStack) -> "_Way":
        if not sandbox_process.is_online(order.profile):
            return cls(None, None)
        listener = undo.enter_context(socket.create_server(("127.0.0.1", 0), backlog=128))
        return cls(listener, secrets.token_urlsafe(24))

    @property
    def ports(self) -> Sequence[int]:
        return [] if self.listener is None else [self.listener.getsockname()[1]]

    def told(self) -> Mapping[str, str]:
        ports = self.ports
        return sandbox_process.told(ports[0], token=self.token, direct=False) if ports else {}
