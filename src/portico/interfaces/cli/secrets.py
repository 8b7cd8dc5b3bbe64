"""Secrets, from the command line: typed unseen or read from standard input, never an argument."""

import getpass
import sys
from typing import TYPE_CHECKING

from cyclopts import App

from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import PLAIN, At
from portico.kernel.redaction import hidden

if TYPE_CHECKING:
    from portico.kernel.json import JsonObject

app = App(
    name="secrets",
    help="Give Portico secrets by name, for servers of tools.",
    help_format="plaintext",
    default_parameter=PLAIN,
)


@app.command(name="set", sort_key=1)
def set_(name: str, /, *, at: At) -> None:
    """Set a secret: it is asked for unseen, or read from standard input.

    portico secrets set github

    portico servers add github --env GITHUB_TOKEN=secret:github -- npx -y some-server@1.2.3

    Parameters
    ----------
    name
        What servers refer to it by, as secret:NAME.
    """
    value = _given(at, name)
    made = Server(at.house).put(path_to("secrets", name), {"value": value})
    at.data(made, f"{name} is set, and kept in the {_kept_in(made['where'])}.")
    if made["used_by"]:
        at.say(f"Used when they are started again: {', '.join(made['used_by'])}")
    if not hidden(value):
        at.say("It is too short, or too plain a word, to be blacked out wherever it turns up.")


@app.command(name="list", sort_key=2)
def list_(*, at: At) -> None:
    """Which secrets there are; never what they are."""
    found = Server(at.house).get("/secrets")
    rows: list[JsonObject] = [
        {
            "name": each["name"],
            "where": each["where"],
            "used_by": ", ".join(each["used_by"]),
            "set_at": each["set_at"],
            "set_by": each["set_by"],
        }
        for each in found
    ]
    at.table(["name", "where", "used_by", "set_at", "set_by"], rows, found)


@app.command(name="unset", sort_key=3)
def unset(name: str, /, *, at: At) -> None:
    """Forget a secret; a server that refers to it does not start any more.

    Parameters
    ----------
    name
        Which one.
    """
    Server(at.house).delete(path_to("secrets", name))
    at.say(f"{name} is forgotten.")


@app.command(name="rotate", sort_key=4)
async def rotate(*, at: At) -> None:
    """Exchange the key that seals logins and waiting calls in the database.

    Everything that it has sealed is sealed anew, while servers go on; then it is forgotten. If it
    is interrupted, run it again.
    """
    with at.working("sealing anew"):
        done = await at.house.rotate_vault()
    facts: JsonObject = {
        "key": done.key,
        "sealed_anew": done.sealed_anew,
        "lost": done.lost,
        "left": [*done.left],
    }
    at.data(facts, f"Sealed anew: {done.sealed_anew}. The key is now {done.key}.")
    if done.lost:
        at.alarm(f"{done.lost} cannot be opened with any key that is here, and stay as they were.")
    if done.left:
        at.say(f"Take these away where secrets.keys leads to: {', '.join(done.left)}")


def _given(at: At, name: str) -> str:
    """Raises `BadUsage`."""
    if not sys.stdin.isatty():
        value = sys.stdin.read()
    elif at.no_input:
        raise BadUsage("Nobody is to be asked.", fix="Send the value on standard input.")
    else:
        value = getpass.getpass(f"Value of {name} (not shown): ")
    value = value.rstrip("\r\n")
    if not value:
        raise BadUsage("No value was given.", fix="Type it, or send it on standard input.")
    return value


def _kept_in(where: str) -> str:
    return "system's keyring" if where == "keyring" else "encrypted file"
