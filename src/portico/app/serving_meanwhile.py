"""A server for as long as something takes: the one that runs, or one beside us that then ends."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryFile
from typing import BinaryIO, Final, NoReturn

from portico.adapters.system.bind_address import is_ready
from portico.app.ground import Ground
from portico.engine.core.store import Patience
from portico.interfaces.cli.errors import ServerNotStarted

_PATIENCE: Final = 300.0
"""Seconds: a database that was cut off may have much to bring in order."""
_ENDING: Final = Patience().to_end
_PAUSE: Final = 0.05
_LAST: Final = 12
"""Lines that are told of one that did not start."""


@contextmanager
def serving_meanwhile(ground: Ground) -> Iterator[bool]:
    ready = partial(_ready, ground)
    if ground.private_socket is None or ready():
        yield False  # where there is no private socket, whoever asks is told that nobody answers
        return
    with TemporaryFile() as said, _leaving_in_order() as leaving:
        process = subprocess.Popen(  # noqa: S603 # this program itself
            _command(ground),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,  # Ctrl-C is for us, and we end it
        )
        try:
            leaving.from_now_on()
            _wait_for(process, ready, said)
            yield True
        finally:
            _end(process)


class _Leaving:
    """Whoever closes our window, or asks us to end, is heeded as Ctrl-C is: nothing stays. Once: a
    window that is closed says so twice, and the end is not to be cut short."""

    def __init__(self) -> None:
        self._numbers = [
            number
            for name in ("SIGTERM", "SIGHUP")
            if (number := getattr(signal, name, None))
            and signal.getsignal(number) is signal.SIG_DFL
        ]
        self._asked: int | None = None
        self._at_once = False

    def listen(self) -> None:
        for number in self._numbers:
            signal.signal(number, self._heard)

    def _heard(self, number: int, _frame: object) -> None:
        self._set(signal.SIG_IGN)
        self._asked = number
        if self._at_once:
            self._leave(number)

    def from_now_on(self) -> None:
        """Until then it waits: who is being started is known to nobody yet."""
        self._at_once = True
        if self._asked is not None:
            self._leave(self._asked)

    def _leave(self, number: int) -> NoReturn:
        raise SystemExit(128 + number)

    def forget(self) -> None:
        self._set(signal.SIG_DFL)

    def _set(self, to: signal.Handlers) -> None:
        for number in self._numbers:
            signal.signal(number, to)


@contextmanager
def _leaving_in_order() -> Iterator[_Leaving]:
    leaving = _Leaving()
    leaving.listen()
    try:
        yield leaving
    finally:
        leaving.forget()


def _command(ground: Ground) -> Sequence[str]:
    chosen = [] if ground.config is None else ["--config", str(ground.config)]
    return [sys.executable, "-m", "portico", *chosen, "serve"]


def _ready(ground: Ground) -> bool:
    private = ground.private_socket
    return private is not None and is_ready(private, ground.loaded.settings.server.port)


def _wait_for(
    process: "subprocess.Popen[bytes]", ready: Callable[[], bool], said: BinaryIO
) -> None:
    until = time.monotonic() + _PATIENCE
    while not ready():
        if process.poll() is not None or time.monotonic() > until:
            raise ServerNotStarted(_told(said))
        time.sleep(_PAUSE)


def _told(said: BinaryIO) -> Sequence[str]:
    said.seek(0)
    return said.read().decode(errors="replace").strip().splitlines()[-_LAST:]


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(_ENDING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
