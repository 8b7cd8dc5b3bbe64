"""`portico approvals`: list, show, approve, reject, withdraw, resolve."""

import sys
import time
from itertools import islice
from typing import Any, Final, Literal

from cyclopts import App

from portico.bridge.core.declassification import DECLASSIFY
from portico.guard.core.errors import ApprovalNotFound, OwnRequest
from portico.guard.core.rules import tainted_options
from portico.interfaces.cli.approval_text import (
    SHORT,
    answered,
    asker,
    asks_on,
    came_of,
    grants,
    row,
    told,
)
from portico.interfaces.cli.errors import ConfirmationRequired, InvalidUsage, NeedsTerminal
from portico.interfaces.cli.server import Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At, Terminal
from portico.interfaces.cli.untrusted_text import visible
from portico.kernel.label import Label

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
    pages = Server(at.services).pages("/approvals", status=asked)
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
    found = find(Server(at.services), request)
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
        raise InvalidUsage("Either --for-run or --always, and --pattern only with --always.")
    kind = "run" if for_run else "always" if always else "once"
    person_at(at, "approve")
    server = Server(at.services)
    found = _another_s(server, find(server, request))
    if kind != "once" and (why := asks_on(found)):
        raise InvalidUsage(why)
    _print(at, found)
    body: dict[str, Any] = {"answer": kind, "pattern": pattern, "via": "cli"}
    if edit:
        from portico.interfaces.cli.approval_watch import edited

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
    server = Server(at.services)
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
    server = Server(at.services)
    found = find(server, request)
    closed = server.post(api_path("approvals", found["id"], "withdraw"), None)
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
    server = Server(at.services)
    found = find(server, request)
    _print(at, found)
    question = f"Is it so: {outcome}?"
    if not at.confirm(question):
        raise ConfirmationRequired(question, fix=_STANDS)
    made = server.post(api_path("approvals", found["id"], "resolve"), {"outcome": outcome})
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
    from portico.interfaces.cli.approval_watch import only_shown, watched

    server = Server(at.services)
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
    """By its id, or by the end of it. Raises `ApprovalNotFound`, `InvalidUsage`."""
    if len(text) == _WHOLE:
        return server.get(api_path("approvals", text))
    if len(text.removeprefix("…")) < SHORT:
        raise InvalidUsage(
            f"{text!r} is too short: it takes at least the last six letters of an id.",
            fix="See which there are: portico approvals list",
        )
    latest = [str(each["id"]) for each in islice(server.pages("/approvals"), _LATEST)]
    fitting = [each for each in latest if each.endswith(text.removeprefix("…"))]
    if not fitting:
        raise ApprovalNotFound(text)
    if len(fitting) > 1:
        raise InvalidUsage(
            f"{text!r} is short for several.", fix=f"Say more: {', '.join(fitting[:5])}"
        )
    return server.get(api_path("approvals", fitting[0]))


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
        raise ConfirmationRequired(question, fix=_STANDS)
    made = server.post(api_path("approvals", found["id"], "answer"), body)
    at.data(made, f"{made['id']}: {answered(made)}.")
    if body["answer"] != "reject" and not at.json:
        _say_what_came(at, server, made["id"])


def _say_what_came(at: Terminal, server: Server, approval: str) -> None:
    until = time.monotonic() + _MOMENT
    while (now := server.get(api_path("approvals", approval)))["status"] == "approved":
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
