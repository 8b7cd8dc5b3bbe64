"""Run the ```console blocks of a page as a reader would: one shell, one terminal, in order."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

from tests.servers import RUN_AS, free_port, reachable_folder, tcp_server

_BLOCK: Final = re.compile(
    r'^```(?:console|\w+ title="([\w.-]+)")\n(.*?)^```$', re.MULTILINE | re.DOTALL
)
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_MARK: Final = "::portico-docs::"
_IN_BACKGROUND: Final = "portico serve &"
_KILLED: Final = "kill -9 %1"
_PATIENCE: Final = 120.0
_QUESTION: Final = "[y/N] "
"""Whoever is asked answers at the keyboard: what stands behind it in a page is typed."""


@dataclass(frozen=True, slots=True)
class Example:
    """A command and what is shown below it; `…` stands for anything."""

    command: str
    expected: tuple[str, ...]

    @property
    def fails(self) -> bool:
        """Also a debate that comes to no decision ends with a code of its own."""
        return any(line.lstrip().startswith(("✗", "No decision:")) for line in self.expected)

    @property
    def typed(self) -> list[str]:
        """What somebody types while it runs, one question after the other."""
        return [line.partition(_QUESTION)[2] for line in self.expected if _QUESTION in line]


def examples(text: str) -> list[Example]:
    """A block with a title is a file of that name, as the reader would save it."""
    found: list[Example] = []
    for title, block in _BLOCK.findall(text):
        if title:
            found.append(Example(f"cat > {title} <<'END-OF-FILE'\n{block}END-OF-FILE", ()))
            continue
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Example(line[2:], ()))
            elif line.startswith("> "):
                found[-1] = Example(f"{found[-1].command}\n{line[2:]}", ())
            else:
                found[-1] = Example(found[-1].command, (*found[-1].expected, line))
    return found


def matches(expected: Sequence[str], shown: Sequence[str]) -> bool:
    """`…` in a line is any text there, `…` as a line any number of lines. How many spaces there
    are does not count, nor do empty lines at both ends."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + "\n"
        for line in _trimmed(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _trimmed(shown))) is not None


def _trimmed(lines: Sequence[str]) -> list[str]:
    text = "\n".join(re.sub(r"[ \t]+", " ", line).rstrip() for line in lines)
    return text.strip("\n").splitlines()


class Shell:
    """One bash for the whole page, so that its variables last; it writes to a terminal."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self._environment = environment
        self.port = environment["PORTICO_SERVER__PORT"]
        self._screen, terminal = pty.openpty()
        self._keyboard = os.ttyname(terminal)
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            env=environment,
            text=True,
            process_group=0,
        )
        os.close(terminal)

    def run(self, command: str, typed: Sequence[str] = ()) -> tuple[int, list[str]]:
        if command in {_IN_BACKGROUND, _KILLED}:
            raise ValueError("the server is the shell's job in the page, and ours in the test")
        assert self._bash.stdin is not None
        source = self._keyboard if typed else "/dev/null"
        self._bash.stdin.write(
            f"{{ {command}\n}} <{source}; status=$?; echo; echo '{_MARK}' $status\n"
        )
        self._bash.stdin.flush()
        before = ""
        for answer in typed:
            before += self._read(re.escape(_QUESTION.encode()) + rb"$")
            os.write(self._screen, f"{answer}\n".encode())
        shown, _, rest = (before + self._read()).rpartition(_MARK)
        return int(rest), _CONTROL.sub("", shown).splitlines()

    def close(self) -> None:
        """What a page began in the background ends with it, also if it did not come to its end."""
        os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.communicate()
        os.close(self._screen)

    @contextmanager
    def serving(self) -> Iterator["subprocess.Popen[bytes]"]:
        with (self.folder / "serve.log").open("w") as log:
            server = subprocess.Popen(
                ["portico", "serve"],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self._environment,
            )
        try:
            self._wait_for(server)
            yield server
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(_PATIENCE)

    def _wait_for(self, server: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + _PATIENCE
        while server.poll() is None and time.monotonic() < deadline:
            try:
                with urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=2):
                    return
            except (URLError, OSError):
                time.sleep(0.1)
        raise AssertionError((self.folder / "serve.log").read_text())

    def _read(self, end: bytes = rb"%s \d+\r?\n$" % _MARK.encode()) -> str:
        """Everything up to the end: the line with the mark, which says the exit code."""
        text = b""
        deadline = time.monotonic() + _PATIENCE
        while not re.search(end, text):
            ready, _, _ = select.select([self._screen], [], [], deadline - time.monotonic())
            assert ready, f"no end in sight after: {text.decode(errors='replace')}"
            text += os.read(self._screen, 65536)
        return text.decode()


@contextmanager
def new_installation(page: str) -> Iterator[Shell]:
    """A shell in an empty folder, with a home and a port of its own."""
    with ExitStack() as stack:
        home = stack.enter_context(reachable_folder())
        folder = home / "work"
        folder.mkdir()
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "PORTICO_HOME": str(home),
            "PORTICO_SERVER__PORT": str(free_port()),
            "TERM": "dumb",
            "COLUMNS": "120",
            "LINES": "40",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }
        if RUN_AS is not None:
            environment["PORTICO_DATABASE__RUN_AS"] = RUN_AS
        if "PORTICO_ADMIN_DSN" in page:
            environment["PORTICO_ADMIN_DSN"] = stack.enter_context(tcp_server(18))
        if "portico up" in page:
            stack.callback(_down, folder, environment)
        shell = Shell(folder, environment)
        stack.callback(shell.close)
        yield shell


def _down(folder: Path, environment: dict[str, str]) -> None:
    """What a page leaves running, as its reader would."""
    subprocess.run(["portico", "--quiet", "down"], check=False, cwd=folder, env=environment)


def for_port(text: str, port: str) -> str:
    """The pages speak of the default port; a test has its own."""
    return text.replace("3100", port)


def walk_through(text: str, beside: Iterable[Path] = ()) -> list[str]:
    """Run a page's commands, with copies of the files that lie beside it; what differs from what
    it shows, told for each."""
    differences: list[str] = []
    with new_installation(text) as shell, ExitStack() as running:
        for file in beside:
            shutil.copy(file, shell.folder)
        for example in examples(for_port(text, shell.port)):
            if example.command == _IN_BACKGROUND:
                server = running.enter_context(shell.serving())
                continue
            if example.command == _KILLED:
                server.kill()
                server.wait(_PATIENCE)
                continue
            status, shown = shell.run(example.command, example.typed)
            if (status != 0) != example.fails or not _as_shown(example, shown):
                differences.append(_told(example, status, shown))
    return differences


def _as_shown(example: Example, shown: Sequence[str]) -> bool:
    return not example.expected or matches(example.expected, shown)


def _told(example: Example, status: int, shown: Sequence[str]) -> str:
    head = [f"$ {example.command}", f"[exit {status}]", "-- shown:"]
    return "\n".join([*head, *shown, "-- the page says:", *example.expected])
