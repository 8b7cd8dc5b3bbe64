"""Start a debate: options, estimate, budget, and following it."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal

from portico.interfaces.cli.agent_text import money, plain
from portico.interfaces.cli.bridge_text import find_project, project_id
from portico.interfaces.cli.debate_text import (
    ESTIMATE_COLUMNS,
    estimate_line,
    estimate_rows,
    exit_of,
    show_end,
    with_commas,
)
from portico.interfaces.cli.debate_view import DebateView, How, heard, seats
from portico.interfaces.cli.errors import ConfirmationRequired, Exit, InvalidUsage
from portico.interfaces.cli.run_text import SHORT
from portico.interfaces.cli.server import Server, api_path, retry_until
from portico.interfaces.cli.terminal import At, Terminal, lasting

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
class DebateOptions:
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
        """Raises `InvalidUsage`, `ProjectNotFound`."""
        if self.choice is not None and len(self.choice) == 1:
            raise InvalidUsage("One choice is none.", fix="Give --choice at least twice.")
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
            raise InvalidUsage("--deadline: nobody answers in no time.", fix="Such as 90s or 5m.")
        return seconds

    def _thoroughness(self) -> float | None:
        wished = self.thoroughness
        if wished is not None and not 0 <= wished <= 1:
            raise InvalidUsage(
                f"--thoroughness: {wished:g} is not between 0 and 1.",
                fix="0 is quick and cheap, 1 is as sure as can be; 0.5 is usual.",
            )
        return wished


def check_question(question: str) -> None:
    """One word that is nearly a command was meant as one. Raises `InvalidUsage`."""
    if not question.strip():
        raise InvalidUsage("Nothing is asked.", fix=_HOW)
    word = question.strip().lower()
    near = _ALSO.get(word) or next(iter(get_close_matches(word, COMMANDS, 1)), None)
    if near and " " not in word:
        fix = f"A question is a sentence, in quotes; or portico debate {near}"
        raise InvalidUsage(f"There is no command {question!r}. Did you mean {near}?", fix=fix)


def number_of_tokens(option: str, text: str) -> int:
    """`20000`, `20,000`, `20k`, `1M`. Raises `InvalidUsage`."""
    if found := _TOKENS.fullmatch(text.strip()):
        return int(found[1].replace(",", "")) * _TIMES[found[2]]
    raise InvalidUsage(
        f"{option}: {text!r} is no number of tokens.", fix="Such as 20000, 20k or 1M."
    )


def dollars(option: str, text: str) -> str:
    """`0.25`, `$20`. Raises `InvalidUsage`."""
    if found := _DOLLARS.fullmatch(text.strip()):
        return found[1]
    raise InvalidUsage(f"{option}: {text!r} is no sum.", fix="In US dollars, such as 0.25.")


def material(file: str | None) -> str | None:
    """What every voice reads besides the question. Raises `InvalidUsage`, `OSError`."""
    if file is None:
        return None
    try:
        if file == _STANDARD_INPUT:
            return sys.stdin.read()
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidUsage(f"{file} is no text.", fix="Give it a file of UTF-8 text.") from error


def _parts(given: Sequence[str] | None) -> Sequence[str] | None:
    """Each may be several, with commas between."""
    if given is None:
        return None
    return [part.strip() for each in given for part in each.split(",") if part.strip()]


def budget(
    project: str,
    /,
    *,
    tokens: str | None = None,
    usd: str | None = None,
    none: bool = False,
    at: At,
) -> None:
    """What the debates of a project may spend in all, and have spent or set aside.

    portico debate budget harbour --tokens 2M --usd 20

    Parameters
    ----------
    project
        Its name or its id.
    tokens
        So many in all from now on, such as 500k.
    usd
        So many US dollars in all from now on.
    none
        No limit from now on, beside those of each debate.
    """
    if none and (tokens is not None or usd is not None):
        raise InvalidUsage("Either --none, or a limit.", fix="portico debate budget PROJECT --none")
    server = Server(at.services)
    its = find_project(server, project)
    path = api_path("projects", its["id"], "debate-budget")
    found = server.get(path)
    if none or tokens is not None or usd is not None:
        found = server.put(path, _changed(found["cap"], tokens, usd, none=none))
    cap, spent = found["cap"], found["spent"]
    facts = {
        "project": its["name"],
        "tokens": f"{spent['tokens']:,} of {_limit(cap['tokens'])}",
        "money": f"{money(spent['money'])} of {_dollars(cap['money'])}",
        "calls": spent["calls"],
    }
    at.details(found if at.json else facts)


def _changed(
    cap: dict[str, Any], tokens: str | None, usd: str | None, *, none: bool
) -> dict[str, Any]:
    """What is not said stays as it is."""
    if none:
        return {"tokens": None, "money": None}
    return {
        "tokens": cap["tokens"] if tokens is None else number_of_tokens("--tokens", tokens),
        "money": cap["money"] if usd is None else dollars("--usd", usd),
    }


def _limit(tokens: int | None) -> str:
    return "any number" if tokens is None else f"{tokens:,}"


def _dollars(amount: str | None) -> str:
    return "any sum" if amount is None else money(amount)


_MANY: Final = 50_000
"""Tokens; what may take more is asked for, also where they cost nothing."""
_TO_STOP: Final = 10.0
"""Seconds: one that is stopped ends by itself, a moment later."""


def estimated(wish: DebateOptions, at: Terminal) -> int:
    """Only what it would cost."""
    check_question(wish.question)
    server = Server(at.services)
    found = server.post("/debate-estimate", wish.body(server))
    _show_estimate(found, at, analysis=wish.analyze)
    return Exit.OK if found["fits"] else Exit.BUDGET


def held(wish: DebateOptions, at: Terminal, *, force: bool, follow: bool) -> int:
    """Raises `ConfirmationRequired`, and what the server refuses."""
    check_question(wish.question)
    server = Server(at.services)
    body = wish.body(server)
    if not force:
        _agreed(server, body, at)
    debate = server.post("/debates", body)
    short = debate["id"][-SHORT:]
    if debate.get("guests"):
        at.say(f"{debate['id']} has {seats(debate['guests'])}")
    if not follow:
        at.data(debate, str(debate["id"]))
        at.say(f"To look on: portico debate show {short} --follow")
        return Exit.OK
    return followed(server, debate, at)


def followed(server: Server, debate: Mapping[str, Any], at: Terminal) -> int:
    """To its end, or until whoever looks on leaves it."""
    from portico.interfaces.cli.debate_watch import can_be_drawn, watched

    view, drawn = DebateView(debate), can_be_drawn(at)
    how = watched(server, view, at) if drawn else heard(server, view, at)
    short = view.id[-SHORT:]
    if how is How.LEFT:
        at.say(f"It goes on by itself. What came of it: portico debate show {short}")
        return Exit.INTERRUPTED
    if how is How.STOPPED:
        at.say(f"It stops. What came of it: portico debate show {short}")
    whole = retry_until(
        lambda: server.get(api_path("debates", view.id)),
        _TO_STOP if how is How.STOPPED else 0,
        enough=lambda found: found["debate"]["status"] != "running",
    )
    show_end(whole, at, told=not drawn)
    return Exit.INTERRUPTED if how is How.STOPPED else exit_of(whole["debate"])


def _agreed(server: Server, body: dict[str, Any], at: Terminal) -> None:
    """Whoever can be asked is, if it may cost money or much; else only money needs a word.
    Raises `ConfirmationRequired`."""
    found = server.post("/debate-estimate", body)
    most = found["most"]
    costs = Decimal(most["money"]) > 0
    somebody = sys.stdin.isatty() and not at.no_input and not at.json
    if not found["fits"] or not (costs or (somebody and most["tokens"] > _MANY)):
        return  # one that does not fit is refused with what it takes
    if somebody:
        _show_estimate(found, at, analysis=bool(body.get("analyze")))
    if not at.confirm("Start it?"):
        fix = "To start it without being asked: --force"
        error = ConfirmationRequired(f"{estimate_line(found)} Start it?", fix=fix)
        error.title = "Nothing was asked of anybody"
        raise error


def _show_estimate(found: dict[str, Any], at: Terminal, *, analysis: bool) -> None:
    rows, right = estimate_rows(found), ["calls", "tokens", "money"]
    at.table(ESTIMATE_COLUMNS, with_commas(rows) if at.for_a_person else rows, found, right=right)
    if analysis:
        at.say("An analysis: it is cut into questions, and each is debated, within one budget.")
    else:
        at.say(f"A {found['preset']} on a question of the kind {found['kind']}.")
    at.say(estimate_line(found))
    for note in found["notes"]:
        at.say(f"! {plain(note)}")
