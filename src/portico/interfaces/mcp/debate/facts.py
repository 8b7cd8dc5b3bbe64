"""What there is of debates as objects for programs, without what is not so."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from portico.debate.core.conduct import skipped_words, verdict_words
from portico.debate.core.debaters import VoiceState
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
from portico.interfaces.mcp.told import Facts


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
            for each in estimate.voices
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


def voice_facts(state: VoiceState) -> Facts:
    return _so(
        {
            "voice": state.voice.name,
            "kind": str(state.voice.kind),
            "family": state.voice.family,
            "clearance": str(state.voice.clearance),
            "unbounded": not state.voice.bounded,
            "away": state.why if not state.available else None,
        }
    )


def _option_facts(option: Option) -> Facts:
    return _so(
        {
            "answer": option.shown,
            "probability": option.probability,
            "voices": [*option.voices],
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
