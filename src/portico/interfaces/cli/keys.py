"""`portico keys`: create, list, rotate, trust, revoke."""

from typing import Annotated

from cyclopts import App, Parameter

from portico.interfaces.cli.errors import FileInTheWay, InvalidUsage
from portico.interfaces.cli.server import Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At, day

app = App(
    name="keys",
    help="Make, list, rotate, trust and revoke keys.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_COLUMNS = ["id", "name", "holder", "scopes", "clearance", "expires", "last_used", "state"]
_IN_THE_WAY = "Leave --save away to see the new key, or give up the old one: --replace"


@app.command(name="create", sort_key=1)
def create(  # noqa: PLR0913 # an option each
    name: str,
    /,
    *,
    to: str | None = None,
    scope: list[str] | None = None,
    clearance: str | None = None,
    tools: list[str] | None = None,
    days: int | None = None,
    agent: bool = False,
    save: bool = False,
    replace: bool = False,
    at: At,
) -> None:
    """Make a key. It is shown this once.

    Parameters
    ----------
    name
        What the key is for.
    to
        Name or id of the person or agent who will hold it; you, if left away.
    scope
        Narrow it to this scope; may be given several times.
    clearance
        Narrow it to this clearance: team, confidential+finance …
    tools
        The only tools that it is good for, with wildcards: 'github.*'; may be given several times.
    days
        How long it works; until it is revoked if left away.
    agent
        For a program that acts for you and is not you: a new agent of that name holds it, which
        cannot answer requests for approval.
    save
        With --agent: keep it in the file that `portico stdio` reads instead of printing it.
    replace
        With --save: even if there is a key in it already, which is then lost.
    """
    if (agent and to) or (save and not agent):
        raise InvalidUsage(
            "--agent makes a holder itself, and --save is for an agent's key.",
            fix="For somebody who is there already: --to NAME, without --agent and --save.",
        )
    kept = at.services.whereabouts().agent_key_file
    if save and kept.exists() and not replace:
        raise FileInTheWay(kept, fix=_IN_THE_WAY)
    server = Server(at.services)
    principal = _find(server, to) if to else None
    wish = {
        "name": name,
        "principal": principal,
        "scopes": scope,
        "clearance": clearance,
        "tools": tools,
        "days": days,
        "agent": agent,
    }
    made = server.post("/keys", wish)
    if save:
        file = at.services.save_key(made["key"], agent=True)
        at.data({"key_file": str(file)}, f"The key is in {file}.")
        return
    at.say("Keep it now: it is not shown again.")
    at.data(made, made["key"])


@app.command(name="list", sort_key=2)
def list_(*, at: At) -> None:
    """The keys that you may see."""
    server = Server(at.services)
    keys = list(server.pages("/keys"))
    names = _names(server)
    rows = [
        each
        | {
            "holder": names.get(each["principal"], each["principal"]),
            "scopes": "all" if each["scopes"] is None else len(each["scopes"]),
            "tools": "all" if each["tools"] is None else " ".join(each["tools"]),
            "expires": day(each["expires_at"]),
            "last_used": day(each["last_used_at"]),
            "state": _state(each),
        }
        for each in keys
    ]
    narrowed = any(each["tools"] is not None for each in keys)
    columns = [*_COLUMNS[:4], "tools", *_COLUMNS[4:]] if narrowed else _COLUMNS
    at.table(columns, rows, {"data": keys}, fold=["tools"] if narrowed else [])


@app.command(name="rotate", sort_key=3)
def rotate(key: str, /, *, overlap_hours: int = 24, at: At) -> None:
    """Make a new key in the place of KEY; both work during the overlap.

    Parameters
    ----------
    key
        Its id, as `keys list` shows it.
    overlap_hours
        How long the old one goes on working.
    """
    made = Server(at.services).post(
        api_path("keys", key, "rotate"), {"overlap_hours": overlap_hours}
    )
    at.say("Keep it now: it is not shown again.")
    at.data(made, made["key"])


@app.command(name="revoke", sort_key=4)
def revoke(key: str, /, *, at: At) -> None:
    """End KEY at once.

    Parameters
    ----------
    key
        Its id, as `keys list` shows it.
    """
    Server(at.services).delete(api_path("keys", key))
    at.data({"revoked": key}, f"Revoked {key}.")


@app.command(name="trust", sort_key=5)
def trust(
    key: str,
    /,
    *,
    person: Annotated[str | None, Parameter(name="--as")] = None,
    nobody: bool = False,
    at: At,
) -> None:
    """Say whose word it is when KEY's program passes on what its user has answered to a request
    for approval; without an option, show it. By default it is nobody's.

    Only for a program in which a model cannot answer in its user's place.

    Parameters
    ----------
    key
        Its id, as `keys list` shows it.
    person
        The name or id of whoever sits at it: you, or with the right to change people, another.
    nobody
        Nobody's any more.
    """
    if person and nobody:
        raise InvalidUsage("Either --as or --nobody.")
    server = Server(at.services)
    if person or nobody:
        whom = _find(server, person) if person else None
        told = server.put(api_path("keys", key, "trust"), {"person": whom})
    else:
        told = server.get(api_path("keys", key, "trust"))
    name = _names(server).get(told["person"], told["person"]) if told["person"] else "nobody"
    at.data(told, f"What the program with {key} passes on is the word of {name}.")


def _find(server: Server, who: str) -> str:
    from portico.interfaces.cli.principals import find

    return str(find(server, who)["id"])


def _names(server: Server) -> dict[str, str]:
    from portico.interfaces.cli.server import Refused

    try:
        return {each["id"]: each["name"] for each in server.pages("/principals")}
    except Refused:
        return {}


def _state(key: dict[str, str | None]) -> str:
    if key["revoked_at"]:
        return "revoked"
    from datetime import UTC, datetime

    expires = key["expires_at"]
    now = datetime.now(UTC)  # noqa: TID251 # shown to a person
    return "expired" if expires and datetime.fromisoformat(expires) <= now else "active"
