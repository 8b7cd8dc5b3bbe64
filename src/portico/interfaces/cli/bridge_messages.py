"""Messages of the bridge: post, read, watch, search, change, acknowledge, attach, declassify."""

import json
import mimetypes
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Final

from cyclopts import Parameter

from portico.interfaces.cli.agent_text import brief, plain
from portico.interfaces.cli.bridge_text import (
    Shown,
    conversation_id,
    find_conversation,
    find_message,
    find_people,
    find_project,
    names_of_people,
    project_id,
    raised_in,
    raised_line,
    short,
    titles_of,
)
from portico.interfaces.cli.errors import ConfirmationRequired, InvalidUsage
from portico.interfaces.cli.server import RESET, Following, Server, api_path
from portico.interfaces.cli.terminal import (
    At,
    LabelOption,
    Terminal,
    check_free,
    deadline,
    human_size,
)
from portico.kernel.json import JsonObject

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
        raise InvalidUsage("--by says until when --ack is wanted.", fix="Say both, or neither.")
    server = Server(at.services)
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
    sent = server.post(api_path("conversations", found["id"], "messages"), wish, key=key)
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
        path = api_path("projects", project, "attachments")
        made: dict[str, Any] = server.upload(
            path, file.read_bytes(), kind, name=file.name, label=label
        )
    return made


def _given(text: str | None, *, empty: bool) -> str:
    """Raises `InvalidUsage`."""
    if text is None and not sys.stdin.isatty() and not empty:
        text = sys.stdin.read().strip()
    if not (text and text.strip()) and not empty:
        raise InvalidUsage("Nothing was said.", fix='portico bridge post CONVERSATION "A text"')
    return text or ""


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
        raise InvalidUsage("Either --last or --all.")
    server = Server(at.services)
    found = find_conversation(server, conversation)
    its = found["id"]
    if thread is not None:
        name = find_message(server, thread, inside=its)
        told: Messages = list(server.pages(api_path("messages", name, "thread"), limit=_PAGE))
        _show(server, at, found, told, {"data": told})
        return
    end = server.get(api_path("conversations", its, "cursor"), upto=upto)["cursor"]
    told, more = _all(server, its, upto) if all_ else _last(server, its, last, upto)
    if not keep_unread:
        server.post(api_path("conversations", its, "read"), {"cursor": end, "upto": upto})
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
            api_path("conversations", its, "messages"),
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
            api_path("conversations", its, "messages"), cursor=cursor, limit=_PAGE, upto=upto
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


_MOST: Final = 16
_WATCH_USUAL: Final = 10


def watch(
    conversations: Annotated[list[str], Parameter(negative=())],
    /,
    *,
    last: int = _WATCH_USUAL,
    upto: LabelOption = None,
    keep_unread: bool = False,
    at: At,
) -> None:
    """Follow conversations: what was said last, and what is said from now on, until Ctrl-C.

    Parameters
    ----------
    conversations
        Their titles, PROJECT/TITLE, or their ids; sixteen at most.
    last
        So many of what was said last come first.
    upto
        Nothing that is more secret than this.
    keep_unread
        It does not count as read.
    """
    if len(conversations) > _MOST:
        raise InvalidUsage(f"At most {_MOST} conversations at once.")
    server = Server(at.services)
    found = {
        each["id"]: each for each in (find_conversation(server, text) for text in conversations)
    }
    shown = Shown(
        at,
        me=server.get("/me")["id"],
        labels={name: each["label"] for name, each in found.items()},
        titles={name: each["title"] for name, each in found.items()},
        people=names_of_people(server),
    )
    watching = _Watching(server, shown, sorted(found), upto=upto, keep_unread=keep_unread)
    watching.begin(last)
    at.say(f"Following {', '.join(each['title'] for each in found.values())}; Ctrl-C ends.")
    watching.follow()


@dataclass
class _Watching:
    server: Server
    shown: Shown
    conversations: Sequence[str]
    upto: str | None
    keep_unread: bool
    cursor: str | None = None

    @property
    def at(self) -> Terminal:
        return self.shown.at

    def begin(self, last: int) -> None:
        """The end is looked up first: what is said meanwhile is not missed."""
        self.cursor = self.server.get(
            "/bridge/cursor", conversation=self.conversations, upto=self.upto
        )["cursor"]
        if last <= 0:
            return
        told: list[dict[str, Any]] = []
        for each in self.conversations:
            path = api_path("conversations", each, "messages")
            told += self.server.get(path, before="end", limit=min(last, 200), upto=self.upto)[
                "data"
            ]
        for message in sorted(told, key=lambda each: each["sent_at"])[-last:]:
            self._tell(message)

    def follow(self) -> None:
        """Being told is only to be woken: what is new is read from where one stands."""
        query: dict[str, Any] = {"conversation": self.conversations}
        if self.upto is not None:
            query["upto"] = self.upto
        following = Following(self.server, self.at.say)
        for told in following("/bridge/events", **query):
            if told.type == RESET:
                self.at.say("What you may see has changed.")
            self._catch_up()

    def _catch_up(self) -> None:
        more = True
        while more:
            page = self.server.get(
                "/bridge/messages",
                conversation=self.conversations,
                cursor=self.cursor,
                upto=self.upto,
                limit=200,
            )
            for message in page["data"]:
                self._tell(message)
            self.cursor, more = page["cursor"], page["more"]
            if page["data"] and not self.keep_unread:
                self._read()

    def _read(self) -> None:
        body = {
            "conversations": self.conversations,
            "cursor": self.cursor,
            "upto": self.upto,
        }
        self.server.post("/bridge/read", body)

    def _tell(self, message: dict[str, Any]) -> None:
        if self.at.json:
            print(json.dumps(message, ensure_ascii=False), flush=True)
        else:
            self.shown.show(message)


