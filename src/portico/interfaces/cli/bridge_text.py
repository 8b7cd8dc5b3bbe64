"""The bridge as text, and which project, conversation, message or person is meant."""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from itertools import islice
from textwrap import wrap
from typing import Any, Final

from portico.bridge.core.errors import (
    ConversationNotFound,
    MessageNotFound,
    ProjectNotFound,
    WorkNotFound,
)
from portico.guard.core.errors import PrincipalNotFound
from portico.interfaces.cli.agent_text import plain
from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.run_text import SHORT
from portico.interfaces.cli.server import FIXES, Refused, Server, api_path
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.errors import PorticoError

_ID: Final = "[0-9a-z]{26}"
_PROJECT: Final = re.compile(f"prj_{_ID}")
_CONVERSATION: Final = re.compile(f"cnv_{_ID}")
_MESSAGE: Final = re.compile(f"msg_{_ID}")
_WORK: Final = re.compile(f"wrk_{_ID}")
_PERSON: Final = re.compile(f"prn_{_ID}")
_MOST: Final = 2000
"""Of each are looked at where a name is to be found."""
_LATELY: Final = 10
"""Conversations, and projects, in which something is looked for by a part of its id."""
_MESSAGES: Final = 200

Found = dict[str, Any]


def find_project(server: Server, text: str) -> Found:
    """By its name or its id; of several of one name the most secret. Raises `ProjectNotFound`."""
    if "/" not in text:
        try:
            found: Found = server.get(api_path("projects", text))
        except Refused as error:
            if error.code != ProjectNotFound.code:
                raise
        else:
            return found
    there = list(islice(server.pages("/projects"), _MOST))
    for each in there:
        if each["name"] == text:
            return dict(each)
    raise _meant(ProjectNotFound(text), text, [each["name"] for each in there])


def project_id(server: Server, text: str) -> str:
    return text if _PROJECT.fullmatch(text) else str(find_project(server, text)["id"])


def find_conversation(server: Server, text: str) -> Found:
    """By its id, its title, or PROJECT/TITLE. Raises `ConversationNotFound`, `InvalidUsage` if
    there are several."""
    if _CONVERSATION.fullmatch(text):
        found: Found = server.get(api_path("conversations", text))
        return found
    there = list(islice(server.pages("/conversations"), _MOST))
    fits = [each for each in there if each["title"] == text or _short_for(text, each["id"])]
    if len(fits) != 1 and "/" in text:
        fits = _in_project(server, text, there) or fits
    if not fits:
        titles = [each["title"] for each in there]
        raise _meant(ConversationNotFound(text), text, titles)
    if len(fits) > 1:
        names = _project_names(server)
        ways = [f"{names.get(each['project'], each['project'])}/{each['title']}" for each in fits]
        if len(set(ways)) < len(ways):
            ways = [each["id"] for each in fits]
        raise InvalidUsage(
            f"There are {len(fits)} conversations {text!r}.",
            fix=f"Say which one: {', '.join(ways[:5])}",
        )
    return dict(fits[0])


def conversation_id(server: Server, text: str) -> str:
    return text if _CONVERSATION.fullmatch(text) else str(find_conversation(server, text)["id"])


def titles_of(server: Server, conversations: Iterable[str]) -> dict[str, str]:
    """By their ids, also of those that are archived; of one that is gone a part of its id."""
    titles: dict[str, str] = {}
    for name in dict.fromkeys(conversations):
        try:
            titles[name] = server.get(api_path("conversations", name))["title"]
        except Refused as error:
            if error.code != ConversationNotFound.code:
                raise
            titles[name] = short(name)
    return titles


