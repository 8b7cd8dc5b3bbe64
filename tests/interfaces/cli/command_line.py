"""Commands, run in this process: at a pipe, on a screen, or by a person at a real terminal."""

import io
import json
import os
import re
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from portico.interfaces.cli.app import run
from tests.interfaces.cli.house import ScriptedHouse
from tests.interfaces.cli.screen import TtyText, a_screen
from tests.interfaces.cli.scripted_server import ScriptedServer, answering

Answers = Mapping[str, Any]

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


@dataclass(frozen=True)
class Outcome:
    """What a command ended with, what it printed, and what it asked the server."""

    code: int
    out: str
    err: str
    server: ScriptedServer | None

    @property
    def json(self) -> Any:
        """What a program reads: one JSON value, and nothing beside it."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """What a program reads of a failure."""
        return json.loads(self.err)["error"]

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.lines]

    @property
    def asked(self) -> list[tuple[str, Any]]:
        return self.server.asked if self.server else []

    @property
    def url(self) -> str:
        assert self.server
        return self.server.url

    @property
    def routes(self) -> list[str]:
        return [route for route, _ in self.asked]

    @property
    def sent(self) -> list[Any]:
        """The bodies of all that was not only looked at."""
        return [body for route, body in self.asked if not route.startswith("GET")]

    @property
    def addresses(self) -> list[str]:
        return self.server.addresses if self.server else []

    @property
    def heads(self) -> list[Mapping[str, str]]:
        return self.server.heads if self.server else []


class CommandLine:
    """Runs commands on one scripted house, against a server that says what it is told to."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.root = root
        self.house = ScriptedHouse(root)
        self.key_file = self.house.whereabouts().key_file
        self.key_file.write_text("ptc_mine")
        self.known_as: Literal["remote", "server_url"] | None = "remote"
        """As what the house knows the address of the server."""

    def __call__(
        self,
        command: str,
        answers: Answers | None = None,
        *,
        typed: str | None = None,
        piped: str | None = None,
        screen: int | None = None,
        late: bool = False,
    ) -> Outcome:
        """`typed`: by a person; `piped`: at standard input; `screen`: output of so many columns.

        Without answers there is no server; `late`: it is still starting. `{url}` in what is said
        is its address.
        """
        with (
            pytest.MonkeyPatch.context() as patch,
            nullcontext() if answers is None else answering(answers, late=late) as server,
        ):
            url = server.url if server else ""
            if piped is not None:
                patch.setattr("sys.stdin", io.StringIO(piped.replace("{url}", url)))
            if typed is not None:
                patch.setattr("sys.stdin", TtyText(typed))
            shown = None if screen is None else a_screen(patch)
            if screen is not None:
                patch.setenv("COLUMNS", str(screen))
                patch.setenv("LINES", "25")
            if server and self.known_as:
                setattr(self.house, self.known_as, url)
            code = run(self.house, shlex.split(command.replace("{url}", url)))
        said = self._capsys.readouterr()
        return Outcome(code, said.out if shown is None else shown.getvalue(), said.err, server)

    def watched(
        self,
        command: str,
        answers: Answers,
        *steps: "Step",
        held: str | None = None,
        leave: str = "",
        drawn: bool = False,
        read_first: float = 0.0,
    ) -> Outcome:
        """By a person who does these steps, and types `leave` at the end.

        `held`: what that route streams is not over before the steps are; `drawn`: on a terminal
        that can draw anew; `read_first`: for so long a key that answers counts for nothing.
        """
        over, ended = threading.Event(), threading.Event()
        failed: list[BaseException] = []
        if held is not None:
            answers[held].open_until = over
        with (
            pytest.MonkeyPatch.context() as patch,
            answering(answers) as server,
            _at_a_terminal(patch, server) as person,
        ):
            self.house.remote = server.url
            patch.setattr("portico.interfaces.cli.approval_watch._READ_FIRST", read_first)
            for name, value in _DRAWING.items() if drawn else ():
                patch.setenv(name, value)

            def acting() -> None:
                try:
                    person.does(*steps)
                except AssertionError as error:
                    failed.append(error)
                finally:
                    over.set()
                    person.types(leave)
                while failed and not ended.wait(1):
                    interrupt(person)

            thread = threading.Thread(target=acting)
            thread.start()
            code = run(self.house, shlex.split(command))
            ended.set()
            thread.join()
            text = person.screen.getvalue()
        assert not failed, failed
        return Outcome(code, _CONTROL.sub("", text) if drawn else text, "", server)

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


_DRAWING = {"TERM": "xterm", "COLUMNS": "80", "LINES": "30"}


@dataclass(frozen=True)
class Types:
    text: str


@dataclass
class Person:
    """Looks at the screen, and types."""

    screen: TtyText
    keyboard: int
    server: ScriptedServer

    def does(self, *steps: "Step") -> None:
        """A text is waited for, or so many of it."""
        for step in steps:
            match step:
                case str():
                    self.sees(step)
                case (str(text), int(times)):
                    self.sees(text, times)
                case Types(text):
                    self.types(text)
                case _:
                    assert callable(step)
                    step(self)

    def sees(self, text: str, times: int = 1) -> None:
        self.waits_until(lambda: self.screen.getvalue().count(text) >= times)

    def types(self, text: str) -> None:
        os.write(self.keyboard, text.encode())

    def waits_until(self, true: Callable[[], bool]) -> None:
        until = time.monotonic() + 20
        while not true():
            assert time.monotonic() < until, (self.screen.getvalue(), self.server.asked)
            time.sleep(0.005)


Step = str | tuple[str, int] | Types | Callable[[Person], object]


def interrupt(_: Person) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def posted(count: int) -> Step:
    """Waits until so much was."""

    def waits(person: Person) -> None:
        asked = person.server.asked
        person.waits_until(lambda: sum(it.startswith("POST") for it, _ in asked) >= count)

    return waits


@contextmanager
def _at_a_terminal(patch: pytest.MonkeyPatch, server: ScriptedServer) -> Iterator[Person]:
    master, slave = os.openpty()
    with os.fdopen(slave, "r") as stdin:
        screen = a_screen(patch)
        patch.setattr("sys.stdin", stdin)
        yield Person(screen, master, server)
    os.close(master)
