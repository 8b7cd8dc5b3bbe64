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
_UNSURE: Final = frozenset({Why.TOO_UNSURE, Why.TIE})


def conclusion(table: Table, why: Why) -> Decision:
    said, its = table.said(1, 2), table.debate
    if not said:
        return _nothing(table, why)
    if its.question.kind.closed:
        decision = decide(table.panel, said, its.rules, why)
    else:
        decision = decide_open(table.panel, table.said(1), judgements(table), its.rules, why)
        decision = _with_synthesis(table, decision)
    alone = len({each.voice for each in said}) < 2
    if alone and (decision.verdict is Verdict.DECIDED or decision.why in _UNSURE):
        # One voice is no debate: its answer is shown, and not given out as a decision.
        decision = replace(decision, verdict=Verdict.NO_DECISION, why=Why.ALONE, answer=None)
    unsure = {Why.TOO_UNSURE, Why.ALONE} | ({Why.TIE} if why is Why.STOPPED else set())
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
        why=why if why in _CUT_OFF or why is Why.ALONE else Why.NO_ANSWERS,
        answer=None,
        probability=0.0,
        options=(),
        n_eff=0.0,
        rule="none",
        asked=_asked(table),
        saved_tokens=saved_tokens(table),
    )


def _with_synthesis(table: Table, decision: Decision) -> Decision:
    """One text is the decision: that out of all, where there is one and something is decided. Where
    nothing is, it is shown all the same, and decides nothing."""
    notes = [note for note in table.notes if note.name == SYNTHESIS]
    texts = [str(note.body["text"]) for note in notes if note.kind is NoteKind.SYNTHESIS]
    if not texts:
        return decision
    decided = decision.verdict is Verdict.DECIDED
    return replace(decision, synthesis=texts[0], answer=texts[0] if decided else None)