def find_message(server: Server, text: str, *, inside: str | None = None) -> str:
    """Its id. A part of it is looked for in one conversation, or in those with the latest news.
    Raises `MessageNotFound`, `InvalidUsage`."""
    text = text.removeprefix("…")
    if _MESSAGE.fullmatch(text):
        return text
    _check_length(text, "a message", "portico bridge read CONVERSATION")
    if inside is not None:
        places: Iterable[str] = [inside]
    else:
        places = (each["id"] for each in islice(server.pages("/conversations"), _LATELY))
    for place in places:
        path = api_path("conversations", place, "messages")
        latest = server.get(path, before="end", limit=_MESSAGES)["data"]
        if fits := [each["id"] for each in latest if _short_for(text, each["id"])]:
            return _only(fits, text, "messages")
    raise _meant(MessageNotFound(text), text, ())


def find_work(server: Server, text: str) -> Found:
    """By its id or a part of it, in the projects with the latest news. Raises `WorkNotFound`,
    `InvalidUsage`."""
    text = text.removeprefix("…")
    if _WORK.fullmatch(text):
        found: Found = server.get(api_path("work", text))
        return found
    _check_length(text, "a piece of work", "portico bridge work list PROJECT")
    for project in islice(server.pages("/projects"), _LATELY):
        there = {
            each["id"]: each for each in server.pages(api_path("projects", project["id"], "work"))
        }
        if fits := [name for name in there if _short_for(text, name)]:
            return dict(there[_only(fits, text, "pieces of work")])
    raise _meant(WorkNotFound(text), text, ())


def find_people(server: Server, names: Sequence[str]) -> list[str]:
    """Their ids. Raises `PrincipalNotFound`."""
    wanted = [name.removeprefix("@") for name in names]
    if all(_PERSON.fullmatch(name) for name in wanted):
        return wanted
    known = {each["name"]: each["id"] for each in server.pages("/principals")}
    for name in wanted:
        if name not in known and not _PERSON.fullmatch(name):
            raise _meant(PrincipalNotFound(name), name, known)
    return [known.get(name, name) for name in wanted]


def names_of_people(server: Server) -> dict[str, str]:
    """By their ids, as far as one may know."""
    try:
        return {each["id"]: each["name"] for each in server.pages("/principals")}
    except Refused:
        return {}


def short(text: str) -> str:
    return f"…{text[-SHORT:]}"


def _in_project(server: Server, text: str, there: Sequence[Found]) -> list[Found]:
    names = _project_names(server)
    return [each for each in there if f"{names.get(each['project'])}/{each['title']}" == text]


def _project_names(server: Server) -> dict[str, str]:
    return {each["id"]: each["name"] for each in islice(server.pages("/projects"), _MOST)}


def _short_for(text: str, name: str) -> bool:
    """As lists show it, with three dots before it, it is known too."""
    text = text.removeprefix("…")
    kind, _, letters = name.partition("_")
    long_enough = len(text.removeprefix(f"{kind}_")) >= SHORT
    return long_enough and (
        letters.startswith(text) or name.startswith(text) or name.endswith(text)
    )


def _check_length(text: str, what: str, listed: str) -> None:
    """Raises `InvalidUsage`."""
    if len(text.partition("_")[2] or text) < SHORT:
        raise InvalidUsage(
            f"{text!r} is too short for {what}: it takes at least six letters, of the beginning or"
            " the end of its id.",
            fix=f"See which there are: {listed}",
        )


def _only(fits: Sequence[str], text: str, what: str) -> str:
    """Raises `InvalidUsage`."""
    if len(fits) > 1:
        raise InvalidUsage(
            f"{text!r} is short for {len(fits)} {what}.",
            fix=f"Say more of it: {', '.join(fits[:5])}",
        )
    return fits[0]


def _meant(error: PorticoError, text: str, names: Iterable[str]) -> PorticoError:
    """The same error, in the words of this face, with what may be meant among what there is."""
    error.fix = FIXES.get(error.code, error.fix)
    close = get_close_matches(text, list(_lines(names)), n=1)
    if close:
        error.fix = " ".join(filter(None, [f"Did you mean {close[0]}?", error.fix]))
    return error


def _lines(names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if name.isprintable())


Facts = Mapping[str, Any]
_NAMED: Final = re.compile(r"(?<![\w@])@[\w.-]*\w")
_NARROWEST: Final = 40
_DELETED: Final = "(deleted)"


