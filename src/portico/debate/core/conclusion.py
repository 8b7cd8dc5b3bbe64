"""What a debate came to, out of the votes in hand."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from portico.debate.core.debate import DebateStatus
from portico.debate.core.decision import Decision, Verdict, Why
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.open_session import SYNTHESIS, judgements
from portico.debate.core.panel import decide, decide_open
from portico.debate.core.table import Table

_CUT_OFF: Final = frozenset({Why.BUDGET, Why.DEADLINE, Why.STOPPED})
"""Where it might have been decided, had it gone on."""


def conclusion(table: Table, why: Why) -> Decision:
    said, its = table.said(1, 2), table.debate
    if not said:
        return _nothing(table, why)
    if its.question.kind.closed:
        decision = decide(table.panel, said, its.rules, why)
    else:
        decision = decide_open(table.panel, table.said(1), judgements(table), its.rules, why)
        decision = _with_synthesis(table, decision, why)
    alone = len({each.voice for each in said}) < 2
    if alone and decision.verdict is Verdict.DECIDED:
        # One voice is no debate: its answer is shown, and not given out as a decision.
        decision = replace(decision, verdict=Verdict.NO_DECISION, why=Why.TOO_UNSURE, answer=None)
    unsure = {Why.TOO_UNSURE, Why.TIE} if why is Why.STOPPED else {Why.TOO_UNSURE}
    if decision.why in unsure and why in _CUT_OFF:
        decision = replace(decision, why=why)
    return replace(decision, asked=_asked(table), saved_tokens=saved_tokens(table))


def noted(notes: Sequence[Note]) -> Decision | None:
    """What is written down that it came to: it may not have been ended yet."""
    found = [note.body for note in notes if note.kind is NoteKind.DECISION]
    return Decision.from_json(found[0]) if found else None


def status_of(decision: Decision, notes: Sequence[Note]) -> DebateStatus:
    """One that was stopped is that, also where the votes in hand were enough; but not one that was
    decided by then."""
    before = takewhile(lambda note: note.kind is not NoteKind.DECISION, notes)
    if any(note.kind is NoteKind.STOPPED for note in before):
        return DebateStatus.STOPPED
    return DebateStatus(decision.verdict.value)


def saved_tokens(table: Table) -> int:
    """By not asking whoever was left, at most."""
    return sum(table.cost(voice, table.desk.first(voice)).tokens for voice in table.unasked())


def _asked(table: Table) -> int:
    """Answers that were paid for or given, in either round; also those that could not be used."""
    kinds = (NoteKind.SAID, NoteKind.FAILED)
    return sum(note.kind in kinds and note.name.startswith("said:") for note in table.notes)


def _nothing(table: Table, why: Why) -> Decision:
    return Decision(
        verdict=Verdict.NO_DECISION,
        why=why if why in _CUT_OFF else Why.NO_ANSWERS,
        answer=None,
        probability=0.0,
        options=(),
        n_eff=0.0,
        rule="none",
        asked=_asked(table),
        saved_tokens=saved_tokens(table),
    )


def _with_synthesis(table: Table, decision: Decision, why: Why) -> Decision:
    """Where two answers are as good as each other, the text out of both is what is given out."""
    notes = [note for note in table.notes if note.name == SYNTHESIS]
    texts = [str(note.body["text"]) for note in notes if note.kind is NoteKind.SYNTHESIS]
    if not texts:
        return decision
    decision = replace(decision, synthesis=texts[0])
    if decision.why is not Why.TIE:
        return decision
    return replace(decision, verdict=Verdict.DECIDED, why=why, answer=texts[0])
