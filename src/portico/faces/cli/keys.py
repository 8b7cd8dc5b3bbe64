"""Keys, from the command line."""

from cyclopts import App

from portico.faces.cli.server import Server
from portico.faces.cli.terminal import PLAIN, At, day

app = App(
    name="keys",
    help="Make, list, rotate and revoke keys.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_COLUMNS = ["id", "name", "holder", "scopes", "clearance", "expires", "last_used", "state"]


@app.command(sort_key=1)
def create(
    name: str,
    /,
    *,
    to: str | None = None,
    scope: list[str] | None = None,
    clearance: str | None = None,
    days: int | None = None,
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
    days
        How long it works; until it is revoked if left away.
    """
    server = Server(at.house)
    principal = _find(server, to) if to else None
    wish = {
        "name": name,
        "principal": principal,
        "scopes": scope,
        "clearance": clearance,
        "days": days,
    }
    made = server.post("/keys", wish)
    at.say("Keep it now: it is not shown again.")
    at.data(made, made["key"])


@app.command(name="list", sort_key=2)
def list_(*, at: At) -> None:
    """The keys that you may see."""
    server = Server(at.house)
    keys = list(server.pages("/keys"))
    names = _names(server)
    rows = [
        each
        | {
            "holder": names.get(each["principal"], each["principal"]),
            "scopes": "all" if each["scopes"] is None else len(each["scopes"]),
            "expires": day(each["expires_at"]),
            "last_used": day(each["last_used_at"]),
            "state": _state(each),
        }
        for each in keys
    ]
    at.table(_COLUMNS, rows, {"data": keys})


@app.command(sort_key=3)
def rotate(key: str, /, *, overlap_hours: int = 24, at: At) -> None:
    """Make a new key in the place of KEY; both work during the overlap.

    Parameters
    ----------
    key
        Its id, as `keys list` shows it.
    overlap_hours
        How long the old one goes on working.
    """
    made = Server(at.house).post(f"/keys/{key}/rotate", {"overlap_hours": overlap_hours})
    at.say("Keep it now: it is not shown again.")
    at.data(made, made["key"])


@app.command(sort_key=4)
def revoke(key: str, /, *, at: At) -> None:
    """End KEY at once.

    Parameters
    ----------
    key
        Its id, as `keys list` shows it.
    """
    Server(at.house).delete(f"/keys/{key}")
    at.data({"revoked": key}, f"Revoked {key}.")


def _find(server: Server, who: str) -> str:
    from portico.faces.cli.people import find

    return str(find(server, who)["id"])


def _names(server: Server) -> dict[str, str]:
    from portico.faces.cli.server import Refused

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
