"""Work items and leases of the bridge."""

import time
from datetime import datetime
from shlex import quote
from typing import Annotated, Any, Final, Literal

from cyclopts import App, Parameter

from portico.bridge.core.errors import LeaseHeld, LeaseLost
from portico.interfaces.cli.bridge_text import (
    find_people,
    find_project,
    find_work,
    project_id,
    raised_in,
    short,
)
from portico.interfaces.cli.server import Refused, Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At, LabelOption, Terminal, lasting, shown

lease_app = App(
    name="lease",
    help="For a while something is yours, and others see that it is.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_COLUMNS: Final = ["resource", "holder", "token", "until", "purpose", "id"]
_WAITING: Final = ["resource", "waits", "since"]
_PAUSE: Final = 2.0
"""Seconds; whoever waits keeps their place in the queue for much longer than that."""
_SOON: Final = 120.0
_For = Annotated[str, Parameter(name="--for")]


@lease_app.command(name="take", sort_key=1)
def take(
    project: str,
    resource: str,
    /,
    *,
    for_: _For = "10m",
    purpose: str = "",
    wait: bool = False,
    at: At,
) -> None:
    """Have something for yourself: a file, a branch, anything with a name. It is told with a token:
    whoever guards the thing refuses a smaller one than it has seen.

    portico bridge lease take apollo 'src/parser/**' --for 30m

    Parameters
    ----------
    project
        Its name or its id.
    resource
        A name or a pattern: * stands for anything but /, ** for anything, and every
        other letter for itself, ? and [ too.
    for_
        How long, at most a day: 30s, 10m, 2h.
    purpose
        What for: others see it.
    wait
        If it is another's, until it is yours; others see that you wait. Ctrl-C gives up.
    """
    server = Server(at.services)
    its = project_id(server, project)
    body = {
        "resource": resource,
        "seconds": lasting("--for", for_),
        "purpose": purpose,
        "wait": wait,
    }
    with at.working(f"waiting for {resource}") as now:
        lease = _taken(server, its, body, at, now)
    at.data(lease, f"{lease['resource']} is yours until {_clock(lease)}; token {lease['token']}.")
    at.say(f"To have it longer: portico bridge lease renew {project} '{resource}'")


@lease_app.command(name="renew", sort_key=2)
def renew(
    project: str, resource: str, /, *, token: int | None = None, for_: _For = "10m", at: At
) -> None:
    """Have it for so long from now on.

    Parameters
    ----------
    project
        Its name or its id.
    resource
        As it was taken, or the id of the lease.
    token
        That of the lease: it is refused if another has had it since. Looked up if left away.
    for_
        How long, at most a day: 30s, 10m, 2h.
    """
    server = Server(at.services)
    lease = _own(server, project_id(server, project), resource, token)
    body = {"token": lease["token"], "seconds": lasting("--for", for_)}
    renewed = server.post(api_path("leases", lease["id"], "renew"), body)
    at.data(renewed, f"{renewed['resource']} is yours until {_clock(renewed)}.")


@lease_app.command(name="release", sort_key=3)
def release(project: str, resource: str, /, *, token: int | None = None, at: At) -> None:
    """Give it back before its time is over.

    Parameters
    ----------
    project
        Its name or its id.
    resource
        As it was taken, or the id of the lease.
    token
        That of the lease. Looked up if left away.
    """
    server = Server(at.services)
    lease = _own(server, project_id(server, project), resource, token)
    server.post(api_path("leases", lease["id"], "release"), {"token": lease["token"]})
    at.data({"resource": lease["resource"]}, f"{lease['resource']} is free.")


@lease_app.command(name="check", sort_key=4)
def check(project: str, resource: str, token: int, /, *, at: At) -> None:
    """Whether this token is that of who holds it now: ends with 1 if it is not.

    Parameters
    ----------
    project
        Its name or its id.
    resource
        All of it must be held.
    token
        What the lease was taken with.
    """
    server = Server(at.services)
    body = {"resource": resource, "token": token}
    lease = server.post(api_path("projects", project_id(server, project), "leases", "check"), body)
    at.data(lease, f"{lease['holder_name']} holds it until {_clock(lease)}.")


@lease_app.command(name="list", sort_key=5)
def list_(project: str, /, *, at: At) -> None:
    """What is held now, by whom, and who waits for it.

    Parameters
    ----------
    project
        Its name or its id.
    """
    server = Server(at.services)
    found = server.get(api_path("projects", project_id(server, project), "leases"))
    rows = [
        each | {"holder": each["holder_name"], "until": each["expires_at"]}
        for each in found["data"]
    ]
    at.table(_COLUMNS, rows, found)
    if found["waiting"] and not at.json:
        at.say("In this order wait:")
        waiting = [each | {"waits": each["name"]} for each in found["waiting"]]
        at.table(_WAITING, waiting, found)
    if not found["data"]:
        at.say("Nothing is held. To have something: portico bridge lease take PROJECT RESOURCE")


def _taken(
    server: Server,
    project: str,
    body: dict[str, Any],
    at: Terminal,
    now: Any,  # noqa: ANN401 # what says what is done
) -> dict[str, Any]:
    """Raises what the server refuses; who waits is refused nothing that passes."""
    said = False
    while True:
        try:
            lease: dict[str, Any] = server.post(api_path("projects", project, "leases"), body)
        except Refused as error:
            if not body["wait"] or error.code != LeaseHeld.code:
                if error.code == LeaseHeld.code:
                    error.fix = f"{error.fix or ''} To wait for it: --wait".strip()
                raise
            now(str(error))
            if not said:
                at.say(f"{error} Waiting; Ctrl-C gives up.")
            said = True
            time.sleep(_PAUSE)
        else:
            return lease


def _own(server: Server, project: str, resource: str, token: int | None) -> dict[str, Any]:
    """Of those that are held now. Raises `LeaseLost`."""
    me = server.get("/me")["id"]
    for each in server.get(api_path("projects", project, "leases"))["data"]:
        if resource in (each["id"], each["resource"]) and each["holder"] == me:
            return dict(each) if token is None else each | {"token": token}
    raise LeaseLost(resource)


def _clock(lease: dict[str, Any]) -> str:
    """With seconds, of what is over soon."""
    until = datetime.fromisoformat(lease["expires_at"])
    soon = until.timestamp() - time.time() < _SOON
    return f"{until.astimezone():%Y-%m-%d %H:%M:%S}" if soon else shown(lease["expires_at"])


work_app = App(
    name="work",
    help="What is to be done in a project, and who has it.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

StateName = Literal["open", "claimed", "done", "dropped"]
_HELD_UP: Final = "waits for other work"
_WORK_COLUMNS: Final = ["work", "state", "who", "label", "title", "outcome"]


@work_app.command(name="add", sort_key=1)
def add(  # noqa: PLR0913 # an option each
    project: str,
    title: str,
    body: str = "",
    /,
    *,
    after: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    label: LabelOption = None,
    key: str | None = None,
    at: At,
) -> None:
    """Say what is to be done; whoever comes can claim it.

    Parameters
    ----------
    project
        Its name or its id.
    title
        In a line.
    body
        All that whoever does it should know.
    after
        What has to be over before: ids, or six letters or more of them.
    label
        How secret it is; as what you have read here, and as the project, if left away.
    key
        Of your own: the same key again is the same piece of work.
    """
    server = Server(at.services)
    wish = {
        "title": title,
        "body": body,
        "depends": [find_work(server, each)["id"] for each in after or ()],
        "label": label,
    }
    its = find_project(server, project)
    made = server.post(api_path("projects", its["id"], "work"), wish, key=key)
    at.data(made, f"{short(made['id'])} is to be done.")
    if raised := raised_in(its, made, label):
        at.say(raised)
    at.say(f"To do it yourself: portico bridge work claim {short(made['id'])}")


@work_app.command(name="list", sort_key=2)
def list_work(project: str, /, *, state: StateName | None = None, at: At) -> None:
    """What is to be done and what was, oldest first.

    Parameters
    ----------
    project
        Its name or its id.
    state
        Only what is so far.
    """
    server = Server(at.services)
    path = api_path("projects", project_id(server, project), "work")
    found = list(server.pages(path, state=state))
    rows = [
        each
        | {
            "work": short(each["id"]),
            "state": _HELD_UP if each["held_up"] and each["state"] == "open" else each["state"],
            "who": each["claimed_by_name"],
            "outcome": each["outcome"] or None,
        }
        for each in found
    ]
    at.table(_WORK_COLUMNS, rows, {"data": found}, fold=["title", "outcome"])
    if not found and state is None:
        how = f"portico bridge work add {quote(project)} TITLE"
        at.say(f"There is nothing. To say what is to be done: {how}")
    elif not found:
        at.say(f"Nothing is {state}.")


@work_app.command(name="show", sort_key=3)
def show(work: str, /, *, at: At) -> None:
    """All of one piece of work.

    Parameters
    ----------
    work
        Its id, or six letters or more of it.
    """
    at.details(find_work(Server(at.services), work))


@work_app.command(name="claim", sort_key=4)
def claim(work: str, /, *, at: At) -> None:
    """Take it: nobody else can then, until you hand it over.

    Parameters
    ----------
    work
        Its id, or six letters or more of it.
    """
    server = Server(at.services)
    claimed = server.post(api_path("work", find_work(server, work)["id"], "claim"))
    at.data(claimed, f"{claimed['title']} is yours; token {claimed['token']}.")
    at.say(f'When it is done: portico bridge work done {short(claimed["id"])} "What came of it"')


@work_app.command(name="hand-over", sort_key=5)
def hand_over(work: str, /, to: str | None = None, *, token: int | None = None, at: At) -> None:
    """Give what you have claimed to somebody, or to whoever comes.

    Parameters
    ----------
    work
        Its id, or six letters or more of it.
    to
        Whom, by name; whoever comes, if left away.
    token
        That of your claim. Looked up if left away.
    """
    server = Server(at.services)
    found = find_work(server, work)
    whom = None if to is None else find_people(server, [to])[0]
    body = {"token": found["token"] if token is None else token, "to": whom}
    handed = server.post(api_path("work", found["id"], "hand-over"), body)
    at.data(handed, f"{handed['title']} is {to or 'whoever comes'}'s.")


@work_app.command(name="done", sort_key=6)
def done(work: str, outcome: str | None = None, /, *, token: int | None = None, at: At) -> None:
    """What you have claimed is done.

    Parameters
    ----------
    work
        Its id, or six letters or more of it.
    outcome
        What came of it.
    token
        That of your claim. Looked up if left away.
    """
    _end(at, work, "done", outcome, token)


@work_app.command(name="drop", sort_key=7)
def drop(work: str, outcome: str | None = None, /, *, token: int | None = None, at: At) -> None:
    """What you have claimed is not to be done after all.

    Parameters
    ----------
    work
        Its id, or six letters or more of it.
    outcome
        Why.
    token
        That of your claim. Looked up if left away.
    """
    _end(at, work, "dropped", outcome, token)


def _end(at: At, work: str, state: str, outcome: str | None, token: int | None) -> None:
    server = Server(at.services)
    found = find_work(server, work)
    said: dict[str, Any] = {
        "token": found["token"] if token is None else token,
        "state": state,
        "outcome": outcome or "",
    }
    ended = server.post(api_path("work", found["id"], "end"), said)
    at.data(ended, f"{ended['title']} is {state}.")
