"""What each test module costs: wall and processor time, its child processes included.

`--costs FILE` adds one JSON object each time a process leaves a module. A process that detaches
itself from its test is not counted.
"""

import json
import os
import resource
import time
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
import pytest

_COST: Final = "cost"


def _used_s() -> float:
    """Of this process and all below it, alive or reaped."""
    own = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    reaped = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    below = 0.0
    for process in psutil.Process(os.getpid()).children(recursive=True):
        try:
            below += sum(process.cpu_times()[:4])
        except psutil.Error:
            continue
    return own + reaped + below


@dataclass(slots=True)
class _Meter:
    wall_s: float = field(default_factory=time.monotonic)
    cpu_s: float = field(default_factory=_used_s)

    def read(self) -> tuple[float, float]:
        return time.monotonic() - self.wall_s, max(0.0, _used_s() - self.cpu_s)


@dataclass(slots=True)
class _Cost:
    wall_s: float = 0.0
    cpu_s: float = 0.0
    cases: int = 0


class Costs:
    """Measures in each process that runs tests, and adds up in the one that reports."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._meter: _Meter | None = None
        self._ends_module = False
        self._modules: dict[str, _Cost] = defaultdict(_Cost)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        self._meter = self._meter or _Meter()
        self._ends_module = nextitem is None or nextitem.path != item.path
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """The last test of a module carries the module's cost to the process that reports."""
        report = yield
        if report.when == "teardown" and self._ends_module and self._meter:
            report.user_properties.append((_COST, self._meter.read()))
            self._meter = None
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("::")[0]
        module = self._modules[name]
        module.cases += report.when == "call" or (report.when == "setup" and not report.passed)
        for key, value in report.user_properties:
            if key == _COST and isinstance(value, list | tuple):
                module.wall_s += value[0]
                module.cpu_s += value[1]
                self._write(name, module)

    def _write(self, name: str, cost: _Cost) -> None:
        wall_s, cpu_s = round(cost.wall_s, 2), round(cost.cpu_s, 2)
        found = {"module": name, "wall_s": wall_s, "cpu_s": cpu_s, "cases": cost.cases}
        if self._path is not None:
            with self._path.open("a") as lines:
                lines.write(json.dumps(found) + "\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", type=Path, help="add what each module costs to this file")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--costs")
    if path is not None:
        runs_tests_only = hasattr(config, "workerinput")
        config.pluginmanager.register(Costs(None if runs_tests_only else path), "portico-costs")
