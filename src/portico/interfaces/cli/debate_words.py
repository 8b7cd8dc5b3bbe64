"""Debates in words for a person: estimates, what came of them, and what each voice cost."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from portico.debate.core.conduct import percent, skip_words
from portico.interfaces.cli.agent_words import brief, money, plain
from portico.interfaces.cli.exits import Exit
from portico.interfaces.cli.run_names import SHORT
from portico.interfaces.cli.run_words import duration, took
from portico.kernel.json import JsonObject

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
