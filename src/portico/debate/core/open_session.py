"""What comes next where the question is open: a few answers, compared two by two in both orders,
and one text out of them."""

from collections.abc import Sequence
from typing import Final

from portico.debate.core import panel
from portico.debate.core.decision import Why
from portico.debate.core.first_moves import affordable, alone_left, best_judge, cut_short
from portico.debate.core.moves import AskBetter, AskSynthesis, AskVoices, Conclude, Move, Skip
from portico.debate.core.note import NoteKind
from portico.debate.core.rules import Rules
from portico.debate.core.said import Said
from portico.debate.core.table import BUDGET, Table

JUDGING: Final = "judging"
SYNTHESIS: Final = "synthesis"


def judged_name(one: str, other: str) -> str:
    return f"judged:{one}:{other}"


def answers_wanted(rules: Rules) -> int:
    """More answers to choose from help less than better ones: two to four."""
    return min(2 + round(2 * rules.thoroughness), rules.voices_most)


def open_move(table: Table) -> Move:
    said, rules = table.said(1), table.debate.rules
    more = table.answered() < answers_wanted(rules)
    if more:
        found = panel.next_voice(table.panel, (), affordable(table), rules) if said else None
        if found is not None:
            return AskVoices(voices=(found.voice,), round=1, why=found.why)
        short = cut_short(table)
        if short is not None:
            return short
    differ = len({each.key for each in said}) > 1
    judging = _judging(table, said) if differ else None
    synthesis = _synthesis(table, said) if differ else None
    return judging or synthesis or Conclude(_why(table, more=more))


def judgements(table: Table) -> Sequence[tuple[str, str, str | None]]:
    """`(one, other, better)`, as they were shown. Of a pair that was seen in one order alone
    nothing is known: whoever stood first may have won by that."""
    found = {
        (str(note.body["one"]), str(note.body["other"])): note.body.get("better")
        for note in table.notes
        if note.kind is NoteKind.JUDGED
    }
    return [
        (one, other, None if better is None else str(better))
        for (one, other), better in found.items()
        if (other, one) in found
    ]


def ranked(table: Table) -> tuple[Said, ...]:
    """Each answer once, the best first."""
    first = {each.key: each for each in reversed(table.said(1))}
    decision = panel.decide_open(
        table.panel, table.said(1), judgements(table), table.debate.rules, Why.ALL_ASKED
    )
    return tuple(first[option.key] for option in decision.options)


def _judging(table: Table, said: Sequence[Said]) -> Move | None:
    if table.done(JUDGING):
        return None
    by_voice = {each.voice: each for each in said}
    for pair in panel.pairs_to_judge(table.panel, said, table.debate.rules):
        for one, other in (pair, pair[::-1]):
            if table.done(judged_name(one, other)):
                continue
            sheet = table.desk.better(by_voice[one], by_voice[other])
            judge = best_judge(table, sheet, whose=pair)
            if judge is None:
                return Skip(what=JUDGING, why=BUDGET)
            return AskBetter(one=by_voice[one], other=by_voice[other], judge=judge)
    return None


def _synthesis(table: Table, said: Sequence[Said]) -> Move | None:
    if table.done(SYNTHESIS):
        return None
    best = ranked(table)
    voices = [voice for voice in table.house if voice.name in {each.voice for each in said}]
    longest = max(voices or table.house, key=lambda voice: voice.most_output, default=None)
    if longest is None:
        return Skip(what=SYNTHESIS, why="nobody is here to write it")
    voice = best_judge(table, table.desk.synthesis(longest, best))
    if voice is None:
        return Skip(what=SYNTHESIS, why=BUDGET)
    return AskSynthesis(voice=voice, said=best)


def _why(table: Table, *, more: bool) -> Why:
    if not more or not (table.unasked() or table.short_of_budget):
        return Why.ALL_ASKED
    return Why.ALONE if alone_left(table) else Why.BUDGET
