"""A run of an agent, started and followed: with somebody at a keyboard, or with nobody."""

import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from portico.interfaces.cli.agent_talk import ENDED, MOVED, WAITS, Talked
from portico.interfaces.cli.approval_keys import SKIP, ApprovalKeys
from portico.interfaces.cli.errors import AgentWaits
from portico.interfaces.cli.following import Following, Told
from portico.interfaces.cli.keystrokes import Inbox, Keyboard
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Refused, Server
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.errors import PorticoError

_STOPPING: Final = "It stops as soon as it can; Ctrl-C again leaves without waiting for that."
_SAY: Final = "say> "
_LEAVES: Final = "\x04"
_COMMAND: Final = re.compile(r"/[A-Za-z?]+(\s|$)")
WHILE_IT_WORKS: Final = """While it works: type to say something to it; /stop or Ctrl-C stops it;
/leave or Ctrl-D leaves, and it goes on by itself."""
_AS_SKIPPED: Final = {"q": SKIP}
"""Who quits a request here does not quit the talk."""
_BROKE: Final = "error"
"""Said by the server where it cannot go on telling."""


class Left(Exception):
    """Whoever listened has gone; the run goes on, unless it was told to stop before."""

    def __init__(self, run: str, *, stopping: bool) -> None:
        super().__init__(run)
        self.run = run
        self.stopping = stopping


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing more is told of it."""


News = Told | Over | PorticoError


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    agent: str
    message: str
    continues: str | None = None
    model: str | None = None

    def body(self) -> dict[str, Any]:
        given = {"message": self.message, "continues": self.continues, "model": self.model}
        return {name: value for name, value in given.items() if value is not None}


def started(server: Server, question: Question) -> str:
    """The id of the run."""
    made = server.post(path_to("agents", question.agent, "runs"), question.body())
    return str(made["run"])


def heard(server: Server, run: str, talked: Talked, *, wait: bool) -> None:
    """Where nobody can be asked, to its end. Raises `AgentWaits` unless it is to wait."""
    try:
        for told in events(server, run, talked.at):
            talked.take(told)
            if told.type == WAITS and not wait:
                raise _waits(run, talked.at, told)
    except KeyboardInterrupt:
        talked.close_line()
        server.post(path_to("agents", "runs", run, "stop"))
        raise


def _waits(run: str, at: Terminal, told: Told) -> AgentWaits:
    waits = AgentWaits(run, told.data["tool"], told.data["approval"])
    if at.json:
        facts = {"tool": waits.tool, "approval": waits.approval}
        at.data({"run": run, "status": "waiting", **facts}, "")
    return waits


def is_command(text: str) -> bool:
    """`/stop` is one; what begins as a path does is not."""
    return _COMMAND.match(text) is not None


def events(server: Server, run: str, at: Terminal) -> Iterator[Told]:
    """All that is told of it, to its end. Raises `Refused` where no more can be told of it."""
    for told in Following(server, at.say)(path_to("agents", "runs", run, "events")):
        if told.type == _BROKE:
            raise Refused(503, told.data)
        yield told
        if told.type == ENDED:
            return


def watched(server: Server, run: str, talked: Talked) -> None:
    """At a terminal: what waits is asked for, and who types is heard. Raises `Left`."""
    inbox: Inbox[News] = Inbox()
    telling = threading.Thread(target=_telling, args=(server, run, talked.at, inbox), daemon=True)
    telling.start()
    keyboard = Keyboard(sys.stdin.fileno())
    with keyboard.open():
        _Watch(server, run, talked, inbox, keyboard).run()


def _telling(server: Server, run: str, at: Terminal, inbox: "Inbox[News]") -> None:
    try:
        for told in events(server, run, at):
            inbox.put(told)
        inbox.put(Over())
    except PorticoError as error:
        inbox.put(error)


@dataclass
class _Watch:
    server: Server
    run_id: str
    talked: Talked
    inbox: "Inbox[News]"
    keyboard: Keyboard
    stopping: bool = False
    answered: set[str] = field(default_factory=set)

    @property
    def at(self) -> Terminal:
        return self.talked.at

    def run(self) -> None:
        """Raises `Left`."""
        try:
            self._until_over()
        except KeyboardInterrupt:  # again, while it is being told to stop
            self._leave()

    def _until_over(self) -> None:
        while self.talked.ended is None:
            try:
                news = self.keyboard.key_or(self.inbox)
                if not self._happened(news):
                    return
                self._ask()
            except KeyboardInterrupt:
                self._stop()

    def _happened(self, news: "str | News") -> bool:
        """Whether more may come."""
        match news:
            case Told():
                self.talked.take(news)
            case Over():
                return False
            case PorticoError():
                raise news
            case str():
                self._typed(news)
        return True

    def _typed(self, key: str) -> None:
        """The first letter of something to say: the rest of the line is still being typed. Raises
        `Left`."""
        if key == _LEAVES:
            self._leave()
        if not key.isprintable() and key not in "\r\n":
            return
        first = key if key.isprintable() else ""
        self.talked.close_line()
        text = self.keyboard.line(_SAY, first)
        if text and is_command(text):
            self._told(text)
        elif text:
            self._send("messages", {"message": text})

    def _told(self, command: str) -> None:
        """Raises `Left`."""
        match command.split(maxsplit=1)[0]:
            case "/stop":
                self._stop()
            case "/leave" | "/quit" | "/exit":
                self._leave()
            case "/help":
                self.at.say(WHILE_IT_WORKS)
            case word:
                self.at.say(f"There is no {word} while it works.\n{WHILE_IT_WORKS}")

    def _leave(self) -> NoReturn:
        """Raises `Left`."""
        self.talked.close_line()
        raise Left(self.run_id, stopping=self.stopping)

    def _stop(self) -> None:
        """Raises `Left` the second time."""
        if self.stopping:
            self._leave()
        self.talked.close_line()
        self.stopping = True
        self.at.say(_STOPPING)
        self._send("stop")

    def _send(self, verb: str, body: object = None) -> None:
        try:
            self.server.post(path_to("agents", "runs", self.run_id, verb), body)
        except Refused as error:
            self.at.fail(error)

    def _ask(self) -> None:
        """Each request that it waits for, once."""
        for approval in [each for each in self.talked.waits.values() if each not in self.answered]:
            self.answered.add(approval)
            self._answer(approval)

    def _answer(self, approval: str) -> None:
        request = self.server.get(path_to("approvals", approval))
        if request["status"] != "waiting":
            return
        if request["asker"]["id"] == self.server.get("/me")["id"]:
            self.at.say("It is your own request: somebody else answers it.")
            return
        self.talked.close_line()
        keys = ApprovalKeys(self.server, self.at, self.keyboard)
        keys.show(request)
        while True:
            news = self.keyboard.key_or(self.inbox)
            if news == _LEAVES:
                self._leave()
            if isinstance(news, str):
                key = _AS_SKIPPED.get(news, news)
                if keys.pressed(key, request):
                    self._not_alone(skipped=key == SKIP)
                    return
            elif not self._happened(news) or self._elsewhere(news, approval):
                return

    def _not_alone(self, *, skipped: bool) -> None:
        """Nobody sits before a still screen without knowing what for."""
        if skipped:
            told = "It goes on once somebody answers: portico approvals watch"
            self.at.say(f"{told}\n{WHILE_IT_WORKS}")

    def _elsewhere(self, news: News, approval: str) -> bool:
        """Whether somebody else was first."""
        moved = isinstance(news, Told) and news.type in MOVED
        if not moved or approval in self.talked.waits.values():
            return False
        self.at.say("It waits for that no more.")
        return True
