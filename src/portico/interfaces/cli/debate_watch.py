"""Watch a debate: a screen that is drawn anew while it goes on."""

import sys
import threading
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from textwrap import wrap
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from portico.interfaces.cli.debate_view import DebateView, How, OfPart, Over, listen, picture
from portico.interfaces.cli.keystrokes import Inbox, Keyboard
from portico.interfaces.cli.server import ReceivedEvent, Server, api_path
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.errors import PorticoError

_TICK: Final = 0.15
"""Seconds between two pictures."""
_KEYS: Final = "Ctrl-C asks whether to stop it; q leaves, and it goes on by itself"
_NO_KEYS: Final = "Ctrl-C stops it"
_SURE: Final = (
    "Stop the debate? y stops it, and it is decided by the answers in hand; n goes on; "
    "q or Ctrl-C again leaves, and it goes on by itself"
)
_STOPPING: Final = "It stops as soon as it can."


@dataclass(frozen=True, slots=True)
class Notice:
    text: str


News = ReceivedEvent | OfPart | Over | Notice | PorticoError


def can_be_drawn(at: Terminal) -> bool:
    """Whether somebody looks, at something that can be drawn on."""
    if at.json or at.quiet or not sys.stderr.isatty():
        return False
    return not Console(stderr=True).is_dumb_terminal


def watched(server: Server, view: DebateView, at: Terminal) -> How:
    """Raises what the server refuses for good. Where nobody can be asked what Ctrl-C is to mean,
    the debate is stopped by it."""
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
    inbox: Inbox[News] = Inbox()
    threading.Thread(target=_listen, args=(server, view.id, inbox), daemon=True).start()
    watch = _Watch(server, view, inbox, keyboard, console, live)
    with keyboard.open() if keyboard is not None else nullcontext():
        how = watch.run()
    for line in picture(view, console.width):
        console.print(line, soft_wrap=True)
    return how


def since(moment: str) -> float:
    """Seconds, by our clock; never less than none, as the server's may be another."""
    now = datetime.now(UTC)  # noqa: TID251 # shown to a person
    return max((now - datetime.fromisoformat(moment)).total_seconds(), 0.0)


def _listen(server: Server, debate: str, inbox: Inbox[News]) -> None:
    try:
        listen(server, debate, inbox.put, lambda text: inbox.put(Notice(text)))
        inbox.put(Over())
    except PorticoError as error:
        inbox.put(error)


@dataclass
class _Watch:
    server: Server
    view: DebateView
    inbox: Inbox[News]
    keyboard: Keyboard | None
    console: Console
    live: Live
    notice: str = ""
    fleeting: bool = False
    """Whether the notice is over once something happens."""
    asking: bool = False
    over: bool = False
    left: bool = False
    stopped: bool = False
    began: float = field(default_factory=time.monotonic)

    def run(self) -> How:
        self.began -= since(self.view.debate["started_at"])
        with self.live:
            while not self.over and not self.left and not self.stopped:
                try:
                    self._happened(self._next())
                    self._draw()
                except KeyboardInterrupt:
                    self._interrupted()
        if self.stopped:
            return How.STOPPED
        return How.LEFT if self.left else How.OVER

    def _next(self) -> "str | News | None":
        if self.keyboard is None:
            return self.inbox.within(_TICK)
        return self.keyboard.key_within(self.inbox, _TICK)

    def _happened(self, news: "str | News | None") -> None:
        """And whatever else has come by then, before anything is drawn."""
        until = time.monotonic() + _TICK
        while news is not None:
            self._one(news)
            if self.over or self.left or time.monotonic() > until:
                return
            news = self.inbox.within(0)

    def _one(self, news: "str | News") -> None:
        match news:
            case ReceivedEvent():
                self.view.take(news)
                self.notice = "" if self.fleeting else self.notice
                self.fleeting = False
            case OfPart(part, told):
                self.view.take(told, part)
            case Notice(text):
                self.notice, self.fleeting = text, True
            case Over():
                self.over = True
            case PorticoError():
                raise news
            case str():
                self._pressed(news)

    def _pressed(self, key: str) -> None:
        asked, self.asking, self.fleeting = self.asking, False, False
        if key == "q":
            self.left = True
        elif asked:
            self.notice = ""
            if key.lower() == "y":
                self._stop()

    def _interrupted(self) -> None:
        if self.keyboard is None:
            self._stop()
            self.stopped = True
            return
        if self.asking:
            self.left = True
        self.asking, self.notice, self.fleeting = True, _SURE, False

    def _stop(self) -> None:
        try:
            self.server.post(api_path("debates", self.view.id, "stop"))
            self.notice = _STOPPING
        except PorticoError as error:
            self.notice = str(error)

    def _draw(self) -> None:
        turn, seconds = int(time.monotonic() / _TICK), time.monotonic() - self.began
        lines = picture(self.view, self.console.width, turn=turn, seconds=seconds)
        below = self._below()
        room = max(self.console.height - len(below) - 1, 4)
        self.live.update(Group(*lines[:room], *below), refresh=True)

    def _below(self) -> Sequence[Text]:
        keys = _KEYS if self.keyboard is not None else _NO_KEYS
        told = [(self.notice, "yellow"), ("" if self.asking else keys, "dim")]
        width = self.console.width
        return [Text(line, style=style) for text, style in told for line in wrap(text, width)]
