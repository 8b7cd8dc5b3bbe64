"""Whether short free answers mean the same: by how near they are, and where that does not tell and
it would change what is decided, by a judge."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from portico.debate.core.debate import Debate
from portico.debate.core.decision import Why
from portico.debate.core.first_moves import best_judge
from portico.debate.core.merging import pair_name
from portico.debate.core.moves import AskSame, Compare
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.panel import decide
from portico.debate.core.question import QuestionKind
from portico.debate.core.said import Said
from portico.debate.core.table import Table

MOST_JUDGED: Final = 3
"""Pairs of answers that a judge is asked about, in one debate."""


def near_name(debate: Debate, one: Said, other: Said) -> str:
    return f"near:{pair_name(one.key, other.key, debate.seed)}"


def same_name(debate: Debate, one: Said, other: Said) -> str:
    return f"same:{pair_name(one.key, other.key, debate.seed)}"


def compare_move(table: Table) -> Compare | None:
    """Of free answers alone: choices, numbers and yes or no are the same or are not."""
    if table.debate.question.kind is not QuestionKind.TEXT:
        return None
    pairs = tuple(
        (one, other)
        for one, other in _pairs(table)
        if near_name(table.debate, one, other) not in table.names
    )
    return Compare(pairs) if pairs else None


def judge_move(table: Table) -> AskSame | None:
    """Last, and only where the answer to it could change the outcome."""
    if table.debate.question.kind is not QuestionKind.TEXT:
        return None
    asked = [name for name in table.names if name.startswith("same:")]
    if len(asked) >= MOST_JUDGED:
        return None
    for one, other in _pairs(table):
        if table.done(same_name(table.debate, one, other)) or _told_apart(table, one, other):
            continue
        if not _matters(table, one, other):
            continue
        judge = best_judge(
            table, table.desk.same(one.shown, other.shown), whose=(one.voice, other.voice)
        )
        return None if judge is None else AskSame(one=one, other=other, judge=judge)
    return None


def _pairs(table: Table) -> Sequence[tuple[Said, Said]]:
    """Of the answers that differ, each once."""
    by_key: dict[str, Said] = {}
    for each in table.said(1, 2):
        by_key.setdefault(each.key, each)
    return list(combinations(by_key.values(), 2))


def _told_apart(table: Table, one: Said, other: Said) -> bool:
    name = near_name(table.debate, one, other)
    return any(note.name == name and note.body.get("same") is False for note in table.notes)


def _matters(table: Table, one: Said, other: Said) -> bool:
    if_same = Note(
        name="if",
        kind=NoteKind.SAME,
        body={"one": one.key, "other": other.key, "same": True},
        at=table.now,
    )
    then = replace(table, notes=(*table.notes, if_same))
    return _outcome(table) != _outcome(then)


def _outcome(table: Table) -> tuple[object, ...]:
    decision = decide(table.panel, table.said(1, 2), table.debate.rules, Why.ALL_ASKED)
    return decision.verdict, decision.answer
