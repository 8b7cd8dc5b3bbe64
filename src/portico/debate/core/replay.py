"""Replay: a debate as its log has it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Final

from portico.debate.core.conduct import (
    SYNTHESIS,
    AskBetter,
    AskDebaters,
    AskGuests,
    AskSame,
    AwaitGuests,
    Compare,
    Conclude,
    Move,
    Skip,
    Table,
    conclusion,
    judged_name,
    near_name,
    next_move,
    percent,
    said_name,
    same_name,
    skipped_name,
    skipped_words,
    verdict_words,
)
from portico.debate.core.debaters import DebaterKind, Persona
from portico.debate.core.debates import (
    Debate,
    DebaterAnswer,
    Decision,
    Note,
    NoteKind,
    RemainingBudget,
    WholeDebate,
)
from portico.debate.core.questions import Rules
from portico.debate.core.votes import Panel
from portico.kernel.budget import NOTHING, Cost

_UNKNOWN = "nobody knows"
"""Why something is not done in a replay: it was not done then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    decision: Decision
    cost: Cost
    """Of the notes that it used."""
    missing: tuple[str, ...]
    """What these rules would have asked that nobody was asked then, in sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What is decided again: the debate without some voices, under other rules."""

    whole: WholeDebate
    rules: Rules
    panel: Panel
    """Of the voices that are still there."""
    personas: Mapping[str, Persona]
    count: Callable[[str], int]

    def __call__(self) -> Again:
        names = {voice.name for voice in self.panel.debaters}
        then = {note.name: note for note in self.whole.notes}
        debate = replace(
            self.whole.debate, rules=self.rules, debaters=self.panel.debaters, guests=0
        )
        table = Table(
            debate=debate,
            notes=(),
            panel=self.panel,
            personas=self.personas,
            left=RemainingBudget(),
            count=self.count,
            now=debate.started_at,
            posted=frozenset(said_name(1, name) for name in names),
        )
        table = replace(table, notes=_of_guests(self.whole, names))
        missing: list[str] = []
        while not isinstance(move := next_move(table), Conclude):
            notes = _answered(debate, move, then, missing)
            table = replace(table, notes=(*table.notes, *notes))
        used = sum((note.cost for note in table.notes), start=NOTHING)
        return Again(decision=conclusion(table, move.why), cost=used, missing=tuple(missing))


def _of_guests(whole: WholeDebate, names: set[str]) -> tuple[Note, ...]:
    """What they said in the first round is there from the beginning, as it cost nothing."""
    guests = {v.name for v in whole.debate.debaters if v.kind is DebaterKind.GUEST} & names
    return tuple(note for note in whole.notes if note.voice in guests and note.round == 1)


def _answered(
    debate: Debate, move: Move, then: Mapping[str, Note], missing: list[str]
) -> Sequence[Note]:
    notes, at = [], debate.started_at
    for name, told in _wanted(debate, move):
        if name in then:
            notes.append(then[name])
        else:
            if told:
                missing.append(told)
            notes.append(_skipped(name, at))
    return notes


def _wanted(debate: Debate, move: Move) -> Sequence[tuple[str, str]]:
    """The notes that it would have led to, and what to say if they are not there."""
    match move:
        case AskDebaters(debaters=voices, round=round_):
            ways = {1: "would have been asked, and was not.", 2: "was asked for no critique."}
            return [(said_name(round_, v.name), f"{v.name} {ways[round_]}") for v in voices]
        case AskGuests(debaters=voices, round=round_):
            return [(said_name(round_, voice.name), "") for voice in voices]
        case AwaitGuests(round=round_):
            return [(f"guests:{round_}", "")]
        case Compare(pairs):
            return [(near_name(debate, one, other), "") for one, other in pairs]
        case _:
            return [_judged(debate, move)]