_COLUMNS: Final = ["message", "conversation", "sent", "from", "label", "text"]
_SHORT: Final = 200


def search(
    *words: str,
    meaning: bool = False,
    project: str | None = None,
    conversation: str | None = None,
    upto: LabelOption = None,
    limit: int = 20,
    at: At,
) -> None:
    """Messages that have all of these words, the newest first.

    Parameters
    ----------
    words
        What to look for.
    meaning
        By what it is about instead: the nearest first.
    project
        Only in this one: its name or its id.
    conversation
        Only in this one: its title, PROJECT/TITLE, or its id.
    upto
        Nothing that is more secret than this.
    limit
        So many at most.
    """
    if not (wanted := " ".join(words).strip()):
        raise InvalidUsage(
            "There is nothing to look for.", fix="Say what: portico bridge search WORDS"
        )
    server = Server(at.services)
    found = server.get(
        "/bridge/search",
        q=wanted,
        by="meaning" if meaning else "words",
        project=None if project is None else project_id(server, project),
        conversation=None if conversation is None else conversation_id(server, conversation),
        upto=upto,
        limit=limit,
    )["data"]
    titles = {} if at.json else titles_of(server, (hit["message"]["conversation"] for hit in found))
    rows = [
        {
            "message": short(hit["message"]["id"]),
            "conversation": titles.get(hit["message"]["conversation"]),
            "sent": hit["message"]["sent_at"],
            "from": hit["message"]["sender_name"],
            "label": hit["message"]["label"],
            "text": brief(hit["message"]["body"], _SHORT),
        }
        for hit in found
    ]
    at.table(_COLUMNS, rows, {"data": found})
    if not found:
        at.say("Nothing has all of these words." if not meaning else "Nothing is about that.")


_INBOX_COLUMNS: Final = ["conversation", "unread", "for_you", "label", "active"]
_OVERDUE: Final = ["message", "from", "by", "text"]
_INBOX_SHORT: Final = 60


def inbox(*, upto: LabelOption = None, at: At) -> None:
    """What you have not read, in the conversations that you take part in; and what was to be
    acknowledged by now.

    Parameters
    ----------
    upto
        Nothing that is more secret than this.
    """
    found = Server(at.services).get("/inbox", upto=upto)
    rows = [
        {
            "conversation": each["conversation"]["title"],
            "unread": each["count"],
            "for_you": each["mentions"],
            "label": each["conversation"]["label"],
            "active": each["conversation"]["active_at"],
        }
        for each in found["unread"]
    ]
    at.table(_INBOX_COLUMNS, rows, found)
    if found["overdue"] and not at.json:
        at.say("To be acknowledged, and overdue:")
        at.table(_OVERDUE, [_overdue(each) for each in found["overdue"]], found)
    if found["unread"]:
        first = quote(found["unread"][0]["conversation"]["title"])
        at.say(f"To read it: portico bridge read {first}")
    elif not found["overdue"]:
        at.say("Nothing is unread. What there is: portico bridge conversations list")


def _overdue(each: dict[str, Any]) -> dict[str, Any]:
    return {
        "message": short(each["id"]),
        "from": each["sender_name"],
        "by": (each["acknowledge"] or {}).get("until"),
        "text": brief(each["body"], _INBOX_SHORT),
    }


_CHANGE_COLUMNS: Final = ["number", "at", "by", "label", "said"]


def edit(message: str, text: str, /, *, at: At) -> None:
    """Say something of yours otherwise; what it was stays in its versions.

    Parameters
    ----------
    message
        Its id, or six letters or more of it.
    text
        What it is to say.
    """
    server = Server(at.services)
    its = find_message(server, message)
    changed = server.patch(api_path("messages", its), {"body": text})
    at.data(changed, f"{short(its)} says so now.")


def delete(message: str, /, *, yes: bool = False, at: At) -> None:
    """Take back something of yours: nobody reads it any more, and that it was there stays.

    Parameters
    ----------
    message
        Its id, or six letters or more of it.
    yes
        Do not ask.
    """
    server = Server(at.services)
    its = find_message(server, message)
    question = f"Take back {short(its)}?"
    if not yes and not at.confirm(question):
        raise ConfirmationRequired(question)
    server.delete(api_path("messages", its))
    at.data({"message": its}, f"{short(its)} is taken back.")


