"""Accept an invitation."""

import sys
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from cyclopts import Parameter

from portico.interfaces.cli.errors import FileInTheWay
from portico.interfaces.cli.terminal import At
from portico.kernel.errors import Kind, PorticoError

if TYPE_CHECKING:
    from portico.interfaces.cli.server import Server


class BadLink(PorticoError):
    kind = Kind.INVALID
    code = "bad_link"
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
    where = at.house.whereabouts()
    if save and not replace and where.key_file.exists():
        fix = "Leave --save away to see the new key, or give up the old one: --replace"
        raise FileInTheWay(where.key_file, fix=fix)  # before the invitation is used up
    own = where.server_url if where.data.exists() else None  # before anything is kept here
    made = Server(at.house, key=key, url=url).post("/invitations/accept")
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
    _for_programs(at, Server(at.house, key=made["key"], url=url))
    at.data({"key_file": str(where.key_file), "server": url}, f"Your key is in {where.key_file}.")
    if url != (where.remote or own):
        _talk_to(at, url, own=url == own)


def _save(at: At, key: str) -> None:
    at.say("Welcome.")
    try:
        at.house.save_key(key)
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
    at.house.save_key(made["key"], agent=True)


def _talk_to(at: At, url: str, *, own: bool) -> None:
    change = at.house.change_setting("client.server", None if own else url)
    done = "is no longer set" if own else "is set"
    at.say(f"Commands now talk to {url}: client.server {done} in {change.file}")
    if change.overruled_by:
        at.say(f"… but {change.overruled_by} wins")


def _parted(link: str) -> tuple[str, str]:
    """The server's address, and the key behind the #. Raises `BadLink`."""
    parts = urlsplit(link)
    if (
        parts.scheme not in {"http", "https"}
        or not parts.netloc
        or not parts.fragment.startswith("ptc_")
    ):
        raise BadLink
    return f"{parts.scheme}://{parts.netloc}", parts.fragment
