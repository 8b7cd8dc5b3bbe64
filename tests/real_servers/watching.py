"""Looks at a running gateway from outside: its memory, and the processes of its servers."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil

EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Sample:
    done: int
    """How many sessions were over by then."""
    resident: int
    """All memory that it has at hand."""
    own: int
    """Of that what is no file's: it does not change with who else runs the same program, as
    proportional and private memory do."""
    servers: int
    zombies: frozenset[int]


@dataclass(frozen=True, slots=True)
class Memory:
    resident: float
    own: float


@dataclass(slots=True)
class Watching:
    gateway: int
    mark: str
    """In the environment of every server that is started."""
    done: int = 0
    samples: list[Sample] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> Sample:
        gateway = psutil.Process(self.gateway)
        return Sample(
            done=self.done,
            resident=gateway.memory_info().rss,
            own=own_memory(self.gateway),
            servers=len(self.groups()),
            zombies=frozenset(dead(gateway)),
        )

    def groups(self) -> set[int]:
        """Process groups with a living member: also of servers whose gateway has lost sight."""
        return {group for group in map(self._group, psutil.pids()) if group is not None}

    def _group(self, pid: int) -> int | None:
        with suppress(OSError):
            if self.mark.encode() in Path(f"/proc/{pid}/environ").read_bytes():
                return os.getpgid(pid)
        return None

    def forever(self) -> None:
        while not self.over.is_set():
            self.samples.append(self.look())
            time.sleep(EVERY)

    @contextmanager
    def all_along(self) -> Iterator[None]:
        thread = threading.Thread(target=self.forever)
        thread.start()
        try:
            yield
        finally:
            self.over.set()
            thread.join()

    @property
    def most_servers(self) -> int:
        return max(sample.servers for sample in self.samples)

    def memory(self, begin: int, end: int) -> Memory:
        """Medians over the time in which so many sessions were over."""
        then = [sample for sample in self.samples if begin <= sample.done <= end]
        return Memory(
            median(sample.resident for sample in then),
            median(sample.own for sample in then),
        )


def dead(process: psutil.Process) -> Iterator[int]:
    with suppress(psutil.Error):
        for child in process.children(recursive=True):
            with suppress(psutil.Error):
                if child.status() == psutil.STATUS_ZOMBIE:
                    yield child.pid


def own_memory(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def eventually(holds: Callable[[], bool], patience: float = 60) -> bool:
    deadline = time.monotonic() + patience
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()