@dataclass
class Shown:
    """Messages for one who reads them: a new day is said once, and what is for them is loud."""

    at: Terminal
    me: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    """How secret each conversation is: what is said in it need not say so again."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """To be said where several are read at once."""
    people: Mapping[str, str] = field(default_factory=dict)
    _day: str = ""

    def show(self, message: Facts) -> None:
        moment = datetime.fromisoformat(message["sent_at"]).astimezone()
        if (day := f"{moment:%A, %d %B %Y}") != self._day:
            self._day = day
            self.at.line(f"── {day}")
        for_me = self.me in {*message["mentions"], *message["addressed"]}
        indent = "  ↳ " if message["thread"] else ""
        facts = " · ".join(self._facts(message, for_me=for_me))
        head = f"{moment:%H:%M}  {indent}{plain(message['sender_name'])}  {facts}"
        before = " " * (7 + len(indent))
        for line in self._folded(head, before):
            self.at.line(line, loud=for_me or message["sender"] == self.me)
        body = _DELETED if message["deleted_at"] else plain(message["body"])
        for line in body.splitlines() or [""]:
            self._line(f"{before}{line}")

    def _folded(self, head: str, before: str) -> Sequence[str]:
        """Between two words, where a screen is too narrow for it. What was said is left as it was:
        somebody may copy it."""
        if self.at.width is None:
            return [head]
        return wrap(
            head,
            max(self.at.width, _NARROWEST),
            subsequent_indent=before,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _facts(self, message: Facts, *, for_me: bool) -> Sequence[str]:
        where = self.titles.get(message["conversation"])
        wanted = message["acknowledge"]
        known = [
            short(message["id"]),
            f"in {plain(where)}" if where and len(self.titles) > 1 else "",
            self._label(message),
            f"answers {short(message['reply_to'])}" if message["reply_to"] else "",
            f"to {', '.join(map(self._name, message['addressed']))}"
            if message["addressed"]
            else "",
            "for you" if for_me else "",
            _files(message["attachments"]),
            f"to be acknowledged{_until(wanted)}" if wanted else "",
            "from strangers' words" if message["untrusted"] else "",
            "edited" if message["edited_at"] else "",
        ]
        return [each for each in known if each]

    def _label(self, message: Facts) -> str:
        label = str(message["label"])
        return "" if label == self.labels.get(message["conversation"]) else label

    def _name(self, who: str) -> str:
        return "you" if who == self.me else plain(self.people.get(who, short(who)))

    def _line(self, text: str) -> None:
        """With names that stand out, where there are colours."""
        if not self.at.for_a_person or "@" not in text:
            self.at.line(text)
            return
        from rich.console import Console
        from rich.text import Text

        styled = Text(text)
        styled.highlight_regex(_NAMED, "bold cyan")
        if name := self.people.get(self.me):
            styled.highlight_words([f"@{name}"], "bold yellow")
        Console(file=sys.stdout, highlight=False).print(styled, soft_wrap=True)


def raised_line(sent: Facts, inside: str) -> str | None:
    """Of what is more secret than its writer may have thought."""
    return _raised(sent, "conversation", inside) if sent.get("raised") else None


def raised_in(project: Facts, made: Facts, wanted: str | None) -> str | None:
    """The same of what is in a project."""
    if wanted is not None or made["label"] == project["label"]:
        return None
    return _raised(made, "project", project["label"])


def _raised(made: Facts, place: str, inside: str) -> str:
    return (
        f"It is {made['label']}, and the {place} {inside}: something that is as secret was"
        " read before. Who is cleared for less does not see it."
    )


def _files(digests: Collection[str]) -> str:
    """`files 0a1b2c3d…`"""
    return f"files {', '.join(f'{each[:12]}…' for each in digests)}" if digests else ""


def _until(wanted: Facts) -> str:
    if not wanted["until"]:
        return ""
    moment = datetime.fromisoformat(wanted["until"]).astimezone()
    return f" by {moment:%Y-%m-%d %H:%M}"
