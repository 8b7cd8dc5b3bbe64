"""Keep the server up on this machine, or only for as long as something takes."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Final, NoReturn

from portico.adapters.system.bind_address import is_ready
from portico.adapters.system.pid_file import held, last_note, living_note, send
from portico.adapters.system.supervisor import NOTE, SupervisorArgs
from portico.app.app_context import AppContext
from portico.engine.core.store import RestartLimits
from portico.interfaces.cli.errors import ServerNotStarted
from portico.interfaces.cli.services import (
    AtLogin,
    DoesNotEnd,
    Ended,
    NoBackground,
    Running,
    StartedBy,
    SupervisorStatus,
)
from portico.kernel.json import JsonObject

SERVER: Final = "server-"
"""What the note of a server is called, before its port."""
_ADDRESS: Final = ("server.host", "server.port")
_TO_END: Final = RestartLimits().to_end
_PAUSE: Final = 0.05
_LAST: Final = 10.0
"""Seconds in which a process that was killed is gone."""


@dataclass(frozen=True)
class AppSupervision:
    app: AppContext

    def servers(self) -> Sequence[Running]:
        return [running for _, running in self._living()]

    def keeper(self) -> SupervisorStatus | None:
        told = last_note(self._keepers_note)
        if told is None:
            return None
        words = told.get("words")
        return SupervisorStatus(
            pid=_whole(told, "pid"),
            alive=living_note(self._keepers_note) is not None,
            url=str(told["url"]),
            since=str(told["since"]),
            restarts=_whole(told, "restarts"),
            deaths=_whole(told, "deaths"),
            died_at=_text(told, "died_at"),
            why=_text(told, "why"),
            gave_up=told["state"] == "gave_up",
            unsaved_settings=_object(told["kept"]),
            words=_object(words) if words else None,
        )

    def start(self) -> "Launched":
        if sys.platform == "win32":
            raise NoBackground("Windows has no background that Portico could use.")
        _ = self.app.store.addresses  # one that was never set up would say so only later
        launched = subprocess.Popen(  # noqa: S603 # ourselves
            self.command(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        # It is waited for, should it end before us: nobody else may.
        threading.Thread(target=launched.wait, daemon=True).start()
        return Launched(launched)

    def stay(self) -> NoReturn:
        if sys.platform == "win32":
            raise NoBackground("Windows has no background that Portico could use.")
        command = self.command()
        os.execv(command[0], command)  # noqa: S606 # ourselves

    def command(self) -> list[str]:
        """Of a keeper. Not from the folder one is in, should there be something of the same
        name."""
        python = [sys.executable, "-P", "-m"]
        return [
            *python,
            "portico.adapters.system.supervisor",
            self._order.written(),
            *python,
            "portico",
            "--json",
            *_kept_config(self.app),
            "serve",
            "--started-by=up",
            *_flags(self.app),
        ]

    @property
    def _order(self) -> SupervisorArgs:
        loaded = self.app.loaded
        return SupervisorArgs(
            folder=self._folder,
            log=loaded.paths.log_file if loaded.settings.log.file else None,
            url=self.app.server_url,
            unsaved_settings=kept_address(self.app),
        )

    def end(self, progress: Callable[[str], None], *, only: str | None = None) -> Sequence[Ended]:
        served = [each for each in self.servers() if only in {None, each.url}]
        keeper = living_note(self._keepers_note)
        killed: set[int] = set()
        if keeper is not None and only in {None, keeper["url"]}:
            progress("asking the server to end")
            self._end(self._keepers_note, keeper, _TO_END + _LAST)
            after = last_note(self._keepers_note)
            if after is not None and after.get("killed"):
                killed |= {each.pid for each in served if each.started_by == "up"}
        for file, running in self._living():
            if only not in {None, running.url}:
                continue
            progress(f"asking process {running.pid} to end")
            told = living_note(file)
            if told is not None and self._end(file, told, _TO_END):
                killed.add(running.pid)
        return [
            Ended(
                pid=each.pid,
                url=each.url,
                started_by=each.started_by,
                killed=each.pid in killed,
            )
            for each in served
        ]

    def _end(self, note: Path, told: JsonObject, patience: float) -> bool:
        """Whether it had to be killed. Raises `DoesNotEnd`."""
        send(told, signal.SIGTERM)
        if _let_go(note, patience):
            return False
        send(told, signal.SIGKILL)
        if not _let_go(note, _LAST):
            raise DoesNotEnd(_whole(told, "pid"))
        return True

    async def settle(self) -> bool:
        from portico.engine.core.errors import StoreUnavailable
        from portico.kernel.errors import PorticoError

        try:
            return await self.app.store.settle()
        except StoreUnavailable:
            raise
        except PorticoError:  # one that was never set up has nothing that runs
            return False

    def at_login(self) -> AtLogin:

        from portico.app.autostart import at_login

        return at_login(self.app)

    def write_at_login(self) -> bool:
        from portico.adapters.system.autostart_units import switched
        from portico.adapters.system.files import write_private

        unit = self.at_login()
        write_private(unit.file, unit.text)
        return switched(unit.switch_on)

    def remove_at_login(self) -> bool:
        from portico.adapters.system.autostart_units import switched

        unit = self.at_login()
        if not unit.file.exists():
            return False
        switched(unit.switch_off)
        unit.file.unlink(missing_ok=True)
        return True

    @property
    def _folder(self) -> Path:
        return notes_folder(self.app)

    @property
    def _keepers_note(self) -> Path:
        return self._folder / NOTE

    def _living(self) -> Sequence[tuple[Path, Running]]:
        notes = sorted(each.with_suffix("") for each in self._folder.glob(f"{SERVER}*.json"))
        told = [(file, living_note(file)) for file in notes]
        return [(file, _running(note)) for file, note in told if note is not None]


@dataclass(frozen=True)
class Launched:
    process: "subprocess.Popen[bytes]"

    @property
    def gone(self) -> bool:
        return self.process.poll() is not None


def notes_folder(ground: AppContext) -> Path:
    return ground.loaded.paths.data / "server"


def kept_address(ground: AppContext) -> JsonObject:
    """What of the address no file says: whoever starts it again may not have it."""
    loaded = ground.loaded
    values: JsonObject = {
        "server.host": loaded.settings.server.host,
        "server.port": loaded.settings.server.port,
    }
    said = {path for path in _ADDRESS if loaded.origin(path).text.startswith(("env", "flag"))}
    return {path: values[path] for path in _ADDRESS if path in said}


def _flags(ground: AppContext) -> list[str]:
    named = {path.partition(".")[2]: value for path, value in ground.flags.items()}
    return [f"--{name}={value}" for name, value in named.items() if value is not None]


def _kept_config(ground: AppContext) -> list[str]:
    """The file that was named to us is named to the server too; the environment it inherits."""
    return [] if ground.config is None else [f"--config={ground.config.absolute()}"]


def _let_go(note: Path, patience: float) -> bool:
    """A process that has ended holds nothing, even while nobody has noticed its end."""
    until = time.monotonic() + patience
    while held(note):
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE)
    return True


def _running(told: JsonObject) -> Running:
    by: StartedBy = "up" if told["started_by"] == "up" else "terminal"
    return Running(
        pid=_whole(told, "pid"),
        url=str(told["url"]),
        since=str(told["since"]),
        started_by=by,
        unsaved_settings=_object(told.get("kept")),
    )


def _whole(told: JsonObject, name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0


def _text(told: JsonObject, name: str) -> str | None:
    value = told.get(name)
    return None if value is None else str(value)


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


_PATIENCE: Final = 300.0
"""Seconds: a database that was cut off may have much to bring in order."""
_ENDING: Final = RestartLimits().to_end
_MEANWHILE_LAST: Final = 12
"""Lines that are told of one that did not start."""


@contextmanager
def serving_meanwhile(ground: AppContext) -> Iterator[bool]:
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


def _command(ground: AppContext) -> Sequence[str]:
    chosen = [] if ground.config is None else ["--config", str(ground.config)]
    return [sys.executable, "-m", "portico", *chosen, "serve"]


def _ready(ground: AppContext) -> bool:
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
    return said.read().decode(errors="replace").strip().splitlines()[-_MEANWHILE_LAST:]


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(_ENDING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
