"""What came of a debate: the verdict in a sentence, who dissents, and what each voice cost."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from portico.debate.core.conduct import LONGEST
from portico.interfaces.cli.agent_words import plain
from portico.interfaces.cli.debate_words import (
    COST_COLUMNS,
    answer_of,
    cost_rows,
    debate_row,
    dissent_lines,
    outcome_lines,
    overrun_lines,
    saved_lines,
    with_commas,
)
from portico.interfaces.cli.run_names import SHORT
from portico.interfaces.cli.terminal import Terminal

Facts = Mapping[str, Any]

_FIGURES: Final = ["calls", "read", "written", "tokens", "money"]
_WIDE: Final = ("read", "written")
_NARROW: Final = 90
"""Columns of a screen, below which these are left out."""
_PART_COLUMNS: Final = ["debate", "status", "tokens", "sure", "answer", "question"]


def show_end(whole: Facts, at: Terminal, *, told: bool = False, shown: bool = False) -> None:
    """To a program its answer alone is data, or everything if it asked for JSON. `told`: what was
    not done was said when it was not; `shown`: a program has the answer already."""
    if at.json:
        at.data(dict(whole), "")
        return
    debate = whole["debate"]
    answer = answer_of(debate)
    if at.for_a_person:
        _to_a_person(whole, answer, at)
    else:
        if answer is not None and not shown:
            print(plain(answer))
        for line in (plain(debate["told"]), *dissent_lines(debate)):
            at.say(line)
    saved = () if told else saved_lines(whole)
    for line in (*overrun_lines(whole), *saved, *outcome_lines(whole)):
        at.say(line)
    for line in _folded(_next(debate), at, "  "):
        at.say(line)


def _to_a_person(whole: Facts, answer: str | None, at: Terminal) -> None:
    debate = whole["debate"]
    for line in _folded(plain(debate["told"]), at, "  "):
        at.line(line, loud=True)
    if answer is not None and (len(answer) > LONGEST or "\n" in answer):
        print(f"\n{plain(answer)}\n")
    decided = (debate["decision"] or {}).get("verdict") == "decided"
    head = "  dissent  " if decided else "  said     "
    for dissent in dissent_lines(debate):
        for line in _folded(f"{head}{dissent}", at, " " * len(head)):
            print(line)
    if whole["parts"]:
        rows = with_commas([debate_row(each) for each in whole["parts"]])
        at.table(_PART_COLUMNS, rows, None, right=["tokens", "sure"], fold=["answer", "question"])
    narrow = at.width is not None and at.width < _NARROW
    columns = [each for each in COST_COLUMNS if not narrow or each not in _WIDE]
    at.table(columns, with_commas(cost_rows(whole)), None, right=_FIGURES)


def _folded(text: str, at: Terminal, margin: str) -> Sequence[str]:
    """Between words, as wide as the screen; what follows the first line is set in."""
    from rich.console import Console
    from rich.text import Text

    width = at.width or 10_000
    first, *rest = Text(text).wrap(Console(), width - len(margin))
    return [first.plain.rstrip(), *(f"{margin}{line.plain.strip()}" for line in rest)]


def _next(debate: Facts) -> str:
    short = debate["id"][-SHORT:]
    match debate["status"]:
        case "decided" | "no_decision" if debate["analysis"]:
            return (
                f"Its parts are debates that can be marked; all of it: portico debate log {short}"
            )
        case "running":
            return f"To look on: portico debate show {short} --follow"
        case "decided" | "escalated":
            known = "Once you know how it turned out"
            return f"{known}: portico debate outcome {short} right|wrong|ANSWER"
        case _:
            return f"All that was said: portico debate log {short}"
