"""`portico approvals watch`: each request as it comes, answered with one key."""

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from portico.interfaces.cli.approval_keys import ApprovalKeys, Request
from portico.interfaces.cli.approval_words import answered, asker, came_of, over, short, told
from portico.interfaces.cli.following import Following, Told
from portico.interfaces.cli.keystrokes import Inbox, Keyboard
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.errors import PorticoError

_WAITING: Final = "Waiting for requests; q ends."


def only_shown(server: Server, at: Terminal) -> None:
    for request in _waiting(server):
        _report(at, request)
    for news in _news(server, at):
        _report(at, server.get(path_to("approvals", news.data["facts"]["approval"])))


def watched(server: Server, at: Terminal, *, bell: bool) -> None:
    inbox: Inbox[Told | PorticoError] = Inbox()
    threading.Thread(target=_heard, args=(server, at, inbox), daemon=True).start()
    keyboard = Keyboard(sys.stdin.fileno())
    with keyboard.open():
        keys = ApprovalKeys(server, at, keyboard, bell=bell)
        _Watch(server, at, inbox, keyboard, keys).run()


def _heard(server: Server, at: Terminal, inbox: "Inbox[Told | PorticoError]") -> None:
    try:
        for news in _news(server, at):
            inbox.put(news)
    except PorticoError as error:
        inbox.put(error)


@dataclass
class _Watch:
    server: Server
    at: Terminal
    inbox: "Inbox[Told | PorticoError]"
    keyboard: Keyboard
    keys: ApprovalKeys
    open: dict[str, Request] = field(default_factory=dict)
    """Oldest first."""
    me: str = ""
    idle: bool = False

    def run(self) -> None:
        """Until `q`. Raises what the server refuses for good."""
        self.me = self.server.get("/me")["id"]
        for request in _waiting(self.server):
            self._comes(request, busy=False)
        current = self._next(None)
        while True:
            happened = self.keyboard.key_or(self.inbox)
            if isinstance(happened, PorticoError):
                raise happened
            if happened == "q":
                return
            if isinstance(happened, Told):
                over = self._heard(happened, current)
            else:
                over = current is not None and self.keys.pressed(happened, self.open[current])
            if over or current is None:
                current = self._next(current if over else None)

    def _next(self, done: str | None) -> str | None:
        """Shows the next one that waits, if there is one."""
        skipped = self.keys.skipped
        if done is not None and done not in skipped:
            self.open.pop(done, None)
        found = next((each for each in self.open if each not in skipped), None)
        if found is not None:
            more = sum(each not in skipped for each in self.open) - 1
            self.keys.show(self.open[found], more=more)
        elif not self.idle:
            self.at.say(_WAITING)
        self.idle = found is None
        return found

    def _heard(self, news: Told, current: str | None) -> bool:
        """Whether what is being shown is over."""
        request = self.server.get(path_to("approvals", news.data["facts"]["approval"]))
        name = request["id"]
        if request["status"] == "waiting":
            if name not in self.open:
                self._comes(request, busy=current is not None)
            return False
        if name == current:
            self.at.say(over(request))
            return True
        if name in self.keys.mine and request["outcome"]:
            self.at.say(f"{short(name)} {came_of(request)}")
        self.open.pop(name, None)
        return False

    def _comes(self, request: Request, *, busy: bool) -> None:
        name = request["id"]
        self.open[name] = request
        if request["asker"]["id"] == self.me:
            self.keys.skipped.add(name)
            self.at.say(f"{short(name)} is your own: {request['tool']}; somebody else answers it.")
        elif busy:
            self.at.say(f"{short(name)} waits too: {asker(request)}, {request['tool']}")


def _waiting(server: Server) -> list[Request]:
    """Oldest first."""
    return list(server.pages("/approvals", status="waiting"))[::-1]


def _news(server: Server, at: Terminal) -> Iterator[Told]:
    """What happens to requests from now on; the stream has everything from the beginning."""
    following = Following(server, at.say)
    for news in following("/events", topics="approvals"):
        began = following.began_at
        new = began is None or news.data.get("at", "9") >= f"{began:%Y-%m-%dT%H:%M:%S}"
        if new and "approval" in news.data.get("facts", {}):
            yield news


def _report(at: Terminal, request: Request) -> None:
    if at.json:
        print(json.dumps(request, ensure_ascii=False), flush=True)
        return
    if request["status"] != "waiting":
        at.line(f"{short(request['id'])} {_how(request)}")
        return
    for line in told(request, width=at.width):
        at.line(line.text, loud=line.loud)


def _how(request: Request) -> str:
    told_so = answered(request) or str(request["status"])
    outcome = came_of(request)
    return f"{told_so}; {outcome}" if outcome else told_so
