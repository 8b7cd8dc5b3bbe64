"""A workflow before one's eyes: its tree and timeline, drawn in place, and a few keys.

Only these lines are ever drawn anew; whatever was on the screen before stays.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from enum import StrEnum
from textwrap import wrap
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from portico.interfaces.cli.approval_watch import watched as approvals_watched
from portico.interfaces.cli.following import Told
from portico.interfaces.cli.keystrokes import Inbox, Keyboard
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.run_names import SHORT
from portico.interfaces.cli.terminal import Terminal
from portico.interfaces.cli.workflow_news import Bell, Followed, News, Notice, Over, listening
from portico.interfaces.cli.workflow_view.screen import LEFT_OUT, Frame, picture
from portico.interfaces.cli.workflow_view.words import given_to, keys_for, uncertain_parts
from portico.kernel.errors import PorticoError

_TICK: Final = 0.2
"""Seconds between two pictures."""
_REST: Final = 5
"""Lines that are left for what is said and printed at the end."""
_LEAST: Final = 20
"""Lines of the last picture, however low the terminal is."""
_OUTCOMES: Final = ("done", "retry", "skip")
_NO_KEYS: Final = "Ctrl-C leaves it running"
_SURE: Final = "c again to cancel it; what it has done stays done"


class How(StrEnum):
    OVER = "over"
    LEFT = "left"
    INTERRUPTED = "interrupted"


def can_be_watched(at: Terminal) -> bool:
    """Whether somebody looks, at something that can be drawn on."""
    if at.json or at.quiet or not sys.stderr.isatty():
        return False
    return not Console(stderr=True).is_dumb_terminal


def watched(followed: Followed, at: Terminal) -> How:
    """Until it is over, or whoever watches leaves it. Raises what the server refuses for good."""
    typing = sys.stdin.isatty() and not at.no_input
    keyboard = Keyboard(sys.stdin.fileno()) if typing else None
    console = Console(stderr=True, highlight=False)
    live = Live(
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        vertical_overflow="crop",
    )
    watch = _Watch(followed, at, listening(followed), keyboard, console, live)
    with keyboard.open() if keyboard is not None else nullcontext():
        try:
            how = watch.run()
        except KeyboardInterrupt:
            how = How.INTERRUPTED
    if how is How.OVER:
        followed.refresh(at_once=True)
    watch.last_look(how)
    return how


@dataclass
class _Watch:
    followed: Followed
    at: Terminal
    inbox: Inbox[News]
    keyboard: Keyboard | None
    console: Console
    live: Live
    notice: str = ""
    sure: bool = False
    over: bool = False
    left: bool = False

    def run(self) -> How:
        with self.live:
            while not self.over and not self.left:
                self._happened(self._next())
                self.followed.refresh()
                self._draw()
        return How.OVER if self.over else How.LEFT

    def last_look(self, how: How) -> None:
        """What stays on the screen."""
        height = self.console.height - 1
        height = max(height - _REST, _LEAST) if how is How.OVER else height
        lines = self._picture(Frame(width=self.console.width, height=height))
        for line in lines:
            self.console.print(line, soft_wrap=True)
        if how is How.OVER and any(line.plain.startswith(LEFT_OUT) for line in lines):
            self.at.say(f"All of it: portico workflows show {self.followed.run[-SHORT:]}")

    def _next(self) -> str | News | None:
        if self.keyboard is None:
            return self.inbox.within(_TICK)
        return self.keyboard.key_within(self.inbox, _TICK)

    def _happened(self, news: str | News | None) -> None:
        """And whatever else has come by then, before anything is drawn."""
        until = time.monotonic() + _TICK
        while news is not None:
            self._one(news)
            if self.over or self.left or time.monotonic() > until:
                return
            news = self.inbox.within(0)

    def _one(self, news: str | News) -> None:
        match news:
            case Told() | Bell():
                self.followed.take(news)
                self.notice = self.notice if self.sure else ""
            case Notice(text):
                self.notice = text
            case Over():
                self.over = True
            case PorticoError():
                raise news
            case str():
                self._pressed(news)

    def _pressed(self, key: str) -> None:
        sure, self.sure, self.notice = self.sure, False, ""
        if key == "q" or self.keyboard is None:
            self.left = True
        elif key == "c":
            self._cancel(sure=sure)
        elif key == "a":
            self._approvals(self.keyboard)
        elif key == "u":
            self._resolve(self.keyboard)

    def _cancel(self, *, sure: bool) -> None:
        if sure:
            self._send("cancel")
        else:
            self.sure, self.notice = True, _SURE

    def _approvals(self, keyboard: Keyboard) -> None:
        with self._aside(), keyboard.lent(), suppress(KeyboardInterrupt):
            approvals_watched(self.followed.server, self.at, bell=False)

    def _resolve(self, keyboard: Keyboard) -> None:
        """Asks of each step that may have been done or not."""
        with self._aside():
            for part in uncertain_parts(self.followed.view):
                self.at.say(f"{part}: {given_to(self.followed.view, part)}")
                if word := _outcome(part, keyboard):
                    self._send("resolve", {"step": part, "outcome": word})

    def _send(self, verb: str, body: object = None) -> None:
        server, run = self.followed.server, self.followed.run
        try:
            server.post(path_to("workflows", run, verb), body)
        except PorticoError as error:
            self.notice = str(error)
        self.followed.stale = True

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """The picture makes room for something else."""
        self.live.stop()
        try:
            yield
        finally:
            self.live.start()

    def _draw(self) -> None:
        below = self._below()
        turn = int(time.monotonic() / _TICK)
        height = max(self.console.height - len(below) - 1, 4)
        frame = Frame(width=self.console.width, height=height, turn=turn)
        self.live.update(Group(*self._picture(frame), *below), refresh=True)

    def _picture(self, frame: Frame) -> Sequence[Text]:
        followed = self.followed
        return picture(followed.view, followed.tree, followed.now(), frame)

    def _below(self) -> Sequence[Text]:
        keys = keys_for(self.followed.view) if self.keyboard is not None else _NO_KEYS
        told = [(self.notice, "yellow"), (keys, "dim")]
        width = self.console.width
        return [Text(line, style=style) for text, style in told for line in wrap(text, width)]


def _outcome(part: str, keyboard: Keyboard) -> str | None:
    """None to leave it."""
    asked = f"{part}: done, retry or skip? (Enter: leave it) "
    word = keyboard.sentence(asked)
    while word and word not in _OUTCOMES:
        word = keyboard.sentence(f"{word!r} is none of them. {asked}")
    return word
