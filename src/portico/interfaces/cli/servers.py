"""Servers of tools, from the command line."""

from typing import Annotated, Final, Literal

from cyclopts import App, Parameter

from portico.gateway.core.servers import OURS
from portico.interfaces.cli.errors import NeedsYes
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.server_approval import Approval
from portico.interfaces.cli.server_label import label
from portico.interfaces.cli.server_login import login, login_config, logout
from portico.interfaces.cli.server_profile import NOT_BOXED, profile
from portico.interfaces.cli.server_words import (
    approved,
    failures,
    launch_of,
    review_rows,
    server_facts,
    server_row,
)
from portico.interfaces.cli.terminal import PLAIN, At, Terminal

app = App(
    name="servers",
    help="Add, approve and look after servers of tools.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_COLUMNS: Final = ["name", "state", "label", "tools", "tokens", "phase", "origin", "may_reach"]


@app.command(name="list", sort_key=1)
def list_(*, at: At) -> None:
    """Every server, how it is, what it may reach, and what its tools would cost without a
    gateway."""
    found = Server(at.house).get("/servers")
    at.table(
        _COLUMNS,
        [server_row(each) for each in found],
        {"data": found},
        right=["tokens"],
        fold=["origin", "may_reach"],
        red=[NOT_BOXED],
    )
    for line in failures(found):
        at.say(line)
    if all(each["origin"] == OURS for each in found):
        at.say("No servers yet. Import those you have: portico init, or: portico servers add NAME")


@app.command(name="show", sort_key=2)
def show(name: str, /, *, at: At) -> None:
    """One server: what is started, what was approved, how it is."""
    found = Server(at.house).get(path_to("servers", name))
    if at.json:
        at.data(found, "")
    else:
        at.facts(server_facts(found))


@app.command(name="add", sort_key=3)
def add(  # noqa: PLR0913 # an option each
    name: str,
    /,
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    url: str | None = None,
    env: list[str] | None = None,
    header: list[str] | None = None,
    transport: Literal["streamable", "sse"] | None = None,
    folder: str | None = None,
    timeout: float | None = None,
    at: At,
) -> None:
    """Add a server: the command that starts it, or where it answers.

    It is not started before it is approved.

    portico servers add time -- uvx mcp-server-time@2026.10.19

    portico servers add tracker --url https://tools.example/mcp --header 'Authorization=$TOKEN'

    Parameters
    ----------
    name
        Small letters, digits and -.
    command
        What is started, after --.
    url
        Where it answers, if it is not started here.
    env
        NAME=VALUE, NAME=secret:NAME for what `portico secrets set` was given, or NAME=$VARIABLE
        to take it from the server's own environment; only what is named here is given to it.
    header
        NAME=VALUE, NAME=secret:NAME, 'NAME=Bearer secret:NAME' or NAME=$VARIABLE.
    transport
        How it is spoken to; found out if left away.
    folder
        Where it is started.
    timeout
        Seconds that one call may take.
    """
    launch = launch_of(
        command, url=url, env=env or [], header=header or [], transport=transport, folder=folder
    )
    made = Server(at.house).post("/servers", {"name": name, "launch": launch, "timeout": timeout})
    at.data(made, made["name"])
    at.say(f"Added, and not started. Look at it and approve it: portico servers approve {name}")


@app.command(name="approve", sort_key=4)
def approve(
    name: str,
    /,
    *,
    yes: bool = False,
    all_effects: Annotated[bool, Parameter(name="--all")] = False,
    tool: list[str] | None = None,
    unboxed: bool = False,
    at: At,
) -> None:
    """Allow a server to be started, look at what it offers, and let it in.

    Parameters
    ----------
    name
        Which one.
    yes
        Do not ask; lowers only the effects of tools proposed to be reads.
    all_effects
        Accept every proposed effect, not only the reads.
    tool
        Let only this tool in, by its own name; may be given several times. The others stay as
        they are.
    unboxed
        Agree that it runs without a box, where this machine has none: the command that is shown
        then has all your rights. Who agreed is recorded, and it holds for exactly this command.
    """
    Approval(
        at=at,
        server=Server(at.house),
        name=name,
        yes=yes,
        all_effects=all_effects,
        only=tool or (),
        unboxed=unboxed,
    )()


@app.command(name="diff", sort_key=5)
def diff(name: str, /, *, at: At) -> None:
    """What changed since a server was approved."""
    review = Server(at.house).get(path_to("servers", name, "review"))
    rows = review_rows(review)
    if rows or at.json:
        columns = ["tool", "standing", "place", "before", "after"]
        at.table(columns, rows, review, fold=["place", "before", "after"])
    elif approved(review):
        at.say("It is as it was approved.")
    else:
        at.say(f"It waits for approval. Look at all of it: portico servers approve {name}")


@app.command(name="enable", sort_key=6)
def enable(name: str, /, *, at: At) -> None:
    """Switch a server on."""
    _switch(at, name, "enable")


@app.command(name="disable", sort_key=7)
def disable(name: str, /, *, at: At) -> None:
    """Switch a server off: its tools are not found, its process is ended."""
    _switch(at, name, "disable")


@app.command(name="restart", sort_key=8)
def restart(name: str, /, *, at: At) -> None:
    """End a server, start it anew, and ask it what it offers."""
    with at.working(f"starting {name}"):
        found = Server(at.house).post(path_to("servers", name, "restart"))
    changed = "something changed" if found["changed"] else "nothing changed"
    at.data(found, f"{name}: {found['tools']} tools, {changed}")
    for unreadable in found["unreadable"]:
        at.say(f"left out: {unreadable}")


@app.command(name="logs", sort_key=9)
def logs(name: str, /, *, at: At) -> None:
    """What a server's process last wrote for people."""
    found = Server(at.house).get(path_to("servers", name, "logs"))
    at.data(found, "\n".join(found["lines"]) or "Nothing so far.")


app.command(profile, name="profile", sort_key=10)
app.command(label, name="label", sort_key=11)
app.command(login, name="login", sort_key=12)
app.command(logout, name="logout", sort_key=13)
app.command(login_config, name="login-config", sort_key=14)


@app.command(name="remove", sort_key=15)
def remove(name: str, /, *, yes: bool = False, at: At) -> None:
    """Take a server and its tools away.

    Parameters
    ----------
    name
        Which one; one that a file describes is removed there.
    yes
        Do not ask.
    """
    _ask(at, f"Remove {name}, and what was approved of it?", yes=yes)
    Server(at.house).delete(path_to("servers", name))
    at.say(f"{name} is removed.")


def _switch(at: Terminal, name: str, act: str) -> None:
    found = Server(at.house).post(path_to("servers", name, act))
    at.data(found, f"{name} is {'on' if found['enabled'] else 'off'}")


def _ask(at: Terminal, question: str, *, yes: bool) -> None:
    if not yes and not at.confirm(question):
        raise NeedsYes(question)
