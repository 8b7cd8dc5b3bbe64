"""Debates as text: answers, votes, costs, how one ended."""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, Final

from portico.debate.core.conduct import LONGEST, percent, skip_words
from portico.debate.core.errors import DebateNotFound
from portico.interfaces.cli.agent_text import brief, money, plain
from portico.interfaces.cli.errors import Exit, InvalidUsage
from portico.interfaces.cli.run_text import LATEST, SHORT, duration, took
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.json import JsonObject

_WHOLE: Final = re.compile(r"dbt_[0-9a-z]{26}")


def find_debate(server: Server, text: str) -> str:
    """Its whole id; as lists show it, with three dots before it, it is known too. Raises
    `DebateNotFound`, `InvalidUsage`."""
    text = text.removeprefix("…")
    if _WHOLE.fullmatch(text):
        return text
    if len(text.removeprefix("dbt_")) < SHORT:
        raise InvalidUsage(
            f"{text!r} is too short for the name of a debate: it takes at least six letters, of the"
            " beginning or the end of its id.",
            fix="See which there are: portico debate list",
        )
    latest = (str(each["id"]) for each in islice(server.pages("/debates"), LATEST))
    found = [each for each in latest if each.endswith(text) or _begins(each, text)]
    if not found:
        raise DebateNotFound(text)
    if len(found) > 1:
        raise InvalidUsage(
            f"{text!r} is short for {len(found)} debates.",
            fix=f"Say more of it: {', '.join(found[:5])}",
        )
    return found[0]


def _begins(debate: str, text: str) -> bool:
    return debate.startswith((text, f"dbt_{text}"))


Facts = Mapping[str, Any]

_SHORT_QUESTION: Final = 60
_SHORT_ANSWER: Final = 120
_EXITS: Final = {"running": Exit.OK, "failed": Exit.FAILED}
COST_COLUMNS: Final = ["voice", "calls", "read", "written", "tokens", "money", "said"]
ESTIMATE_COLUMNS: Final = ["voice", "calls", "tokens", "money", "bounded"]
_DID: Final = {
    "judged": "compared answers",
    "same": "compared answers",
    "plan": "cut it into questions",
    "synthesis": "put the answers together",
}
_LOST: Final = "answers that were lost"


def exit_of(debate: Facts) -> Exit:
    """One that was stopped may have been decided by then."""
    decision = debate["decision"]
    if decision is not None and decision["verdict"] == "decided":
        return Exit.OK
    return _EXITS.get(debate["status"], Exit.UNDECIDED)


def answer_of(debate: Facts) -> str | None:
    """The whole of it: the synthesis of an open question, else the answer."""
    decision = debate["decision"]
    return None if decision is None else decision["synthesis"] or decision["answer"]


def dissent_lines(debate: Facts) -> Iterator[str]:
    """What else was answered, how likely that is, who said so, and the best reason given. What an
    analysis has are its parts."""
    decision = debate["decision"]
    for each in () if decision is None or debate["analysis"] else decision["dissent"]:
        why = f": {each['rationale']}" if each["rationale"] else ""
        answer, names = brief(each["answer"], _SHORT_ANSWER), ", ".join(each["voices"])
        yield plain(f"{percent(each['probability'])} {answer} ({names}){brief(why, 300)}")


def cost_rows(whole: Facts) -> Sequence[JsonObject]:
    """A row a voice, and one for all; with the parts of an analysis, and with what was paid for and
    never came, so that they add up."""
    debate, notes = whole["debate"], whole["notes"]
    spoke = [each["voice"] for each in notes if each["voice"] is not None]
    seated = [] if debate["analysis"] else [each["name"] for each in debate["voices"]]
    rows = [
        _cost_row(name, [each for each in notes if each["voice"] == name])
        for name in dict.fromkeys([*seated, *spoke])
    ]
    rows += [_part_row(each) for each in whole["parts"]]
    spent = debate["spent"]
    lost = spent["tokens"] - sum(int(str(each["tokens"])) for each in rows)
    if lost > 0:
        rows.append({"voice": _LOST, "tokens": lost})
    return [*rows, {**spent, "voice": "all", "money": money(spent["money"])}]


