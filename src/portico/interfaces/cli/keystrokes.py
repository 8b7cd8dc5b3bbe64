"""Single key presses, and the user's own editor."""

import os
import select
import shlex
import subprocess
import sys
import tempfile
import termios
import tty
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

from portico.interfaces.cli.errors import InvalidUsage

News = TypeVar("News")

_ESCAPE: Final = b"\x1b"
_INTRODUCERS: Final = (b"[", b"O")
_LAST: Final = (b"@", b"~")
"""From which to which byte ends what an arrow or a function key sends."""
_LONG_LETTERS: Final = ((3, b"\xf0"), (2, b"\xe0"), (1, b"\xc0"))
"""How many bytes follow the first of a letter in UTF-8, by the least that it can be."""
_ENTER: Final = ("\r", "\n")
_NO_MORE: Final = "\x04"
_ERASES: Final = frozenset("\x7f\b\x15\x17")
"""A letter (twice, as terminals differ), the line, or a word."""


class Inbox(Generic[News]):
    """What another thread tells; whoever waits for a key wakes up for it."""

    def __init__(self) -> None:
        self._told: SimpleQueue[News] = SimpleQueue()
        self.wake, self._ring = os.pipe()

    def put(self, news: News) -> None:
        self._told.put(news)
        os.write(self._ring, b".")

    def take(self) -> News:
        os.read(self.wake, 1)
        return self._told.get()

    def within(self, seconds: float) -> News | None:
        """None if nothing is told in time."""
        ready, _, _ = select.select([self.wake], [], [], seconds)
        return self.take() if ready else None


class Keyboard:
    """One key at a time, without waiting for the end of a line."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._before = termios.tcgetattr(source)

    @contextmanager
    def open(self) -> Iterator[None]:
        tty.setcbreak(self._source)
        try:
            yield
        finally:
            self._restore()

    def forget(self) -> None:
        """What was typed before there was anything to answer."""
        termios.tcflush(self._source, termios.TCIFLUSH)

    def key_or(self, inbox: Inbox[News]) -> str | News:
        """Whichever comes first; nothing typed any more is as good as `q`."""
        ready, _, _ = select.select([self._source, inbox.wake], [], [])
        if inbox.wake in ready:
            return inbox.take()
        return self._key()

    def key_within(self, inbox: Inbox[News], seconds: float) -> str | News | None:
        """The same, or None if neither comes in time."""
        ready, _, _ = select.select([self._source, inbox.wake], [], [], seconds)
        if inbox.wake in ready:
            return inbox.take()
        return self._key() if ready else None

    def sentence(self, prompt: str) -> str | None:
        """A whole line; None if it was broken off with Ctrl-C or Ctrl-D."""
        self._restore()
        try:
            print(prompt, end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            print(file=sys.stderr)
            return None
        finally:
            tty.setcbreak(self._source)
        return line.strip() if line else None

    def one_key(self, prompt: str) -> str:
        """The next key, without Enter; nothing if it was broken off."""
        _show(prompt)
        try:
            key = self._letter()
        except KeyboardInterrupt:
            key = ""
        print(key if key.isprintable() else "", file=sys.stderr, flush=True)
        return key

    def line(self, prompt: str, begun: str) -> str | None:
        """As a sentence, of which something is typed already: all of it is seen, however fast it
        comes, and can be erased."""
        typed = begun
        _show(f"{prompt}{begun}")
        try:
            while (key := self._letter()) not in _ENTER:
                if not key or (key == _NO_MORE and not typed):
                    return None
                typed = _typed_on(typed, key)
        except KeyboardInterrupt:
            return None
        finally:
            print(file=sys.stderr)
        return typed.strip()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """To a program of the user's, such as an editor."""
        self._restore()
        try:
            yield
        finally:
            tty.setcbreak(self._source)
            self.forget()

    def _key(self) -> str:
        return self._letter() or "q"

    def _letter(self) -> str:
        """Whole, however many bytes it has; of a key that sends several, such as an
        arrow, only that there was one."""
        first = os.read(self._source, 1)
        if first == _ESCAPE:
            self._pass_over()
        more = next((size for size, least in _LONG_LETTERS if first >= least), 0)
        rest = os.read(self._source, more) if more else b""
        return (first + rest).decode(errors="replace")

    def _pass_over(self) -> None:
        """What follows an escape at once, to its last byte."""
        byte = self._at_once()
        if byte in _INTRODUCERS:
            byte = self._at_once()
            while byte and not _LAST[0] <= byte <= _LAST[1]:
                byte = self._at_once()

    def _at_once(self) -> bytes:
        ready, _, _ = select.select([self._source], [], [], 0)
        return os.read(self._source, 1) if ready else b""

    def _restore(self) -> None:
        termios.tcsetattr(self._source, termios.TCSADRAIN, self._before)


def _typed_on(typed: str, key: str) -> str:
    if key in _ERASES:
        kept = _erased(typed, key)
        gone = sum(_columns(letter) for letter in typed[len(kept) :])
        _show("\b \b" * gone)
        return kept
    letter = " " if key == "\t" else key
    if not letter.isprintable():
        return typed
    _show(letter)
    return typed + letter


def _erased(typed: str, key: str) -> str:
    match key:
        case "\x15":
            return ""
        case "\x17":
            return typed[: typed.rstrip().rfind(" ") + 1]
        case _:
            return typed[:-1]


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _show(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


_EDITORS: Final = ("VISUAL", "EDITOR")
_AT_HAND: Final = "vi"


def in_editor(text: str, name: str, *, lost: str = "nothing was changed") -> str:
    """What it has become, in a file that only we can read. Raises `InvalidUsage`."""
    editor = next((found for each in _EDITORS if (found := os.environ.get(each))), _AT_HAND)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
        done = subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603 # the user's own
        if done.returncode != 0:
            raise InvalidUsage(f"{editor} ended with {done.returncode}: {lost}.")
        return file.read_text(encoding="utf-8")
