"""`portico bridge read`: what was said in a conversation."""

from shlex import quote
from typing import Annotated, Any, Final

from cyclopts import Parameter

from portico.interfaces.cli.bridge_names import find_conversation, find_message, names_of_people
from portico.interfaces.cli.bridge_words import Shown
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At

_USUAL: Final = 20
_PAGE: Final = 200

Messages = list[dict[str, Any]]


def read(  # noqa: PLR0913 # an option each
    conversation: str,
    /,
    *,
    last: int | None = None,
    all_: Annotated[bool, Parameter(name="--all")] = False,
    thread: str | None = None,
    upto: LabelOption = None,
    keep_unread: bool = False,
    at: At,
) -> None:
    """What was said last, oldest first: all that you have not read, and at least twenty. It then
    counts as read.

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    last
        So many of the last ones.
    all_
        From the very first.
    thread
        Only the thread of this message: its id, or six letters or more of it.
    upto
        Nothing that is more secret than this: what you write afterwards need not be either.
    keep_unread
        It does not count as read.
    """
    if last is not None and all_:
        raise BadUsage("Either --last or --all.")
    server = Server(at.house)
    found = find_conversation(server, conversation)
    its = found["id"]
    if thread is not None:
        name = find_message(server, thread, inside=its)
        told: Messages = list(server.pages(path_to("messages", name, "thread"), limit=_PAGE))
        _show(server, at, found, told, {"data": told})
        return
    end = server.get(path_to("conversations", its, "cursor"), upto=upto)["cursor"]
    told, more = _all(server, its, upto) if all_ else _last(server, its, last, upto)
    if not keep_unread:
        server.post(path_to("conversations", its, "read"), {"cursor": end, "upto": upto})
    _show(server, at, found, told, {"data": told, "cursor": end, "more": more})
    if more:
        at.say(f"There is more before that: portico bridge read {quote(conversation)} --all")


def _last(server: Server, its: str, wanted: int | None, upto: str | None) -> tuple[Messages, bool]:
    """And whether there are older ones."""
    unread = 0
    if wanted is None:
        waiting = server.get("/inbox", upto=upto)["unread"]
        unread = next((each["count"] for each in waiting if each["conversation"]["id"] == its), 0)
    left = wanted or max(unread, _USUAL)
    told: Messages = []
    before, more = "end", True
    while left > 0 and more:
        page = server.get(
            path_to("conversations", its, "messages"),
            before=before,
            limit=min(left, _PAGE),
            upto=upto,
        )
        told = [*page["data"], *told]
        before, more = page["cursor"], page["more"]
        left -= len(page["data"]) or left
    return told, more


def _all(server: Server, its: str, upto: str | None) -> tuple[Messages, bool]:
    told: Messages = []
    cursor, more = None, True
    while more:
        page = server.get(
            path_to("conversations", its, "messages"), cursor=cursor, limit=_PAGE, upto=upto
        )
        told += page["data"]
        cursor, more = page["cursor"], page["more"]
    return told, False


def _show(
    server: Server, at: At, found: dict[str, Any], told: Messages, value: dict[str, Any]
) -> None:
    if at.json:
        at.data(value, "")
        return
    me = server.get("/me")["id"]
    shown = Shown(at, me=me, labels={found["id"]: found["label"]}, people=names_of_people(server))
    for message in told:
        shown.show(message)
    if not told:
        at.say(f'Nothing was said yet. To begin: portico bridge post {quote(found["title"])} "…"')
