"""`portico secrets`, and logins at servers."""

import getpass
import sys
import time
import webbrowser
from typing import Annotated, Final

from cyclopts import App, Parameter

from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.server import Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.json import JsonObject
from portico.kernel.redaction import hidden

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
    made = Server(at.services).put(api_path("secrets", name), {"value": value})
    at.data(made, f"{name} is set, and kept in the {_kept_in(made['where'])}.")
    if made["used_by"]:
        at.say(f"Used when they are started again: {', '.join(made['used_by'])}")
    if not hidden(value):
        at.say("It is too short, or too plain a word, to be blacked out wherever it turns up.")


@app.command(name="list", sort_key=2)
def list_(*, at: At) -> None:
    """Which secrets there are; never what they are."""
    found = Server(at.services).get("/secrets")
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
    Server(at.services).delete(api_path("secrets", name))
    at.say(f"{name} is forgotten.")


@app.command(name="rotate", sort_key=4)
async def rotate(*, at: At) -> None:
    """Exchange the key that seals logins and waiting calls in the database.

    Everything that it has sealed is sealed anew, while servers go on; then it is forgotten. If it
    is interrupted, run it again.
    """
    with at.working("sealing anew"):
        done = await at.services.rotate_vault()
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
    """Raises `InvalidUsage`."""
    if not sys.stdin.isatty():
        value = sys.stdin.read()
    elif at.no_input:
        raise InvalidUsage("Nobody is to be asked.", fix="Send the value on standard input.")
    else:
        value = getpass.getpass(f"Value of {name} (not shown): ")
    value = value.rstrip("\r\n")
    if not value:
        raise InvalidUsage("No value was given.", fix="Type it, or send it on standard input.")
    return value


def _kept_in(where: str) -> str:
    return "system's keyring" if where == "keyring" else "encrypted file"


_PAUSE: Final = 1.0
_PATIENCE: Final = 600.0


class NotLoggedInYet(PorticoError):
    kind = Kind.DENIED
    code = "not_logged_in"
    title = "Nobody has logged in"

    def __init__(self, name: str) -> None:
        super().__init__(
            "The link was not used, and works no more.",
            fix=f"Begin again: portico servers login {name}",
        )


def login(
    name: str,
    /,
    *,
    browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
    wait: Annotated[bool, Parameter(negative="--no-wait")] = True,
    at: At,
) -> None:
    """Log in to a server that wants to know who is calling.

    Shows a link, opens it in a browser where there is one, and waits until you have logged in. It
    is your login: nobody else's call is made with it.

    Parameters
    ----------
    name
        Which one.
    browser
        Open the link, if you are at this machine.
    wait
        Wait until you have logged in.
    """
    server = Server(at.services)
    before = server.get(api_path("servers", name, "login"))
    if before["logged_in"]:
        at.data(before, f"You are logged in to {name} already.")
        at.say(f"To log in as somebody else: portico servers logout {name}")
        return
    link = server.post(api_path("servers", name, "login"))
    if at.json and not wait:
        at.data(link, "")
        return
    at.say(f"Log in here, within ten minutes:\n\n  {link['login_url']}\n")
    if browser and at.for_a_person:
        webbrowser.open(link["login_url"])
    if wait:
        with at.working("waiting for you to log in"):
            found = _waited(server, name)
        at.data(found, f"You are logged in to {name}.")


def _waited(server: Server, name: str) -> JsonObject:
    until = time.monotonic() + _PATIENCE
    while True:
        found: JsonObject = server.get(api_path("servers", name, "login"))
        if found["logged_in"]:
            return found
        if time.monotonic() > until:
            raise NotLoggedInYet(name)
        time.sleep(_PAUSE)


def logout(name: str, /, *, at: At) -> None:
    """Forget your login at a server, here and, where that is offered, there.

    Parameters
    ----------
    name
        Which one.
    """
    Server(at.services).delete(api_path("servers", name, "login"))
    at.say(f"You are not logged in to {name} any more.")


def login_config(  # noqa: PLR0913 # an option each
    name: str,
    /,
    *,
    client_id: str | None = None,
    client_secret: str | None = None,
    issuer: str | None = None,
    scope: str | None = None,
    default: bool = False,
    at: At,
) -> None:
    """Say where people log in to a server, and as what Portico is known there.

    Only what a server does not say itself has to be said: most let Portico register itself.

    portico servers login-config tracker --client-id portico --client-secret secret:tracker

    Parameters
    ----------
    name
        Which one.
    client_id
        As what Portico is registered there.
    client_secret
        Where its secret is, as secret:NAME: portico secrets set NAME
    issuer
        Who lets people in; has to be said if it is on this machine or in its network.
    scope
        What to ask for.
    default
        Go back to what the server says itself.
    """
    server, said = Server(at.services), [client_id, client_secret, issuer, scope]
    given = any(each is not None for each in said)
    if given == default:
        raise InvalidUsage("Say --client-id, --client-secret, --issuer or --scope, or --default.")
    if default:
        server.delete(api_path("servers", name, "login-client"))
        at.say(f"What {name} says itself counts again.")
        return
    body = {"client_id": client_id, "client_secret": client_secret, "issuer": issuer}
    found = server.put(api_path("servers", name, "login-client"), {**body, "scope": scope})
    if at.json:
        at.data(found, "")
    else:
        at.details({field: each for field, each in found.items() if each is not None})
