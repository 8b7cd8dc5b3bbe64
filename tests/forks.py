"""Processes as forks of one that has read the program already: a server starts in a third of its
processor time. What reading it costs, and that it works, `tests/installed` shows.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import forkserver, resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

FORKS: Final = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "portico.interfaces.cli.app",
        "portico.interfaces.http.app",
        "portico.interfaces.mcp.bridge.server",
        "portico.interfaces.mcp.debate.server",
        "portico.app.agents",
        "portico.app.bridge",
        "portico.app.debates",
        "portico.app.cli_services",
        "portico.app.serve",
        "portico.app.use_cases",
        "tests.forks",
        "tests.storm.worker",
        "tests.storm.approving",
        "tests.storm.plan_worker",
        "tests.storm.agent_worker",
        "tests.storm.debate_worker",
    ]
)


def keepers() -> set[int]:
    """The process that forks, and the one that keeps account for it: they end when we do. There is
    no public way to ask for them."""
    forks, accounts = forkserver._forkserver, resource_tracker._resource_tracker
    found = (getattr(forks, "_forkserver_pid", None), getattr(accounts, "_pid", None))
    return {pid for pid in found if pid is not None}


class Forked:
    """As much of `subprocess.Popen` as tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        out: Path,
        err: Path,
        *,
        plant: Callable[[], None] | None = None,
    ) -> None:
        """`plant` takes a safeguard out of it, for a test that shows what it is for."""
        self._process: BaseProcess = FORKS.Process(
            target=_portico,
            args=(list(arguments), dict(environment), folder, out, err),
            kwargs={"plant": plant},
            daemon=True,
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if (code := self.returncode) is None:
            raise subprocess.TimeoutExpired("portico", timeout or 0)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self.wait()


def _portico(
    arguments: list[str],
    environment: dict[str, str],
    folder: Path,
    out: Path,
    err: Path,
    *,
    plant: Callable[[], None] | None,
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, path in enumerate((Path(os.devnull), out, err)):
        opened = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [str(Path(sys.executable).with_name("portico")), *arguments]
    from portico.__main__ import main

    if plant is not None:
        plant()
    main()
