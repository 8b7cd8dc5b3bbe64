"""What debates answer: objects for programs, and the same as text for a model."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from portico.debate.core.conduct import brief, percent, skipped_words, verdict_words
from portico.debate.core.debaters import DebaterStatus
from portico.debate.core.debates import (
    Debate,
    DebateStatus,
    Decision,
    Estimate,
    NoteKind,
    Option,
    Outcome,
    Replayed,
    Seat,
    WholeDebate,
)
from portico.interfaces.mcp.tool_values import Facts, lines, quoted


def debate_facts(debate: Debate) -> Facts:
    return _so(
        {
            "debate": str(debate.id),
            "question": debate.question.text,
            "kind": str(debate.question.kind),
            "choices": [*debate.question.choices],
            "preset": str(debate.rules.preset),
            "status": str(debate.status),
            "told": verdict_words(debate.decision, debate.status),
            "decision": None if debate.decision is None else decision_facts(debate.decision),
            "label": str(debate.label),
            "untrusted": debate.untrusted,
            "guests": debate.guests,
            "until": _time(debate.deadline),
            "tokens": int(debate.spent.tokens),
            "dollars": f"{debate.spent.money:f}",
            "calls": debate.spent.calls,
        }
    )


def whole_facts(whole: WholeDebate, parts: Sequence[Debate] = ()) -> Facts:
    """With what was not done in it, and why; of an analysis with its parts, each of which is a
    debate that can be shown, marked and replayed."""
    not_done = [skipped_words(note) for note in whole.notes if note.kind is NoteKind.SKIPPED]
    told = [
        {
            "debate": str(part.id),
            "question": part.question.text,
            "told": verdict_words(part.decision, part.status),
        }
        for part in parts
    ]
    facts = {**debate_facts(whole.debate), "not_done": not_done, "parts": told}
    return _so({**facts, "analysis": whole.debate.analysis})


def decision_facts(decision: Decision) -> Facts:
    return _so(
        {
            "verdict": str(decision.verdict),
            "why": str(decision.why),
            "answer": decision.answer,
            "probability": decision.probability,
            "dissent": [_option_facts(each) for each in decision.dissent],
            "veto": decision.veto,
            "synthesis": decision.synthesis,
            "rule": decision.rule,
            "n_eff": decision.n_eff,
            "asked": decision.asked,
        }
    )


def estimate_facts(estimate: Estimate) -> Facts:
    return {
        "most_tokens": estimate.most_tokens,
        "most_dollars": f"{estimate.most_money:f}",
        "most_calls": estimate.most_calls,
        "likely_tokens": estimate.likely_tokens,
        "likely_calls": estimate.likely_calls,
        "seconds": estimate.seconds,
        "preset": str(estimate.preset),
        "kind": str(estimate.kind),
        "fits": estimate.fits,
        "notes": [*estimate.notes],
        "voices": [
            {
                "voice": each.voice,
                "calls": each.calls,
                "tokens": each.tokens,
                "dollars": f"{each.money:f}",
                "bounded": each.bounded,
            }
            for each in estimate.debaters
        ],
    }


def seat_facts(seat: Seat) -> Facts:
    return _so(
        {
            "voice": seat.voice,
            "question": seat.question,
            "asked": seat.asked,
            "form": seat.schema,
            "until": _time(seat.until),
            "label": str(seat.label),
            "over": seat.over,
            "taken": seat.taken,
        }
    )


def outcome_facts(outcome: Outcome) -> Facts:
    right = {} if outcome.shown is None else {"right": outcome.shown}
    return {
        "debate": str(outcome.debate),
        "decided_right": outcome.decided_right,
        "source": str(outcome.source),
        **right,
    }


def replayed_facts(replayed: Replayed) -> Facts:
    return {
        "told": verdict_words(replayed.now, DebateStatus.RUNNING),
        "now": decision_facts(replayed.now),
        "was": None if replayed.was is None else decision_facts(replayed.was),
        "calls": replayed.calls,
        "calls_made": replayed.calls_made,
        "tokens": replayed.tokens,
        "tokens_spent": replayed.tokens_spent,
        "notes": [*replayed.notes],
    }


def voice_facts(state: DebaterStatus) -> Facts:
    return _so(
        {
            "voice": state.debater.name,
            "kind": str(state.debater.kind),
            "family": state.debater.family,
            "clearance": str(state.debater.clearance),
            "unbounded": not state.debater.bounded,
            "away": state.why if not state.available else None,
        }
    )


def _option_facts(option: Option) -> Facts:
    return _so(
        {
            "answer": option.shown,
            "probability": option.probability,
            "voices": [*option.debaters],
            "rationale": option.rationale,
        }
    )


def _so(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is not there, is empty, or is not so; a number is always there."""
    return {
        name: value
        for name, value in facts.items()
        if (isinstance(value, int | float) and value is not False) or value
    }


