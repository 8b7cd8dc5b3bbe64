"""`portico bridge post`: say something in a conversation."""

import mimetypes
import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Final

from cyclopts import Parameter

from portico.interfaces.cli.bridge_names import (
    find_conversation,
    find_message,
    find_people,
    names_of_people,
    short,
)
from portico.interfaces.cli.bridge_words import raised_line
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.moments import deadline
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At, Terminal

_UNKNOWN: Final = "application/octet-stream"
_Names = Annotated[list[str] | None, Parameter(consume_multiple=True)]


def post(  # noqa: PLR0913 # an option each
    conversation: str,
    text: str | None = None,
    /,
    *,
    reply: str | None = None,
    to: _Names = None,
    ack: bool = False,
    by: str | None = None,
    attach: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None,
    label: LabelOption = None,
    key: str | None = None,
    at: At,
) -> None:
    """Say something. Whom the text names with an @ is told of it.

    portico bridge post plan "@helper what is left to do?"

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    text
        What to say; from standard input if left away.
    reply
        The message that this answers: its id, or six letters or more of it.
    to
        To whom it is directed, by name. Others who are cleared can read it as well.
    ack
        Those to whom it is directed are to say that they have it: portico bridge ack
    by
        With --ack: until when, such as 2h or 2026-05-01T14:30.
    attach
        Files that go with it, 25 megabytes each at most.
    label
        How secret it is: at least what you have read here, and as much, if left away.
    key
        Of your own: the same key again is the same message, however often it is sent.
    """
    if by is not None and not ack:
        raise BadUsage("--by says until when --ack is wanted.", fix="Say both, or neither.")
    server = Server(at.house)
    found = find_conversation(server, conversation)
    digests = [
        attached(server, found["project"], file, label, at)["digest"] for file in attach or ()
    ]
    wish: dict[str, Any] = {
        "body": _given(text, empty=bool(digests)),
        "reply_to": None if reply is None else find_message(server, reply, inside=found["id"]),
        "addressed": find_people(server, to) if to else [],
        "attachments": digests,
        "acknowledge": {"until": deadline("--by", by)} if ack else None,
        "label": label,
    }
    sent = server.post(path_to("conversations", found["id"], "messages"), wish, key=key)
    at.data(sent, f"Said in {found['title']}, as {short(sent['id'])}.")
    if raised := raised_line(sent, found["label"]):
        at.say(raised)
    if sent["absent"]:
        at.say(_absent(server, sent["absent"], found["title"]))


def _absent(server: Server, absent: Sequence[str], title: str) -> str:
    known = names_of_people(server)
    names = [known.get(who, short(who)) for who in absent]
    return (
        f"Not told, since they take no part: {', '.join(names)}. Bring them in, and say it again:"
        f" portico bridge conversations join {quote(title)} {quote(names[0])}"
    )


def attached(
    server: Server, project: str, file: Path, label: str | None, at: Terminal
) -> dict[str, Any]:
    """What the server says of a file that was sent to it."""
    kind = mimetypes.guess_type(file.name)[0] or _UNKNOWN
    with at.working(f"sending {file.name}"):
        path = path_to("projects", project, "attachments")
        made: dict[str, Any] = server.upload(
            path, file.read_bytes(), kind, name=file.name, label=label
        )
    return made


def _given(text: str | None, *, empty: bool) -> str:
    """Raises `BadUsage`."""
    if text is None and not sys.stdin.isatty() and not empty:
        text = sys.stdin.read().strip()
    if not (text and text.strip()) and not empty:
        raise BadUsage("Nothing was said.", fix='portico bridge post CONVERSATION "A text"')
    return text or ""
