"""`portico people`, `join` and `ui`: principals, invitations, the way into the console."""

import sys
import tempfile
import webbrowser
from html import escape
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from cyclopts import App, Parameter

from portico.guard.core.errors import PrincipalNotFound
from portico.interfaces.cli.errors import FileInTheWay, InvalidUsage
from portico.interfaces.cli.server import Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At, day
from portico.kernel.errors import Kind, PorticoError

app = App(
    name="people",
    help="Invite people, add agents, change roles.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

RoleName = Literal["viewer", "member", "operator", "admin"]


@app.command(name="invite", sort_key=1)
def invite(
    name: str,
    /,
    *,
    role: list[RoleName] | None = None,
    clearance: str | None = None,
    again: bool = False,
    at: At,
) -> None:
    """Invite a person by a link that works once, within a week.

    Parameters
    ----------
    name
        What they will be called.
    role
        member if left away; may be given several times.
    clearance
        The most they may read: public, team (if left away), confidential, restricted, +….
    again
        Make a new link for somebody who was invited before and has lost theirs.
    """
    if again and (role or clearance):
        raise InvalidUsage(
            "A new link changes nothing about who it is for: --again goes without --role and "
            "--clearance.",
            fix=f"Change them by themselves: portico people change {quote(name)} …",
        )
    server = Server(at.services)
    if again:
        made = server.post(api_path("invitations", find(server, name)["id"], "again"))
    else:
        wish = {"name": name, "roles": role or ["member"], "clearance": clearance or "team"}
        made = server.post("/invitations", wish)
    at.say(f"Send this link to {name}; it works once, until {day(made['expires_at'])}.")
    at.data(made, made["link"])


@app.command(name="add", sort_key=2)
def add(
    name: str,
    /,
    *,
    kind: Literal["agent", "worker"] = "agent",
    role: list[RoleName] | None = None,
    clearance: str = "team",
    tools: list[str] | None = None,
    at: At,
) -> None:
    """Add an agent or a worker; then make it a key: portico keys create --to NAME …

    Parameters
    ----------
    name
        What it is called.
    kind
        An agent acts by itself; a worker carries out what others have decided.
    role
        member if left away; may be given several times.
    clearance
        The most it may read.
    tools
        The only tools that it may use, with wildcards: 'github.*'; may be given several times.
    """
    wish = {
        "kind": kind,
        "name": name,
        "roles": role or ["member"],
        "clearance": clearance,
        "tools": tools,
    }
    at.details(Server(at.services).post("/principals", wish))


@app.command(name="list", sort_key=3)
def list_(*, at: At) -> None:
    """Everybody in this space."""
    found = list(Server(at.services).pages("/principals"))
    rows = [
        each
        | {
            "since": day(each["created_at"]),
            "state": "disabled" if each["disabled_at"] else "active",
        }
        for each in found
    ]
    columns = ["name", "kind", "roles", "clearance", "since", "state"]
    at.table(columns, rows, {"data": found})


@app.command(name="change", sort_key=4)
def change(
    who: str,
    /,
    *,
    role: list[RoleName] | None = None,
    clearance: str | None = None,
    tools: list[str] | None = None,
    at: At,
) -> None:
    """Change what somebody may do; never yourself.

    Parameters
    ----------
    who
        Name or id.
    role
        The new roles, all of them.
    clearance
        The new clearance.
    tools
        The only tools that they may use from now on, all of them; '*' is every tool.
    """
    if not role and clearance is None and not tools:
        raise InvalidUsage(
            "There is nothing to change: neither --role nor --clearance nor --tools was given.",
            fix="See what can be changed: portico people change --help",
        )
    _change(at, who, {"roles": role, "clearance": clearance, "tools": tools})


@app.command(name="disable", sort_key=5)
def disable(who: str, /, *, at: At) -> None:
    """Shut somebody out at once; all their keys stop working.

    Parameters
    ----------
    who
        Name or id.
    """
    _change(at, who, {"disabled": True})


@app.command(name="enable", sort_key=6)
def enable(who: str, /, *, at: At) -> None:
    """Let somebody in again.

    Parameters
    ----------
    who
        Name or id.
    """
    _change(at, who, {"disabled": False})


def find(server: Server, who: str) -> dict[str, Any]:
    for each in server.pages("/principals"):
        if who in (each["id"], each["name"]):
            found: dict[str, Any] = each
            return found
    raise PrincipalNotFound(who)


def _change(at: At, who: str, change: dict[str, object]) -> None:
    server = Server(at.services)
    at.details(server.patch(api_path("principals", find(server, who)["id"]), change))


class InvalidLink(PorticoError):
    kind = Kind.INVALID
    code = "bad_link"
    type_name = "BadLink"
    title = "Not an invitation link"
    fix = "Copy the whole link, in quotes, with the part behind the #."

    def __init__(self) -> None:
        super().__init__("An invitation link looks like http://…/join#ptc_…")


def join(
    link: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    save: bool = False,
    replace: bool = False,
    at: At,
) -> None:
    """Accept an invitation; prints your key, this once.

    Parameters
    ----------
    link
        The whole link, in quotes, with the part behind the #; - reads it from standard input.
    save
        Keep the key in the key file instead of printing it; commands then talk to that server.
    replace
        With --save: even if there is a key already, which is then lost.
    """
    from portico.interfaces.cli.server import Server

    url, key = _parted(sys.stdin.readline().strip() if link == "-" else link)
    where = at.services.whereabouts()
    if save and not replace and where.key_file.exists():
        fix = "Leave --save away to see the new key, or give up the old one: --replace"
        raise FileInTheWay(where.key_file, fix=fix)  # before the invitation is used up
    own = where.server_url if where.data.exists() else None  # before anything is kept here
    made = Server(at.services, key=key, url=url).post("/invitations/accept")
    if not save:
        at.say("Welcome. Keep your key now: it is not shown again.")
        if where.key_file.exists():
            at.say(f"It is not saved: {where.key_file} has another key, and is left as it is.")
        else:
            at.say(
                f"It is not saved. To come in with it, write it into {where.key_file}, which you"
                " alone may read; with --save that is done for you."
            )
            if url != (where.remote or own):
                at.say(f"And name the server: portico config set client.server {url}")
        at.data(made, made["key"])
        return
    _save(at, made["key"])
    _for_programs(at, Server(at.services, key=made["key"], url=url))
    at.data({"key_file": str(where.key_file), "server": url}, f"Your key is in {where.key_file}.")
    if url != (where.remote or own):
        _talk_to(at, url, own=url == own)


def _save(at: At, key: str) -> None:
    at.say("Welcome.")
    try:
        at.services.save_key(key)
    except OSError:
        at.say("Your key could not be saved. Keep it now: it is not shown again.")
        at.data({"key": key}, key)
        raise


def _for_programs(at: At, server: "Server") -> None:
    """What acts for its user does not come in as them; whoever may make no key goes without."""
    try:
        name = f"{server.get('/me')['name']}-desktop"
        made = server.post("/keys", {"name": name, "agent": True})
    except PorticoError:
        at.say("`portico stdio` has no key yet: portico keys create NAME --agent --save")
        return
    at.services.save_key(made["key"], agent=True)


def _talk_to(at: At, url: str, *, own: bool) -> None:
    change = at.services.change_setting("client.server", None if own else url)
    done = "is no longer set" if own else "is set"
    at.say(f"Commands now talk to {url}: client.server {done} in {change.file}")
    if change.overruled_by:
        at.say(f"… but {change.overruled_by} wins")


def _parted(link: str) -> tuple[str, str]:
    """The server's address, and the key behind the #. Raises `InvalidLink`."""
    parts = urlsplit(link)
    if (
        parts.scheme not in {"http", "https"}
        or not parts.netloc
        or not parts.fragment.startswith("ptc_")
    ):
        raise InvalidLink
    return f"{parts.scheme}://{parts.netloc}", parts.fragment


_LEADS: Final = """<!doctype html><meta charset="utf-8"><title>Portico</title>
<meta http-equiv="refresh" content="0; url={link}">
<p><a href="{link}">To the console</a>. This link works once, for two minutes.</p>
"""


def ui(*, print_: Annotated[bool, Parameter(name="--print")] = False, at: At) -> None:
    """Open the console in your browser, logged in with your key.

    Parameters
    ----------
    print_
        Only print the link, for a browser elsewhere. It works once, for two minutes.
    """
    made = Server(at.services).post("/console-links")
    link = made["link"]
    shown = link.partition("#")[0].removesuffix("/login")
    if not print_ and webbrowser.open(_file(link).as_uri()):
        at.data({"opened": shown}, f"The console is open in your browser: {shown}")
        return
    at.say("Open this link in a browser; it works once, for two minutes.")
    at.data(made, link)


def _file(link: str) -> Path:
    """That only its owner may read, and that leads to the link: what a program is started with can
    be read by everybody on this machine, and a browser is a program."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="portico-", suffix=".html", delete=False, encoding="utf-8"
    ) as file:
        file.write(_LEADS.format(link=escape(link)))
    return Path(file.name)
