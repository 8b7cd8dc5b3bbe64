"""What is said on the bridge, in words for a person."""

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from textwrap import wrap
from typing import Any, Final

from portico.interfaces.cli.agent_words import plain
from portico.interfaces.cli.bridge_names import short
from portico.interfaces.cli.terminal import Terminal

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
