"""What comes next in a debate: a pure question, asked again after each answer.

A blind pair of different families at once; then one voice at a time, whoever adds most for its
tokens, until nobody left could change the answer or is worth asking; then, where that is the
preset's way and it is split, one critique round. Where the budget is short, it gives up in this
order: the critique round, the dearer voices, all but the beginning of the material. It never falls
back on a single voice: it decides with the votes in hand.
"""

from collections.abc import Sequence
from typing import Final

from portico.debate.core import panel
from portico.debate.core.alike import compare_move, judge_move
from portico.debate.core.decision import Why
from portico.debate.core.first_moves import (
    affordable,
    alone_left,
    blind_move,
    cut_short,
    guests_move,
    unposted,
)
from portico.debate.core.moves import AskVoices, Conclude, Move, Skip
from portico.debate.core.open_session import open_move
from portico.debate.core.rules import Preset
from portico.debate.core.said import Said
from portico.debate.core.table import BUDGET, Table, said_name
from portico.debate.core.voice import Voice
from portico.kernel.budget import NOTHING

CRITIQUE: Final = "critique"
_SETTLED: Final = frozenset({Why.CERTAIN, Why.LIKELY})


def next_move(table: Table) -> Move:
    if table.ended_by is not None:
        return Conclude(table.ended_by)
    first = unposted(table, 1) or blind_move(table) or guests_move(table, 1)
    if first is not None:
        return first
    if not table.debate.question.kind.closed:
        return open_move(table)
    return compare_move(table) or _widened(table)


def _widened(table: Table) -> Move:
    said, rules = table.said(1), table.debate.rules
    room = table.answered() < rules.voices_most
    why = _settled(table, said, table.unasked() if room else ())
    if why is None and room and not table.said(2):
        found = panel.next_voice(table.panel, said, affordable(table), rules) if said else None
        if found is not None:
            return AskVoices(voices=(found.voice,), round=1, why=found.why)
        short = cut_short(table)
        if short is not None:
            return short
    why = why or _given_up(table, room=room)
    judging = judge_move(table) if why not in _SETTLED else None
    return judging or _critique(table, said, why)


def _settled(table: Table, said: Sequence[Said], left: Sequence[Voice]) -> Why | None:
    """Where nobody is left, it is at most likely: that none of nobody could change it says
    nothing."""
    rules = table.debate.rules
    if len(said) < rules.first:
        return None
    why = panel.settled(table.panel, said, left, rules)
    if left or why is not Why.CERTAIN:
        return why
    likely = panel.standing(table.panel, said)[0][1] >= rules.stop_at
    return Why.LIKELY if likely and rules.preset is not Preset.QUORUM else None


def _given_up(table: Table, *, room: bool) -> Why:
    unasked = table.unasked()
    if not room or not (unasked or table.short_of_budget):
        return Why.ALL_ASKED
    if alone_left(table):
        return Why.ALONE
    return Why.TOO_SMALL_GAIN if affordable(table) and table.said(1) else Why.BUDGET


def _critique(table: Table, said: Sequence[Said], why: Why) -> Move:
    """At most once, and of all who have answered or of nobody."""
    if why in _SETTLED or table.debate.rules.rounds < 2 or len(said) < 2 or table.done(CRITIQUE):
        return Conclude(why)
    names = {each.voice for each in said}
    voices = [voice for voice in table.house if voice.name in names and table.hears(voice)]
    silent = tuple(voice for voice in voices if not table.done(said_name(2, voice.name)))
    if len(silent) == len(voices) and not table.said(2):
        costs = [table.cost(voice, table.desk.critique(voice, said)) for voice in silent]
        total = sum(costs, start=NOTHING)
        if not panel.critique_worth(table.panel, said, total.tokens, table.debate.rules):
            return Conclude(why)
        if not table.left.fits(total):
            return Skip(what=CRITIQUE, why=BUDGET, saved=total.tokens)
    posted = unposted(table, 2)
    if posted is not None:
        return posted
    if silent:
        return AskVoices(voices=silent, round=2, why="the answers differ")
    pooled = _settled(table, table.said(1, 2), ())
    return guests_move(table, 2) or Conclude(pooled or why)