def versions(message: str, /, *, at: At) -> None:
    """What a message said before it was changed, oldest first.

    Parameters
    ----------
    message
        Its id, or six letters or more of it.
    """
    server = Server(at.services)
    found = server.get(api_path("messages", find_message(server, message), "versions"))["data"]
    names = names_of_people(server)
    rows = [
        each | {"by": names.get(each["by"], each["by"]), "said": brief(each["body"], _SHORT)}
        for each in found
    ]
    at.table(_CHANGE_COLUMNS, rows, {"data": found})
    if not found:
        at.say("It was never changed.")


def ack(message: str, /, *, who: bool = False, at: At) -> None:
    """Say that you have a message, or see who has said so. Whoever can read it may; those to whom
    it is directed owe it, if it was sent with --ack.

    Parameters
    ----------
    message
        Its id, or six letters or more of it.
    who
        Only who has it, and since when.
    """
    server = Server(at.services)
    its = find_message(server, message)
    if not who:
        server.post(api_path("messages", its, "acknowledgements"))
        at.data({"message": its}, f"You have {short(its)}.")
        return
    found = server.get(api_path("messages", its, "acknowledgements"))["data"]
    names = names_of_people(server)
    rows = [each | {"by": names.get(each["by"], each["by"])} for each in found]
    at.table(["by", "at"], rows, {"data": found})
    if not found:
        at.say("Nobody has said so yet.")


_DIGEST: Final = re.compile("[0-9a-f]{64}")


def attach(project: str, file: Path, /, *, label: LabelOption = None, at: At) -> None:
    """Give a project a file, known by what is in it. To say something with it at once: portico
    bridge post --attach

    Parameters
    ----------
    project
        Its name or its id.
    file
        At most 25 megabytes.
    label
        How secret it is; as what you have read here, and as the project, if left away.
    """
    server = Server(at.services)
    its = find_project(server, project)
    made = attached(server, its["id"], file, label, at)
    at.data(made, made["digest"])
    at.say(f"{made['name']}, {human_size(made['size'])}, {made['label']}.")
    if raised := raised_in(its, made, label):
        at.say(raised)


def fetch(digest: str, /, *, output: Path | None = None, replace: bool = False, at: At) -> None:
    """Have a file that somebody attached. It is written, and never opened.

    Parameters
    ----------
    digest
        All 64 letters of it, as `portico bridge read --json` shows them.
    output
        The file to write; standard output if left away, unless that is a terminal.
    replace
        Even if there is such a file.
    """
    if not _DIGEST.fullmatch(digest):
        raise InvalidUsage(
            f"{digest[:80]!r} is no digest: that has 64 letters, of 0 to 9 and a to f.",
            fix="See those of a conversation: portico bridge read CONVERSATION --json",
        )
    if output is None and (at.for_a_person or at.json):
        raise InvalidUsage("A file goes into a file.", fix="Say which: --output FILE")
    check_free(output, replace=replace)
    with at.working("fetching"):
        found = Server(at.services).download(api_path("attachments", digest))
    if output is None:
        sys.stdout.buffer.write(found.content)
        return
    output.write_bytes(found.content)
    output.chmod(0o600)
    size = len(found.content)
    facts: JsonObject = {"file": str(output), "name": found.name, "size": size}
    at.data({**facts, "label": found.label}, f"{output} ({human_size(size)}, {found.label})")


_DECLASSIFY_COLUMNS: Final = [
    "copy",
    "before",
    "after",
    "asked_by",
    "approved_by",
    "at",
    "sound",
    "rules",
]


def declassify(message: str, /, *, to: LabelOption = None, records: bool = False, at: At) -> None:
    """Ask that a message is said again, less secret, without the secrets and the personal data that
    are found in it. Somebody else has to approve that.

    portico bridge declassify k3x9fa --to team

    Parameters
    ----------
    message
        Its id, or six letters or more of it.
    to
        How secret the copy is to be: public, team, confidential, +….
    records
        Only what was let out of it before, on whose word.
    """
    if (to is None) is not records:
        raise InvalidUsage(
            "Either --to LABEL or --records.",
            fix=f"Say how secret it may be: portico bridge declassify {quote(message)} --to team",
        )
    server = Server(at.services)
    its = find_message(server, message)
    if records:
        found = server.get(api_path("messages", its, "declassifications"))["data"]
        names = names_of_people(server)
        rows = [
            each
            | {"copy": short(each["copy"]), "rules": ", ".join(each["rules"]) or None}
            | {who: names.get(each[who], each[who]) for who in ("asked_by", "approved_by")}
            for each in found
        ]
        at.table(_DECLASSIFY_COLUMNS, rows, {"data": found}, red=["no"])
        if not found:
            at.say("Nothing was let out of it.")
        return
    asked = server.post(api_path("messages", its, "declassification"), {"to": to})
    changes = asked["diff"] or ["Nothing in it looks like a secret or like personal data."]
    at.data(asked, plain("\n".join(changes)))
    wait = asked["approval"][-6:]
    at.say(
        f"Somebody else says yes to it: portico approvals approve {wait}; then it is said again."
    )
