"""How each debate begins: a blind pair, and guests; and who could be asked after them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from portico.debate.core import panel
from portico.debate.core.debate import Debate
from portico.debate.core.moves import AskGuests, AskVoices, AwaitGuests, Move, Skip
from portico.debate.core.sheets import Sheet
from portico.debate.core.table import Table, said_name
from portico.debate.core.voice import Voice, VoiceKind
from portico.kernel.budget import NOTHING

LATE: Final = "late"
"""Why guests were not waited for any longer."""
_PATIENCE: Final = {1: 0.6, 2: 0.9}
"""The share of a debate's time for which guests are waited for, by round: what is left is for
whoever is asked after them."""


def blind_move(table: Table) -> Move | None:
    """The first ones, at once: none of them knows of another."""
    missing = table.debate.rules.first - table.answered()
    left = affordable(table)
    if missing <= 0 or not left:
        return None
    chosen = _best(table, left) if missing == 1 else _pair(table, left)
    if not chosen and table.debate.guests:
        chosen = _best(table, left)  # there are others to speak with it
    if not chosen:
        return None
    why = "the blind pair" if len(chosen) > 1 else "one is missing of the blind pair"
    return AskVoices(voices=chosen, round=1, why=why)


def _pair(table: Table, left: Sequence[tuple[Voice, int]]) -> tuple[Voice, ...]:
    """The best one, and with what it leaves the best other one. One that is so dear that nobody
    else could be asked beside it is left out: a single voice is no debate."""
    able = list(left)
    while first := _best(table, able):
        able = [each for each in able if each[0] is not first[0]]
        paid = table.cost(first[0], table.desk.first(first[0]))
        beside = [
            each
            for each in able
            if table.left.fits(paid + table.cost(each[0], table.desk.first(each[0])))
        ]
        if beside:
            return first + _best(table, beside)
    return ()


def _best(table: Table, left: Sequence[tuple[Voice, int]]) -> tuple[Voice, ...]:
    found = panel.next_voice(table.panel, (), left, table.debate.rules)
    return () if found is None else (found.voice,)


def affordable(table: Table) -> list[tuple[Voice, int]]:
    """Who was not asked yet, with what they cost at most."""
    costs = [(voice, table.cost(voice, table.desk.first(voice))) for voice in table.unasked()]
    return [(voice, cost.tokens) for voice, cost in costs if table.left.fits(cost)]


def alone_left(table: Table) -> bool:
    """Nobody has answered, and one voice is left to ask: it would be the only one."""
    return not table.said(1) and len(table.unasked()) == 1 and not table.short_of_budget


def cut_short(table: Table) -> AskVoices | None:
    """The cheapest of those that can be asked only with less of the material."""
    if not table.debate.question.material or (affordable(table) and table.said(1)):
        return None
    costs = [
        (table.cost(voice, table.desk.first(voice, short=True)), voice) for voice in table.unasked()
    ]
    cheapest = sorted(costs, key=lambda each: each[0].tokens)
    fitting = [voice for cost, voice in cheapest if table.left.fits(cost)]
    pair = sum((cost for cost, _ in cheapest[:2]), start=NOTHING)
    alone = len(cheapest) < 2 or not table.left.fits(pair)
    if not fitting or (alone and not table.said(1) and not table.debate.guests):
        return None
    voice = fitting[0]
    why = "with the beginning of the material: the budget has room for no more"
    return AskVoices(voices=(voice,), round=1, why=why, short=True)


def best_judge(table: Table, sheet: Sheet, *, whose: Sequence[str] = ()) -> Voice | None:
    """Whoever has the best record of those that the budget has room for: a model rather than an
    agent or a program, and one whose own answer it is not."""
    able = [each for each in table.house if table.hears(each) and table.affords(each, sheet)]
    for better in (_is_bounded, _is_model, lambda voice: voice.name not in whose):
        able = [voice for voice in able if better(voice)] or able
    found = panel.next_voice(table.panel, (), [(voice, 1) for voice in able], table.debate.rules)
    return None if found is None else found.voice


def _is_bounded(voice: Voice) -> bool:
    return voice.bounded


def _is_model(voice: Voice) -> bool:
    return voice.kind is VoiceKind.MODEL


def unposted(table: Table, round_: int) -> AskGuests | None:
    """Guests that are to be asked in this round; in the second only who answered in the first."""
    spoke = {each.voice for each in table.said(1)}
    waiting = tuple(
        voice
        for voice in table.guests
        if said_name(round_, voice.name) not in table.posted
        and not table.done(said_name(round_, voice.name))
        and (round_ == 1 or voice.name in spoke)
    )
    return AskGuests(voices=waiting, round=round_) if waiting else None


def guests_move(table: Table, round_: int) -> Move | None:
    """They cost nothing: they are heard before more is spent, but not waited for to the end."""
    spoke = {each.voice for each in table.said(1)}
    silent = [
        voice
        for voice in table.guests
        if (round_ == 1 or voice.name in spoke) and not table.done(said_name(round_, voice.name))
    ]
    free = table.debate.guests - len(table.guests) if round_ == 1 else 0
    what = f"guests:{round_}"
    if table.done(what) or (not silent and free <= 0):
        return None
    until = guests_until(table.debate, round_)
    if table.now >= until:
        return Skip(what=what, why=LATE)
    return AwaitGuests(round=round_, free=max(free, 0), until=until)


def guests_until(debate: Debate, round_: int) -> datetime:
    return debate.started_at + (debate.deadline - debate.started_at) * _PATIENCE[round_]
