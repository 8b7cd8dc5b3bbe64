"""What somebody wants to have debated, as it is typed and as the server takes it."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal

from portico.interfaces.cli.bridge_names import project_id
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.moments import lasting
from portico.interfaces.cli.server import Server

Kind = Literal["choice", "yes_no", "number", "text", "open"]
Preset = Literal["vote", "debate", "quorum"]

COMMANDS: Final = (
    "list", "show", "log", "stop", "outcome", "replay", "voices", "personas", "share", "promote",
    "budget", "remove",
)  # fmt: skip
_ALSO: Final = {"rm": "remove", "delete": "remove", "ls": "list", "cancel": "stop"}
_STANDARD_INPUT: Final = "-"
_TOKENS: Final = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,9})([kM]?)")
_DOLLARS: Final = re.compile(r"\$?([0-9]{1,9}(?:\.[0-9]{1,9})?)")
_TIMES: Final = {"": 1, "k": 1_000, "M": 1_000_000}
_HOW: Final = 'portico debate "Which of the two is faster?" --choice A --choice B'


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """As it was typed; what is None was not."""

    question: str
    choice: Sequence[str] | None = None
    kind: Kind | None = None
    topic: str | None = None
    voice: Sequence[str] | None = None
    roles: Sequence[str] | None = None
    preset: Preset | None = None
    thoroughness: float | None = None
    budget: str | None = None
    budget_usd: str | None = None
    deadline: str | None = None
    guests: int | None = None
    project: str | None = None
    memory: Sequence[str] | None = None
    material: str | None = None
    label: str | None = None
    shared: bool = False
    unbounded: bool = False
    analyze: bool = False

    def body(self, server: Server) -> dict[str, Any]:
        """Raises `BadUsage`, `ProjectNotFound`."""
        if self.choice is not None and len(self.choice) == 1:
            raise BadUsage("One choice is none.", fix="Give --choice at least twice.")
        given = {
            "question": self.question,
            "choices": self.choice,
            "kind": self.kind,
            "topic": self.topic,
            "voices": _parts(self.voice),
            "roles": _parts(self.roles),
            "preset": self.preset,
            "thoroughness": self._thoroughness(),
            "cap": self._cap(),
            "deadline_seconds": self._seconds(),
            "guests": self.guests,
            "project": self.project and project_id(server, self.project),
            "memory": self.memory,
            "material": material(self.material),
            "label": self.label,
            "shared": self.shared or None,
            "unbounded": self.unbounded or None,
            "analyze": self.analyze or None,
        }
        return {name: value for name, value in given.items() if value not in (None, [], {})}

    def _cap(self) -> dict[str, Any]:
        cap: dict[str, Any] = {}
        if self.budget is not None:
            cap["tokens"] = number_of_tokens("--budget", self.budget)
        if self.budget_usd is not None:
            cap["money"] = dollars("--budget-usd", self.budget_usd)
        return cap

    def _seconds(self) -> int | None:
        if self.deadline is None:
            return None
        seconds = lasting("--deadline", self.deadline)
        if not seconds:
            raise BadUsage("--deadline: nobody answers in no time.", fix="Such as 90s or 5m.")
        return seconds

    def _thoroughness(self) -> float | None:
        wished = self.thoroughness
        if wished is not None and not 0 <= wished <= 1:
            raise BadUsage(
                f"--thoroughness: {wished:g} is not between 0 and 1.",
                fix="0 is quick and cheap, 1 is as sure as can be; 0.5 is usual.",
            )
        return wished


def check_question(question: str) -> None:
    """One word that is nearly a command was meant as one. Raises `BadUsage`."""
    if not question.strip():
        raise BadUsage("Nothing is asked.", fix=_HOW)
    word = question.strip().lower()
    near = _ALSO.get(word) or next(iter(get_close_matches(word, COMMANDS, 1)), None)
    if near and " " not in word:
        fix = f"A question is a sentence, in quotes; or portico debate {near}"
        raise BadUsage(f"There is no command {question!r}. Did you mean {near}?", fix=fix)


def number_of_tokens(option: str, text: str) -> int:
    """`20000`, `20,000`, `20k`, `1M`. Raises `BadUsage`."""
    if found := _TOKENS.fullmatch(text.strip()):
        return int(found[1].replace(",", "")) * _TIMES[found[2]]
    raise BadUsage(f"{option}: {text!r} is no number of tokens.", fix="Such as 20000, 20k or 1M.")


def dollars(option: str, text: str) -> str:
    """`0.25`, `$20`. Raises `BadUsage`."""
    if found := _DOLLARS.fullmatch(text.strip()):
        return found[1]
    raise BadUsage(f"{option}: {text!r} is no sum.", fix="In US dollars, such as 0.25.")


def material(file: str | None) -> str | None:
    """What every voice reads besides the question. Raises `BadUsage`, `OSError`."""
    if file is None:
        return None
    try:
        if file == _STANDARD_INPUT:
            return sys.stdin.read()
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadUsage(f"{file} is no text.", fix="Give it a file of UTF-8 text.") from error


def _parts(given: Sequence[str] | None) -> Sequence[str] | None:
    """Each may be several, with commas between."""
    if given is None:
        return None
    return [part.strip() for each in given for part in each.split(",") if part.strip()]