def _cost_row(name: str, notes: Sequence[Facts]) -> JsonObject:
    paid = sum((Decimal(each["cost"]["money"]) for each in notes), Decimal(0))
    return {
        "voice": plain(name),
        "calls": sum(each["cost"]["calls"] for each in notes),
        "read": sum(each["prompt_tokens"] for each in notes),
        "written": sum(each["output_tokens"] for each in notes),
        "tokens": sum(each["cost"]["tokens"] for each in notes),
        "money": money(str(paid)),
        "said": brief(_said(notes), _SHORT_ANSWER),
    }


def _part_row(part: Facts) -> JsonObject:
    spent = part["spent"]
    name = f"…{part['id'][-SHORT:]}"
    said = brief(part["question"]["text"], _SHORT_ANSWER)
    return {**spent, "voice": name, "money": money(spent["money"]), "said": said}


def _said(notes: Sequence[Facts]) -> str:
    """The last answer; else why there was none, or what it did instead."""
    said = [each["body"].get("shown") for each in notes if each["kind"] == "said"]
    failed = [each["body"].get("why") for each in notes if each["kind"] == "failed"]
    did = [_DID[each["kind"]] for each in notes if each["kind"] in _DID]
    return str((said or failed or did or ["was not asked"])[-1])


def overrun_lines(whole: Facts) -> Iterator[str]:
    for each in whole["notes"]:
        if each["overrun"]:
            yield plain(
                f"! {each['voice']} spent {each['overrun']:,} tokens beyond what was set aside for "
                "it: it cannot be held to a maximum."
            )


def saved_lines(whole: Facts) -> Iterator[str]:
    """What was not done, and why."""
    for each in whole["notes"]:
        if each["kind"] == "skipped":
            body = each["body"]
            saved = int(body.get("saved") or 0)
            yield plain(skip_words(str(body.get("what")), str(body.get("why")), saved))


def outcome_lines(whole: Facts) -> Iterator[str]:
    """How it turned out, by the last word on it."""
    for each in [*whole.get("outcomes", ())][:1]:
        shown = each.get("shown")
        known = "" if shown is None else f"; right is {shown}"
        verdict = "right" if each["decided_right"] else "not right"
        yield plain(f"It turned out {verdict}{known} ({each['source']}).")


def estimate_rows(estimate: Facts) -> Sequence[JsonObject]:
    rows: list[JsonObject] = [
        {**each, "voice": plain(each["voice"]), "money": money(each["money"])}
        for each in estimate["voices"]
    ]
    most = estimate["most"]
    return [*rows, {**most, "voice": "all, at most", "money": money(most["money"])}]


def estimate_line(estimate: Facts) -> str:
    most = estimate["most"]
    cost = f"{most['tokens']:,} tokens and {money(most['money'])}"
    return (
        f"At most {cost} in {_calls(most['calls'])} and {duration(estimate['seconds'])}; usually "
        f"about {estimate['likely_tokens']:,} tokens in {_calls(estimate['likely_calls'])}."
    )


def _calls(many: int) -> str:
    return "1 call" if many == 1 else f"{many:,} calls"


def with_commas(rows: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """Numbers as people read them; programs get them plain."""
    return [
        {
            name: f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
            for name, value in row.items()
        }
        for row in rows
    ]


def debate_row(debate: Facts) -> JsonObject:
    decision = debate["decision"]
    answer = "" if decision is None else decision["answer"] or ""
    running = debate["status"] == "running"
    return {
        "debate": f"…{debate['id'][-SHORT:]}",
        "status": debate["status"],
        "started": debate["started_at"],
        "took": took(debate["started_at"], debate["ended_at"]),
        "voices": len(debate["voices"]),
        "tokens": None if running else debate["spent"]["tokens"],
        "money": None if running else money(debate["spent"]["money"]),
        "sure": None if decision is None else percent(decision["probability"]),
        "answer": brief(answer, _SHORT_ANSWER) or None,
        "question": brief(debate["question"]["text"], _SHORT_QUESTION),
    }


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
