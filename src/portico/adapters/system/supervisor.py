"""The process that keeps a server up: starts it, starts it again when it dies, ends it when asked.

    python -P -m portico.adapters.system.supervisor ORDER COMMAND …

It loads next to nothing, does nothing else, and so has little to die of.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from portico.adapters.system.clock import SystemClock
from portico.adapters.system.pid_file import PidFile, how_it_died, last_line, last_words
from portico.engine.core.store import RestartLimits, in_a_row, pause
from portico.kernel.json import JsonObject, JsonValue

NOTE: Final = "supervisor"
WORDS: Final = "last-words"
"""What the server says on its standard error, of its last life only."""
GAVE_UP: Final = 75
"""An exit code that Python itself never ends with: whoever looks after us lets it be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorArgs:
    """What a supervisor is told on its command line."""

    folder: Path
    """Where it keeps its note."""
    log: Path | None
    """Where it writes a line when something happens."""
    url: str
    unsaved_settings: JsonObject = field(default_factory=dict)
    """Settings that a restart is to keep."""
    wait_timeout: RestartLimits = field(default_factory=RestartLimits)

    def written(self) -> str:
        log = None if self.log is None else str(self.log)
        return json.dumps(
            {
                "folder": str(self.folder),
                "log": log,
                "url": self.url,
                "kept": self.unsaved_settings,
                "patience": asdict(self.wait_timeout),
            }
        )

    @classmethod
    def read(cls, text: str) -> "SupervisorArgs":
        told = json.loads(text)
        return cls(
            folder=Path(told["folder"]),
            log=Path(told["log"]) if told["log"] else None,
            url=told["url"],
            unsaved_settings=told["kept"],
            wait_timeout=RestartLimits(**told["patience"]),
        )


class Supervisor:
    def __init__(self, order: SupervisorArgs, command: Sequence[str], note: PidFile) -> None:
        self._order = order
        self._command = command
        self._note = note
        self._clock = SystemClock()
        self._asked = False
        self._told: dict[str, JsonValue] = {
            "since": self._now(),
            "url": order.url,
            "kept": order.unsaved_settings,
            "state": "running",
            "restarts": 0,
            "deaths": 0,
            "died_at": None,
            "why": None,
            "words": None,
            "killed": False,
        }
        self._ear, self._mouth = os.pipe()

    def run(self) -> int:
        self._listen()
        while True:
            self._write(state="running")
            began = time.monotonic()
            code = self._one_life()
            wait = 0.0 if self._asked else self._mourn(code, time.monotonic() - began)
            if wait is None:
                return GAVE_UP
            self._rest(wait)
            if self._asked:
                self._write(state="ended")
                self._log("info", "the server was ended, as asked")
                return 0
            self._told["restarts"] = _number(self._told["restarts"]) + 1

    def _mourn(self, code: int | OSError, lived: float) -> float | None:
        """How long until the next one; None if there is none."""
        words, why = self._why(code)
        deaths = in_a_row(_number(self._told["deaths"]), lived, self._order.wait_timeout)
        wait = pause(deaths, self._order.wait_timeout)
        self._write(
            state="gave_up" if wait is None else "waiting",
            deaths=deaths,
            died_at=self._now(),
            why=why,
            words=words,
        )
        if wait is None:
            self._log("error", f"the server died {deaths} times in a row and is given up: {why}")
        else:
            self._log("error", f"the server died after {lived:.1f} s: {why}; again in {wait:g} s")
        return wait

    def _why(self, code: int | OSError) -> tuple[JsonObject | None, str]:
        """The error that it ended with, if it said one, and the reason in words."""
        if isinstance(code, OSError):
            return None, f"it cannot be started: {_reason(code)}"
        if words := last_words(self._words):
            return words, str(words["detail"])
        line = last_line(self._words) if code > 0 else None
        return None, f"{how_it_died(code)}: {line}" if line else how_it_died(code)

    def _one_life(self) -> int | OSError:
        """Starts the server and waits for its end. No memory for it, or a program that is being
        exchanged, is no reason for us to end."""
        try:
            child = self._born()
        except OSError as error:
            return error
        until: float | None = None
        while not _gone(child):
            if self._asked and until is None:
                child.terminate()
                until = time.monotonic() + self._order.wait_timeout.to_end
            if until is not None and time.monotonic() > until:
                child.kill()
                self._write(killed=True)
            self._hear(None if until is None else max(0.1, until - time.monotonic()))
        return child.wait()

    def _born(self) -> "subprocess.Popen[bytes]":
        with self._words.open("wb") as words:
            self._words.chmod(0o600)
            # In a group of its own: a Ctrl-C at our terminal is meant for us.
            return subprocess.Popen(  # noqa: S603 # what we were told to keep
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                process_group=0,
            )

    @property
    def _words(self) -> Path:
        return self._order.folder / WORDS

    def _listen(self) -> None:
        """Every signal leaves a byte in a pipe: none gets lost between looking and waiting."""
        for end in (self._ear, self._mouth):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._mouth, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._leave)

    def _leave(self, *_: object) -> None:
        self._asked = True

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._asked and (left := until - time.monotonic()) > 0:
            self._hear(left)

    def _hear(self, seconds: float | None) -> None:
        ready, _, _ = select.select([self._ear], [], [], seconds)
        if ready:
            with suppress(BlockingIOError):
                os.read(self._ear, 512)

    def _write(self, **changed: JsonValue) -> None:
        """A full disk is no reason to let the server die."""
        self._told.update(changed)
        with suppress(OSError):
            self._note.write(self._told)

    def _log(self, level: str, event: str) -> None:
        """A line like those of the server, in one write."""
        if self._order.log is None:
            return
        line = {"timestamp": self._now(), "level": level, "logger": "portico.supervisor"}
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with suppress(OSError):
            handle = os.open(self._order.log, flags, 0o600)
            try:
                os.write(handle, (json.dumps({**line, "event": event}) + "\n").encode())
            finally:
                os.close(handle)

    def _now(self) -> str:
        return self._clock.now().isoformat(timespec="milliseconds")


def _gone(child: "subprocess.Popen[bytes]") -> bool:
    """Whether it has ended. What it left behind in its group goes with it, before its pid can be
    anybody else's."""
    if child.returncode is None and hasattr(os, "waitid"):
        seen = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if seen is None:
            return False
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    return child.poll() is not None


def _reason(error: OSError) -> str:
    """Without the number, which says nothing to people."""
    what = error.strerror or type(error).__name__
    return what if error.filename is None else f"{what}: {error.filename}"


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def main() -> int:
    order = SupervisorArgs.read(sys.argv[1])
    note = PidFile(order.folder / NOTE)
    if not note.take():
        return 0  # another one keeps it up
    return Supervisor(order, sys.argv[2:], note).run()


if __name__ == "__main__":
    sys.exit(main())
