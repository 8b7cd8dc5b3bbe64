"""People and agents, from the command line."""

from shlex import quote
from typing import Any, Literal

from cyclopts import App

from portico.guard.core.errors import PrincipalNotFound
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import PLAIN, At, day

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
        raise BadUsage(
            "A new link changes nothing about who it is for: --again goes without --role and "
            "--clearance.",
            fix=f"Change them by themselves: portico people change {quote(name)} …",
        )
    server = Server(at.house)
    if again:
        made = server.post(path_to("invitations", find(server, name)["id"], "again"))
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
    at.facts(Server(at.house).post("/principals", wish))


@app.command(name="list", sort_key=3)
def list_(*, at: At) -> None:
    """Everybody in this space."""
    found = list(Server(at.house).pages("/principals"))
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
        raise BadUsage(
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
    server = Server(at.house)
    at.facts(server.patch(path_to("principals", find(server, who)["id"]), change))
