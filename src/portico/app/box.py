"""The box of this machine: looked for once, tried, and offered to whoever runs strangers' code."""

import asyncio
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from portico.adapters.egress.dialer import Dialer
from portico.adapters.sandbox.availability import lack_of
from portico.adapters.sandbox.bubblewrap import BubblewrapSandbox
from portico.adapters.sandbox.cgroup import Groups, find_groups
from portico.adapters.sandbox.folders import Bounds, Reserved
from portico.adapters.sandbox.landlock import LandlockSandbox
from portico.adapters.sandbox.probes.attempts import CanaryAttempts, situation
from portico.adapters.sandbox.server_processes import (
    ConfinedServerProcesses,
    Looking,
    SandboxServerConfinement,
)
from portico.adapters.system.files import short_folder
from portico.adapters.system.removing import remove_tree
from portico.app.app_context import AppContext
from portico.sandbox.core.errors import SandboxUnavailable
from portico.sandbox.core.probes import Backend, Report
from portico.sandbox.core.profile import Limits
from portico.sandbox.probes import SelfTest
from portico.sandbox.requests import Sandbox
from portico.settings.load import process_environment

_log: Final = logging.getLogger("portico.sandbox")
_WAY_OUT: Final = logging.getLogger("portico.web")
_KINDS: Final[Mapping[Backend, type[BubblewrapSandbox] | type[LandlockSandbox]]] = {
    Backend.BUBBLEWRAP: BubblewrapSandbox,
    Backend.LANDLOCK: LandlockSandbox,
}
_MEGABYTE: Final = 1_000_000
_AGAIN: Final = 30.0
"""Seconds after which a box that failed is tried again."""
_PACKAGE: Final = Path(__file__).parents[1]


@dataclass(slots=True)
class Sandboxes:
    """Tried when the first one asks, or before; whoever comes meanwhile waits."""

    app: AppContext
    reports: Sequence[Report] | None = None
    """Of those that were tried; None while that goes on."""
    _offered: Sandbox | None = None
    _tried_at: float = 0.0
    _lacking: set[Backend] = field(default_factory=set)
    _trying: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def find(self) -> Sandbox:
        """The first that let nothing out. Raises `SandboxUnavailable`."""
        async with self._trying:
            if self.reports is None or self._is_to_be_tried_again():
                self._offered, self.reports = await self._tried()
                self._tried_at = time.monotonic()
        if self._offered is None:
            raise _unavailable(self.reports)
        return self._offered

    def lacks(self) -> bool:
        """Whether this machine has no box at all; not, whether one has just failed, or was found
        not to hold."""
        wanted = set(self._wanted)
        return self.reports is not None and bool(wanted) and wanted == self._lacking

    def _is_to_be_tried_again(self) -> bool:
        """What failed may have been a moment of too much to do."""
        waited = time.monotonic() - self._tried_at
        return self._offered is None and not self.lacks() and waited > _AGAIN

    async def try_out(self) -> None:
        """So that it is known which one there is, before anybody needs it."""
        with suppress(SandboxUnavailable):
            await self.find()

    async def _tried(self) -> tuple[Sandbox | None, Sequence[Report]]:
        reports: list[Report] = []
        self._lacking.clear()
        for backend in self._wanted:
            box = await asyncio.to_thread(self._made, backend)
            if box.report.missing is not None:
                self._lacking.add(backend)
            report = box.report if box.report.missing is not None else await self._probed(box)
            _tell(report)
            reports.append(report)
            if report.offered:
                return await asyncio.to_thread(self._made, backend, report), reports
        return None, reports

    @property
    def _wanted(self) -> Sequence[Backend]:
        named = self.app.loaded.settings.box.backend
        return [each for each in Backend if named in {"auto", each.value}]

    async def _probed(self, box: Sandbox) -> Report:
        folder = await asyncio.to_thread(_reachable_folder)
        attempts = CanaryAttempts(folder, run_as=self.app.loaded.settings.box.run_as)
        try:
            with _nothing_said(_WAY_OUT):  # what the probes are refused is no news
                [report] = await SelfTest(attempts=attempts, situation=situation())([box])
        finally:
            await asyncio.to_thread(remove_tree, folder)
        return report

    def _made(self, backend: Backend, report: Report | None = None) -> Sandbox:
        groups = find_groups()
        if report is None:
            lack = lack_of(backend, run_as=self.app.loaded.settings.box.run_as)
            report = Report(
                backend=backend,
                missing=None if lack is None else lack.reason,
                fix=None if lack is None else lack.fix,
                cgroup=groups is not None,
            )
        return self._box(report, groups)

    def _box(self, report: Report, groups: Groups | None) -> Sandbox:
        paths = self.app.loaded.paths
        return _KINDS[report.backend](
            hidden=own_places(self.app),
            lent=[paths.homes, paths.workspaces],
            run_as=self.app.loaded.settings.box.run_as,
            dialer=Dialer(),
            report=report,
            groups=groups,
        )

    def walls(self) -> SandboxServerConfinement:
        paths = self.app.loaded.paths
        return SandboxServerConfinement(
            find=self.find,
            lacks=self.lacks,
            looking=self._looking(),
            bounds=Bounds.of(own_places(self.app), [paths.homes, paths.workspaces]),
            named=self.app.loaded.settings.box.unboxed,
        )

    def cells(self) -> ConfinedServerProcesses:
        settings = self.app.loaded.settings.box
        return ConfinedServerProcesses(
            find=self.find,
            lacks=self.lacks,
            looking=self._looking(),
            homes=self.app.loaded.paths.homes,
            limits=Limits(memory=settings.memory_mb * _MEGABYTE, processes=settings.processes),
            named=settings.unboxed,
        )

    def _looking(self) -> Looking:
        hidden = tuple(os.path.realpath(each) for each in own_places(self.app))
        program = tuple(os.path.realpath(each) for each in (sys.prefix, _PACKAGE))
        return Looking(Reserved(str(Path.home()), hidden, program), process_environment())


def own_places(ground: AppContext) -> Sequence[Path]:
    """What nobody else is shown: our settings and keys, our data, our logs, our sockets."""
    paths = ground.loaded.paths
    named = [] if ground.config is None else [ground.config.absolute()]
    sockets = [short_folder(folder) for folder in (paths.data / "server", paths.postgres / "run")]
    return [paths.config, paths.data, paths.state, *sockets, *named]


def _reachable_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="portico-probes-"))
    folder.chmod(0o711)
    return folder


@contextmanager
def _nothing_said(logger: logging.Logger) -> Iterator[None]:
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


def _unavailable(reports: Sequence[Report]) -> SandboxUnavailable:
    if not reports:
        return SandboxUnavailable(
            "the setting box.backend is none", fix="portico config set box.backend auto"
        )
    for report in reports:
        if report.missing is None:
            names = ", ".join(probe.name for probe in report.escapes)
            return SandboxUnavailable(f"{report.backend} does not hold: {names}")
    last = reports[-1]
    return SandboxUnavailable(f"{last.backend}: {last.missing}", fix=last.fix)


def _tell(report: Report) -> None:
    if report.offered:
        _log.info("the box %s stood all of %d probes", report.backend, len(report.probes))
    elif report.missing is not None:
        _log.warning("the box %s cannot be used here: %s", report.backend, report.missing)
    else:
        names = ", ".join(probe.name for probe in report.escapes)
        _log.error("the box %s is not used, because it does not hold: %s", report.backend, names)
