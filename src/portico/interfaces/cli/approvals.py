"""`portico approvals`: list, show, watch, answer with one key, edit arguments."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Literal

from cyclopts import App

from portico.bridge.core.declassification import DECLASSIFY
from portico.guard.core.errors import ApprovalNotFound, OwnRequest
from portico.guard.core.rules import tainted_options
from portico.interfaces.cli.approval_text import (
    KEYS,
    KEYS_ONCE,
    SHORT,
    answered,
    asker,
    asks_on,
    came_of,
    grants,
    over,
    row,
    short,
    told,
)
from portico.interfaces.cli.errors import BadUsage, NeedsTerminal, NeedsYes
from portico.interfaces.cli.keystrokes import Inbox, Keyboard, in_editor
from portico.interfaces.cli.server import Following, Refused, Server, Told, path_to
from portico.interfaces.cli.terminal import PLAIN, At, Terminal
from portico.interfaces.cli.untrusted_text import visible
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label
from portico.kernel.redaction import BLACK


def edited(at: Terminal, request: Mapping[str, Any]) -> dict[str, Any]:
    """Raises `BadUsage`."""
    before = json.dumps(request["arguments"], ensure_ascii=False, indent=2)
    if BLACK in before:
        raise BadUsage(
            "These arguments hold a secret, which is not shown and would be lost.",
            fix="Reject it, and have it asked for anew.",
        )
    try:
        after = json.loads(in_editor(before, "arguments.json", lost="nothing was answered"))
    except ValueError as error:
        raise BadUsage(f"What you have written is not JSON: {error}.") from error
    if not isinstance(after, dict):
        raise BadUsage("The arguments are a JSON object.")
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
        except BadUsage as error:
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
                path_to("approvals", request["id"], "answer"), {**body, "via": "cli"}
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


app = App(
    name="approvals",
    help="See and answer what agents ask to be allowed.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_COLUMNS: Final = ["id", "status", "tool", "effect", "asker", "step", "expires", "arguments"]
_LATEST: Final = 200
_WHOLE: Final = 30
_STANDS: Final = "It stands as it did; see it: portico approvals show ID"

Status = Literal[
    "waiting",
    "approved",
    "rejected",
    "expired",
    "replaced",
    "withdrawn",
    "done",
    "failed",
    "uncertain",
]
_OUTCOMES: Final = {"done", "failed", "uncertain"}
"""How an approved one went."""


@app.command(name="list", sort_key=1)
def list_(*, status: Status = "waiting", all_: bool = False, limit: int = 50, at: At) -> None:
    """What waits for an answer, newest first.

    Parameters
    ----------
    status
        Those that stand like this instead; of approved ones, also how they went.
    all_
        All of them, however they stand.
    limit
        At most so many.
    """
    asked = None if all_ else "approved" if status in _OUTCOMES else status
    pages = Server(at.house).pages("/approvals", status=asked)
    meant = (each for each in pages if asked in (None, status) or each["outcome"] == status)
    found = list(islice(meant, limit))
    at.table(_COLUMNS, [row(each) for each in found], {"data": found}, fold=["arguments"])
    if not found:
        at.say("Nothing waits for an answer." if status == "waiting" else "There are none.")


@app.command(name="show", sort_key=2)
def show(request: str, /, *, raw: bool = False, at: At) -> None:
    """One request, with everything that it would do.

    Parameters
    ----------
    request
        Its id, or the last six letters of it.
    raw
        Of a debate that is to be less secret: also every value that goes with it.
    """
    found = find(Server(at.house), request)
    if at.json:
        at.data(found, "")
        return
    _print(at, found, whole=True, raw=raw)
    at.line(f"  stands    {found['status']}; {answered(found) or 'nobody has answered'}")
    if found["outcome"]:
        at.line(f"  outcome   {came_of(found)}{_error(found)}")


@app.command(name="approve", sort_key=3)
def approve(
    request: str,
    /,
    *,
    for_run: bool = False,
    always: bool = False,
    pattern: str | None = None,
    edit: bool = False,
    at: At,
) -> None:
    """Say yes to a request, after you have been shown it. Needs a terminal.

    Parameters
    ----------
    request
        Its id, or the last six letters of it.
    for_run
        And to whatever else this tool is asked for in the same task, for some hours.
    always
        And from now on: makes a rule for whoever asks, which `portico policy list` shows.
    pattern
        With --always: for these tools, such as mail.*, instead of the one that was asked for.
    edit
        Change the arguments first, in your editor ($VISUAL, $EDITOR).
    """
    if (for_run and always) or (pattern and not always):
        raise BadUsage("Either --for-run or --always, and --pattern only with --always.")
    kind = "run" if for_run else "always" if always else "once"
    person_at(at, "approve")
    server = Server(at.house)
    found = _another_s(server, find(server, request))
    if kind != "once" and (why := asks_on(found)):
        raise BadUsage(why)
    _print(at, found)
    body: dict[str, Any] = {"answer": kind, "pattern": pattern, "via": "cli"}
    if edit:
        body["arguments"] = edited(at, found)
    if kind != "once":
        at.say(f"{grants(found, kind, pattern)}.")
    _sent(at, server, found, body, f"Approve it{_FOR[kind]}?")


@app.command(name="reject", sort_key=4)
def reject(request: str, /, *, reason: str | None = None, at: At) -> None:
    """Say no to a request. Needs a terminal.

    Parameters
    ----------
    request
        Its id, or the last six letters of it.
    reason
        What whoever asked is told.
    """
    person_at(at, "reject")
    server = Server(at.house)
    found = _another_s(server, find(server, request))
    _print(at, found)
    _sent(at, server, found, {"answer": "reject", "reason": reason, "via": "cli"}, "Reject it?")


@app.command(name="withdraw", sort_key=5)
def withdraw(request: str, /, *, at: At) -> None:
    """Take back a request of your own.

    Parameters
    ----------
    request
        Its id, or the last six letters of it.
    """
    server = Server(at.house)
    found = find(server, request)
    closed = server.post(path_to("approvals", found["id"], "withdraw"), None)
    at.data(closed, f"{closed['id']}: {closed['status']}.")


@app.command(name="resolve", sort_key=6)
def resolve(request: str, outcome: Literal["done", "retry", "skip"], /, *, at: At) -> None:
    """Say what became of an approved call that may have been made. Needs a terminal.

    Parameters
    ----------
    request
        Its id, or the last six letters of it.
    outcome
        It was done; it shall be tried once more; or it was not done and shall not be.
    """
    person_at(at, "resolve")
    server = Server(at.house)
    found = find(server, request)
    _print(at, found)
    question = f"Is it so: {outcome}?"
    if not at.confirm(question):
        raise NeedsYes(question, fix=_STANDS)
    made = server.post(path_to("approvals", found["id"], "resolve"), {"outcome": outcome})
    at.data(made, f"{found['id']}: {outcome}.")


@app.command(name="watch", sort_key=7)
def watch(*, no_bell: bool = False, at: At) -> None:
    """Show each request as it comes, and answer it with one key; until q or Ctrl-C.

    Where nobody can type, requests are only shown.

    Parameters
    ----------
    no_bell
        Do not ring the terminal's bell at each.
    """

    server = Server(at.house)
    if at.json or at.no_input or not sys.stdin.isatty():
        only_shown(server, at)
    else:
        watched(server, at, bell=not no_bell)


_FOR: Final = {
    "once": " once",
    "run": " for this run",
    "always": " from now on",
}
_MOMENT: Final = 3.0
"""Seconds for which it is waited for what comes of a yes."""
_BETWEEN: Final = 0.2


def person_at(at: Terminal, act: str) -> None:
    """Raises `NeedsTerminal`."""
    if at.no_input or not sys.stdin.isatty():
        raise NeedsTerminal(act)


def find(server: Server, text: str) -> Any:  # noqa: ANN401 # JSON, shown as it is
    """By its id, or by the end of it. Raises `ApprovalNotFound`, `BadUsage`."""
    if len(text) == _WHOLE:
        return server.get(path_to("approvals", text))
    if len(text.removeprefix("…")) < SHORT:
        raise BadUsage(
            f"{text!r} is too short: it takes at least the last six letters of an id.",
            fix="See which there are: portico approvals list",
        )
    latest = [str(each["id"]) for each in islice(server.pages("/approvals"), _LATEST)]
    fitting = [each for each in latest if each.endswith(text.removeprefix("…"))]
    if not fitting:
        raise ApprovalNotFound(text)
    if len(fitting) > 1:
        raise BadUsage(f"{text!r} is short for several.", fix=f"Say more: {', '.join(fitting[:5])}")
    return server.get(path_to("approvals", fitting[0]))


def _another_s(server: Server, found: Any) -> Any:  # noqa: ANN401 # JSON, as `find` gives it
    """Before anybody is asked anything. Raises `OwnRequest`."""
    me = server.get("/me")
    if found["asker"]["id"] == me["id"]:
        label = Label.parse(found["label"])
        options = tainted_options(label) if found["tainted"] else ""
        tool = None if found["tool"] == DECLASSIFY else found["tool"]
        raise OwnRequest(found["id"], tool, me["name"], options)
    return found


def _sent(
    at: Terminal, server: Server, found: dict[str, Any], body: dict[str, Any], question: str
) -> None:
    whose = f"({asker(found)}, {found['tool']})"
    if body["answer"] == "always":
        sure = at.ask(f"{question} {whose} Type always to make this rule:") == "always"
    else:
        sure = at.confirm(f"{question} {whose}")
    if not sure:
        raise NeedsYes(question, fix=_STANDS)
    made = server.post(path_to("approvals", found["id"], "answer"), body)
    at.data(made, f"{made['id']}: {answered(made)}.")
    if body["answer"] != "reject" and not at.json:
        _say_what_came(at, server, made["id"])


def _say_what_came(at: Terminal, server: Server, approval: str) -> None:
    until = time.monotonic() + _MOMENT
    while (now := server.get(path_to("approvals", approval)))["status"] == "approved":
        if now["outcome"]:
            at.say(f"The call: {came_of(now)}{_error(now)}")
            return
        if time.monotonic() > until:
            at.say(f"The call is under way: portico approvals show {approval[-SHORT:]}")
            return
        time.sleep(_BETWEEN)


def _print(
    at: Terminal, request: dict[str, Any], *, whole: bool = False, raw: bool = False
) -> None:
    if not at.json:
        for line in told(request, whole=whole, raw=raw, width=at.width):
            at.line(line.text, loud=line.loud)


def _error(request: dict[str, Any]) -> str:
    return f": {visible(request['error'])}" if request["error"] else ""
