"""A workflow as it goes on, kept up to date: each event at once, and the report soon after."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from portico.interfaces.cli.following import RESET, Following, Told
from portico.interfaces.cli.keystrokes import Inbox
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.workflow_failures import Failures
from portico.interfaces.cli.workflow_view.reading import heard, reported
from portico.interfaces.cli.workflow_view.tree import Branch, laid_out
from portico.interfaces.cli.workflow_view.view import ENDED, WorkflowView
from portico.kernel.errors import Kind, PorticoError

_RARELY: Final = 0.5
"""Seconds at least between two reports; a large one takes its time, and is asked for less often."""
_PATIENCE: Final = 4
"""So many times as long as the last one took is waited for the next."""
_SAME_CLOCK: Final = timedelta(seconds=2)
"""The server tells its time in whole seconds; a small difference is none."""


@dataclass(frozen=True, slots=True)
class Notice:
    """The server has gone, or is back."""

    text: str


@dataclass(frozen=True, slots=True)
class Bell:
    """Something may have happened."""


@dataclass(frozen=True, slots=True)
class Over:
    """There is nothing more to tell."""


News = Told | Notice | Bell | Over | PorticoError


@dataclass(slots=True)
class Followed:
    server: Server
    run: str
    view: WorkflowView
    report: dict[str, Any]
    """As the server gave it."""
    _failures: Failures
    tree: tuple[Branch, ...] = ()
    stale: bool = False
    _shape: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _ask_again: float = 0.0
    _ahead: timedelta = timedelta()

    @classmethod
    def of(cls, server: Server, run: str) -> "Followed":
        asked = _our_time()
        report = server.get(path_to("workflows", run))
        followed = cls(server, run, reported(report), report, Failures(server))
        followed._look(report, asked)
        return followed

    @property
    def inline(self) -> bool:
        return bool(self.report["mode"] == "inline")

    def take(self, told: Told | Bell) -> None:
        self.stale = True
        if isinstance(told, Told) and told.type != RESET and "at" in told.data:
            self.view = heard(self.view, told.data)

    def refresh(self, *, at_once: bool = False) -> None:
        """Ask how it stands, if it is time. A server that has gone is asked again later."""
        began = time.monotonic()
        if not at_once and (not self.stale or began < self._ask_again):
            return
        try:
            asked = self.now()
            self._look(self.server.get(path_to("workflows", self.run)), asked)
            self.stale = False
        except PorticoError as error:
            if at_once or error.kind is not Kind.UNAVAILABLE:
                raise
        spent = time.monotonic() - began
        self._ask_again = time.monotonic() + max(_RARELY, spent * _PATIENCE)

    def now(self) -> datetime:
        """By the server's clock."""
        ours = _our_time() + self._ahead
        return max(ours, self.view.heard_at or ours)

    def met(self, server_time: datetime | None) -> None:
        if server_time is not None:
            difference = server_time - _our_time()
            self._ahead = difference if abs(difference) > _SAME_CLOCK else timedelta()

    def _look(self, report: dict[str, Any], as_of: datetime | None) -> None:
        self.report = report
        self.view = reported(self._failures.told(report), self.view, as_of)
        shape = {step.id: tuple(step.needs) for step in self.view.steps.values()}
        if shape != self._shape:
            self._shape, self.tree = shape, tuple(laid_out(shape))


def listening(followed: Followed) -> Inbox[News]:
    """What happens, told by another thread from now on, from the beginning of the run."""
    inbox: Inbox[News] = Inbox()
    threading.Thread(target=_listen, args=(followed, inbox), daemon=True).start()
    return inbox


def _listen(followed: Followed, inbox: Inbox[News]) -> None:
    try:
        for news in _asking(followed) if followed.inline else _hearing(followed, inbox):
            inbox.put(news)
        inbox.put(Over())
    except PorticoError as error:
        inbox.put(error)


def _hearing(followed: Followed, inbox: Inbox[News]) -> Iterator[News]:
    following = Following(followed.server, lambda text: inbox.put(Notice(text)))
    for number, told in enumerate(following(path_to("runs", followed.run, "events"))):
        if number == 0:
            followed.met(following.began_at)
        yield told


def _asking(followed: Followed) -> Iterator[News]:
    """What leaves no trace tells nothing by itself."""
    while True:
        report = followed.server.get(path_to("workflows", followed.run), wait=1)
        if report["status"] in ENDED:
            return
        yield Bell()


def _our_time() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 # shown to a person
