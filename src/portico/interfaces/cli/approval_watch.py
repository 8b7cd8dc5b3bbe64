"""Watch approvals, answer each with one key, and edit its arguments."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from portico.interfaces.cli.approval_text import (
    KEYS,
    KEYS_ONCE,
    answered,
    asker,
    asks_on,
    came_of,
    grants,
    over,
    short,
    told,
)
from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.keystrokes import Inbox, Keyboard, in_editor
from portico.interfaces.cli.server import Following, ReceivedEvent, Refused, Server, api_path
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.errors import PorticoError
from portico.kernel.redaction import BLACK


def edited(at: Terminal, request: Mapping[str, Any]) -> dict[str, Any]:
    """Raises `InvalidUsage`."""
    before = json.dumps(request["arguments"], ensure_ascii=False, indent=2)
    if BLACK in before:
        raise InvalidUsage(
            "These arguments hold a secret, which is not shown and would be lost.",
            fix="Reject it, and have it asked for anew.",
        )
    try:
        after = json.loads(in_editor(before, "arguments.json", lost="nothing was answered"))
    except ValueError as error:
        raise InvalidUsage(f"What you have written is not JSON: {error}.") from error
    if not isinstance(after, dict):
        raise InvalidUsage("The arguments are a JSON object.")
    if after == request["arguments"]:
        at.say("Nothing was changed.")
    for name in sorted({*after, *request["arguments"]}):
        was, now = request["arguments"].get(name), after.get(name)
        if was != now:
            at.line(f"  {name}: {json.dumps(was)} → {json.dumps(now)}", loud=True)
    return after


# Approving by single keys: a key never changes its meaning, and what was typed before the request
# could be read does not count. Lines are only added; nothing on the screen is redrawn.

Request = Mapping[str, Any]

SKIP: Final = "s"
_READ_FIRST: Final = 0.4
"""Seconds in which nobody can have read a request: a key that comes then was meant for something
else."""


@dataclass
class ApprovalKeys:
    server: Server
    at: Terminal
    keyboard: Keyboard
    bell: bool = False
    skipped: set[str] = field(default_factory=set)
    mine: set[str] = field(default_factory=set)
    """Those that were answered here."""
    shown_at: float = 0.0

    def show(self, request: Request, *, whole: bool = False, more: int = 0) -> None:
        """`more` wait besides."""
        ring = "\a" if self.bell and not whole else ""
        print(ring, file=sys.stderr, flush=True)
        for line in told(request, whole=whole, more=more, width=self.at.width):
            self.at.line(line.text, loud=line.loud)
        self.keyboard.forget()
        self.shown_at = time.monotonic()
        self.at.line(_keys(request))

    def pressed(self, key: str, request: Request) -> bool:
        """Whether it is over. A key that means nothing does nothing."""
        act = self._acts.get(key)
        if act is None or time.monotonic() - self.shown_at < _READ_FIRST:
            return False
        try:
            return act(request)
        except InvalidUsage as error:
            self.at.fail(error)
            return False

    @property
    def _acts(self) -> Mapping[str, Callable[[Request], bool]]:
        return {
            "a": self._once,
            "r": self._for_the_run,
            "p": self._always,
            "x": self._reject,
            "e": self._edit,
            "w": self._why,
            SKIP: self._skip,
        }

    def _once(self, request: Request) -> bool:
        return self._answer(request, {"answer": "once"})

    def _for_the_run(self, request: Request) -> bool:
        if why := asks_on(request):
            self.at.say(why)
            return False
        return self._answer(request, {"answer": "run"})

    def _skip(self, request: Request) -> bool:
        self.skipped.add(request["id"])
        self.at.say(f"{short(request['id'])} goes on waiting.")
        return True

    def _answer(self, request: Request, body: dict[str, Any]) -> bool:
        try:
            made = self.server.post(
                api_path("approvals", request["id"], "answer"), {**body, "via": "cli"}
            )
        except Refused as error:
            self.at.fail(error)
            self.skipped.add(request["id"])
            return True
        sign = "✗" if body["answer"] == "reject" else "✓"
        self.mine.add(made["id"])
        self.at.line(f"{sign} {short(request['id'])} {answered(made)}", loud=True)
        return True

    def _always(self, request: Request) -> bool:
        """Two steps: for what, and the whole word."""
        if why := asks_on(request):
            self.at.say(why)
            return False
        tool = request["tool"]
        asked = f"For which tools? Enter for {tool}, or a pattern such as {request['server']}.*: "
        pattern = self.keyboard.sentence(asked)
        if pattern is None:
            return self._nothing(request)
        rule = grants(request, "always", pattern)
        word = self.keyboard.sentence(f"{rule}. Type always to make this rule: ")
        if word != "always":
            return self._nothing(request)
        return self._answer(request, {"answer": "always", "pattern": pattern or None})

    def _reject(self, request: Request) -> bool:
        reason = self.keyboard.sentence("Why not? (Enter: no reason; Ctrl-C: back) ")
        if reason is None:
            return self._nothing(request)
        return self._answer(request, {"answer": "reject", "reason": reason or None})

    def _edit(self, request: Request) -> bool:
        with self.keyboard.lent():
            arguments = edited(self.at, request)
        if self.keyboard.one_key("Approve it once like this? [y/N] ") not in {"y", "Y"}:
            return self._nothing(request)
        return self._answer(request, {"answer": "once", "arguments": arguments})

    def _why(self, request: Request) -> bool:
        self.show(request, whole=True)
        return False

    def _nothing(self, request: Request) -> bool:
        self.at.say(f"Nothing was answered. {_keys(request)}")
        return False


def _keys(request: Request) -> str:
    return KEYS_ONCE if asks_on(request) else KEYS


_WAITING: Final = "Waiting for requests; q ends."


def only_shown(server: Server, at: Terminal) -> None:
    for request in _waiting(server):
        _report(at, request)
    for news in _news(server, at):
        _report(at, server.get(api_path("approvals", news.data["facts"]["approval"])))


def watched(server: Server, at: Terminal, *, bell: bool) -> None:
    inbox: Inbox[ReceivedEvent | PorticoError] = Inbox()
    threading.Thread(target=_heard, args=(server, at, inbox), daemon=True).start()
    keyboard = Keyboard(sys.stdin.fileno())
    with keyboard.open():
        keys = ApprovalKeys(server, at, keyboard, bell=bell)
        _Watch(server, at, inbox, keyboard, keys).run()


def _heard(server: Server, at: Terminal, inbox: "Inbox[ReceivedEvent | PorticoError]") -> None:
    try:
        for news in _news(server, at):
            inbox.put(news)
    except PorticoError as error:
        inbox.put(error)


@dataclass
class _Watch:
    server: Server
    at: Terminal
    inbox: "Inbox[ReceivedEvent | PorticoError]"
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
            if isinstance(happened, ReceivedEvent):
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

    def _heard(self, news: ReceivedEvent, current: str | None) -> bool:
        """Whether what is being shown is over."""
        request = self.server.get(api_path("approvals", news.data["facts"]["approval"]))
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


def _news(server: Server, at: Terminal) -> Iterator[ReceivedEvent]:
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
