"""`portico debate "…"`: what it may cost, a yes if that is much, and then the debate."""

import sys
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from portico.interfaces.cli.agent_words import plain
from portico.interfaces.cli.debate_end import show_end
from portico.interfaces.cli.debate_follow import How, heard
from portico.interfaces.cli.debate_picture import seats
from portico.interfaces.cli.debate_view import DebateView
from portico.interfaces.cli.debate_wish import Wish, check_question
from portico.interfaces.cli.debate_words import (
    ESTIMATE_COLUMNS,
    estimate_line,
    estimate_rows,
    exit_of,
    with_commas,
)
from portico.interfaces.cli.errors import NeedsYes
from portico.interfaces.cli.exits import Exit
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.patience import patiently
from portico.interfaces.cli.run_names import SHORT
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import Terminal

_MANY: Final = 50_000
"""Tokens; what may take more is asked for, also where they cost nothing."""
_TO_STOP: Final = 10.0
"""Seconds: one that is stopped ends by itself, a moment later."""


def estimated(wish: Wish, at: Terminal) -> int:
    """Only what it would cost."""
    check_question(wish.question)
    server = Server(at.house)
    found = server.post("/debate-estimate", wish.body(server))
    _show_estimate(found, at, analysis=wish.analyze)
    return Exit.OK if found["fits"] else Exit.BUDGET


def held(wish: Wish, at: Terminal, *, force: bool, follow: bool) -> int:
    """Raises `NeedsYes`, and what the server refuses."""
    check_question(wish.question)
    server = Server(at.house)
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
    whole = patiently(
        lambda: server.get(path_to("debates", view.id)),
        _TO_STOP if how is How.STOPPED else 0,
        enough=lambda found: found["debate"]["status"] != "running",
    )
    show_end(whole, at, told=not drawn)
    return Exit.INTERRUPTED if how is How.STOPPED else exit_of(whole["debate"])


def _agreed(server: Server, body: dict[str, Any], at: Terminal) -> None:
    """Whoever can be asked is, if it may cost money or much; else only money needs a word.
    Raises `NeedsYes`."""
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
        error = NeedsYes(f"{estimate_line(found)} Start it?", fix=fix)
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