def _judged(debate: Debate, move: Move) -> tuple[str, str]:
    match move:
        case AskSame(one=one, other=other):
            what = "Nobody was asked whether two of the answers mean the same."
            return same_name(debate, one, other), what
        case AskBetter(one=one, other=other):
            what = f"{one.voice} and {other.voice} were not compared."
            return judged_name(one.voice, other.voice), what
        case Skip(what=what):
            return skipped_name(what), ""
        case _:
            return SYNTHESIS, ""


def _skipped(name: str, at: datetime) -> Note:
    """In place of what was not done; an answer that was not given is none."""
    if name.startswith("near:"):
        return Note(name=name, kind=NoteKind.SAME, body={"same": None}, at=at)
    named = name if name.startswith("skipped:") else skipped_name(name)
    body = {"what": name, "why": _UNKNOWN}
    return Note(name=named, kind=NoteKind.SKIPPED, body=body, at=at)


_WHO: Final = "the house"
_ENDS: Final[Mapping[NoteKind, str]] = {
    NoteKind.OVERDUE: "The deadline came.",
    NoteKind.STOPPED: "It was stopped.",
}


def log_text(whole: WholeDebate) -> str:
    its = whole.debate
    parts = [
        _head(its),
        *map(_told, whole.notes),
        _costs(whole),
        _end(its),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(its: Debate) -> str:
    kind = "analysis" if its.analysis else f"{its.question.kind} question, {its.rules.preset}"
    voices = [
        f"  {voice.name} ({voice.kind}, {voice.family}"
        + (f", as {' and '.join(voice.personas)}" if voice.personas else "")
        + ("" if voice.bounded else ", not held to a maximum")
        + ")"
        for voice in its.debaters
    ]
    lines = [
        f"# {its.id}",
        f"Question: {its.question.text}",
        *(
            f"  {letter}) {text}"
            for letter, text in zip(
                "ABCDEFGHIJKLMNOPQRSTUVWXYZ", its.question.choices, strict=False
            )
        ),
        f"Held as: {kind}, thoroughness {its.rules.thoroughness:g}, {its.label}, "
        + ("private" if its.private else "shared with its project"),
        f"Began: {its.started_at.isoformat()}, until {its.deadline.isoformat()} at most",
        f"Budget: {_cap(its)}",
        "Voices:",
        *voices,
        *([f"  and seats for {its.guests} guests"] if its.guests else []),
    ]
    if its.question.material:
        lines += ["Material:", _indented(its.question.material)]
    return "\n".join(lines)


def _cap(its: Debate) -> str:
    tokens = "any number of" if its.cap.tokens is None else f"{its.cap.tokens:,}"
    money = "" if its.cap.money is None else f", {its.cap.money} dollars"
    return f"{tokens} tokens{money}" + (", unbounded voices allowed" if its.unbounded else "")


def _told(note: Note) -> str:
    at = f"[{note.at.isoformat(timespec='seconds')}]"
    match note.kind:
        case NoteKind.SAID | NoteKind.FAILED:
            return _said(note, at) if note.kind is NoteKind.SAID else _failed(note, at)
        case NoteKind.SAME | NoteKind.JUDGED | NoteKind.SYNTHESIS | NoteKind.PLAN:
            return f"{at} {note.voice or _WHO} {_judgement_text(note)}"
        case NoteKind.SKIPPED:
            return f"{at} {skipped_words(note)}"
        case _:
            return f"{at} {_ENDS[note.kind]}" if note.kind in _ENDS else ""


def _failed(note: Note, at: str) -> str:
    text = str(note.body.get("text", ""))
    said = f"\n{_indented(text)}" if text else ""
    head = f"{at} {note.voice} gave no answer that could be used ({note.name})"
    return f"{head}: {note.body['why']} ({_paid(note)}){said}"


def _judgement_text(note: Note) -> str:
    body, paid = note.body, f"({_paid(note)})"
    if note.kind is NoteKind.SAME:
        ways = {True: "mean the same", False: "do not mean the same"}
        same = body.get("same")
        what = ways[same] if isinstance(same, bool) else "may or may not mean the same"
        return f"on {body.get('one')!r} and {body.get('other')!r}: they {what} {paid}"
    if note.kind is NoteKind.JUDGED:
        better = body.get("better") or "neither"
        pair = f"{body['one']} or {body['other']}"
        return f"on {pair}: {better} is better. {body.get('why', '')} {paid}"
    if note.kind is NoteKind.SYNTHESIS:
        return f"wrote one answer out of all {paid}:\n{_indented(str(body['text']))}"
    return f"cut it into parts {paid}:\n{_indented(_plan(body.get('parts')))}"


def _said(note: Note, at: str) -> str:
    said = DebaterAnswer.from_json(note.body)
    sure = "" if said.confidence is None else f", {percent(said.confidence)} sure by its own word"
    lines = [
        f"{at} {said.voice}, round {said.round}{sure} ({_paid(note)}):",
        _indented(said.answer),
    ]
    if said.shown != said.answer:
        lines.append(f"    counted as: {said.shown}")
    if said.rationale:
        lines.append(f"    because: {_indented(said.rationale).strip()}")
    lines += [f"    evidence: {' '.join(each.split())}" for each in said.evidence]
    if said.changed_because:
        lines.append(f"    changed, because: {said.changed_because}")
    if said.veto:
        lines.append(f"    vetoes: {said.veto}")
    return "\n".join(lines)


def _paid(note: Note) -> str:
    over = f", {note.overrun:,} more than reserved" if note.overrun else ""
    money = f", {note.cost.money} dollars" if note.cost.money else ""
    return f"{note.cost.tokens:,} tokens{money}{over}"


def _plan(parts: object) -> str:
    listed = parts if isinstance(parts, list) else []
    return "\n".join(
        f"{number}. {each.get('question')}"
        for number, each in enumerate(listed, start=1)
        if isinstance(each, Mapping)
    )


def costs_of(notes: Sequence[Note]) -> Mapping[str, Cost]:
    """By voice, in the order in which they were first asked."""
    costs: dict[str, Cost] = {}
    for note in notes:
        if note.voice is not None and note.kind is not NoteKind.SKIPPED:
            costs[note.voice] = costs.get(note.voice, NOTHING) + note.cost
    return costs


def _costs(whole: WholeDebate) -> str:
    costs = costs_of(whole.notes)
    if not costs:
        return ""
    rows = [
        f"  {name}: {cost.calls} calls, {cost.tokens:,} tokens" + _dollars(cost.money)
        for name, cost in costs.items()
    ]
    total = sum(costs.values(), start=NOTHING)
    spent = whole.debate.spent
    lost = spent.tokens - total.tokens
    if lost > 0 and whole.debate.analysis:
        rows.append(f"  its parts: {lost:,} tokens")
    elif lost > 0:
        rows.append(f"  lost with a process that ended: {lost:,} tokens, which stay charged")
    return "\n".join(
        ["Cost:", *rows, f"  together: {spent.tokens:,} tokens" + _dollars(spent.money)]
    )


def _dollars(money: Decimal) -> str:
    return f", {money} dollars" if money else ""


def _end(its: Debate) -> str:
    ended = "" if its.ended_at is None else f" at {its.ended_at.isoformat()}"
    lines = [f"## {its.status}{ended}", verdict_words(its.decision, its.status)]
    if its.decision is not None:
        lines += _options(its.decision)
    return "\n".join(lines)


def _options(decision: Decision) -> Sequence[str]:
    lines = [
        f"  {percent(option.probability)}  {' '.join(option.shown.split())[:200]}"
        f"  ({', '.join(option.debaters)})"
        for option in decision.options
    ]
    lines.append(
        f"Weighed by: {decision.rule}; as many as {decision.n_eff:.1f} independent voices."
    )
    if decision.saved_tokens:
        lines.append(f"Up to {decision.saved_tokens:,} tokens were saved by not asking everybody.")
    if decision.synthesis:
        lines += ["Answer:", _indented(decision.synthesis)]
    return lines


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