def _time(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def debate_words(debate: Facts) -> str:
    decision = debate.get("decision", {})
    answer = decision.get("synthesis") or decision.get("answer") or ""
    return lines(
        f"{debate['debate']} [{debate['label']}] {debate['told']}",
        quoted(answer),
        _part_words(debate) if debate.get("analysis") else dissent_words(decision),
        [quoted(each) for each in debate.get("not_done", ())],
        cost_line(debate),
        _goes_on(debate),
    )


def dissent_words(decision: Facts) -> str:
    dissent = decision.get("dissent", ())
    head = "Dissent:" if decision.get("verdict") == "decided" else "What was said:"
    return lines(head if dissent else "", [_option_words(each) for each in dissent])


def _part_words(debate: Facts) -> str:
    parts = debate.get("parts", ())
    each = [f"{part['debate']}: {brief(part['question'])} {part['told']}" for part in parts]
    return lines("Parts:" if each else "", [quoted(line) for line in each])


def cost_line(debate: Facts) -> str:
    if debate["status"] == "running":
        return ""  # it is known once it is over
    cost = f"{debate['tokens']:,} tokens in {_calls(debate['calls'])}"
    return f"It cost {cost}, ${debate['dollars']}."


def _calls(many: int) -> str:
    return "1 call" if many == 1 else f"{many:,} calls"


def debate_line(debate: Facts) -> str:
    question = brief(debate["question"])
    return f"{debate['debate']} [{debate['label']}] {debate['status']}: {question}"


def estimate_words(estimate: Facts) -> str:
    rows = [
        f"  {each['voice']}: {_calls(each['calls'])}, {each['tokens']:,} tokens, "
        f"${each['dollars']}"
        + ("" if each["bounded"] else ", and more: it cannot be held to a maximum")
        for each in estimate["voices"]
    ]
    return lines(
        f"At most {estimate['most_tokens']:,} tokens, ${estimate['most_dollars']}, in "
        f"{_calls(estimate['most_calls'])}; usually {estimate['likely_tokens']:,} tokens in "
        f"{_calls(estimate['likely_calls'])}. Nothing was asked.",
        rows,
        estimate["notes"],
        "" if estimate["fits"] else "It does not fit into its budget, and could not begin.",
    )


def seat_words(seat: Facts) -> str:
    if seat.get("over"):
        return f"You sat there as {seat['voice']}. The debate is over."
    if "asked" not in seat:
        taken = "Your answer was taken. " if seat.get("taken") else ""
        return (
            f"{taken}You have a seat as {seat['voice']}, and nothing is asked of you now. Call "
            f"join_debate again, with wait, until {seat['until']}."
        )
    return lines(
        f"You have a seat as {seat['voice']}. Answer by join_debate with `answer` until "
        f"{seat['until']}:",
        quoted(seat["asked"]),
    )


def outcome_words(outcome: Facts) -> str:
    told = "right" if outcome["decided_right"] else "wrong"
    right = f"; the right answer is {brief(outcome['right'])}" if "right" in outcome else ""
    return (
        f"Written down: {outcome['debate']} was {told}{right}. The voices' weights learn from it."
    )


def replayed_words(replayed: Facts) -> str:
    was = replayed["was"] or {}
    before = f"It was: {brief(was.get('answer', 'no decision'))}." if was else ""
    return lines(
        replayed["told"],
        dissent_words(replayed["now"]),
        before,
        f"These rules would have used {replayed['calls']} of {_calls(replayed['calls_made'])}, and "
        f"{replayed['tokens']:,} of {replayed['tokens_spent']:,} tokens.",
        replayed["notes"],
    )


def voice_line(voice: Facts) -> str:
    flags = ["no maximum"] if voice.get("unbounded") else []
    away = f": away. {voice['away']}" if "away" in voice else ""
    return f"  {voice['voice']} [{', '.join([voice['clearance'], voice['family'], *flags])}]{away}"


def _option_words(option: Facts) -> str:
    who = ", ".join(option.get("voices", ()))
    said = f"{brief(option.get('answer', ''))} ({percent(option['probability'])}; {who})"
    why = option.get("rationale")
    return quoted(f"{said}: {brief(why)}" if why else said)


def _goes_on(debate: Facts) -> str:
    if debate["status"] != "running":
        return ""
    waits = " It has seats for guests: join_debate." if debate["guests"] else ""
    return f"It goes on without you: ask debate_status with wait.{waits}"
