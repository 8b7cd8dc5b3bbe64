"""Which files of Portico a running server enters meanwhile: a server is started with `plant`."""

import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import portico
from tests.forks import Forked
from tests.real_servers.watching import eventually

SOURCE = str(Path(portico.__file__).parent)


@dataclass
class Entered:
    folder: Path
    """Where the server writes what it entered."""

    @property
    def plant(self) -> Callable[[], None]:
        return functools.partial(_plant, self.folder)

    @contextmanager
    def during(self, server: Forked, files: set[str]) -> Iterator[None]:
        """Adds the files to `files`."""
        self._said(server, signal.SIGUSR1, "began")
        yield
        files |= set(self._said(server, signal.SIGUSR2, "entered").splitlines())

    def _said(self, server: Forked, number: signal.Signals, name: str) -> str:
        path = self.folder / name
        path.unlink(missing_ok=True)
        os.kill(server.pid, number)
        assert eventually(path.exists)
        return path.read_text()


@dataclass
class Record:
    folder: Path
    on: bool = False
    files: set[str] = field(default_factory=set)

    def begin(self, *_: object) -> None:
        self.files.clear()
        self.on = True
        sys.setprofile(self.note)
        self.write("began", "")

    def end(self, *_: object) -> None:
        self.on = False
        sys.setprofile(None)
        self.write("entered", "\n".join(sorted(self.files)))

    def note(self, frame: FrameType, event: str, _: object) -> None:
        if self.on and event == "call":
            code = frame.f_code
            if code.co_filename.startswith(SOURCE) and code.co_name != "<module>":
                self.files.add(code.co_filename.removeprefix(SOURCE))

    def write(self, name: str, text: str) -> None:
        draft = self.folder / f"{name}.draft"
        draft.write_text(text)
        draft.rename(self.folder / name)


def _plant(folder: Path) -> None:
    record = Record(folder)
    threading.setprofile(record.note)
    signal.signal(signal.SIGUSR1, record.begin)
    signal.signal(signal.SIGUSR2, record.end)
