"""Single keys of a terminal, and whatever else happens meanwhile."""

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Generic, TypeVar

News = TypeVar("News")


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
        return os.read(self._source, 1).decode("latin-1") or "q"

    def _restore(self) -> None:
        termios.tcsetattr(self._source, termios.TCSADRAIN, self._before)
