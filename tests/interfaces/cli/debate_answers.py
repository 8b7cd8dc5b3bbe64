"""Debates as a server shows them."""

from typing import Any

from tests.interfaces.cli.agent_answers import NOON, event, page
from tests.interfaces.cli.scripted_server import Streamed

DEBATE = "dbt_01m7fxv1skfhf86xxtf6psvgnn"
LATER = "2026-01-01T12:00:08Z"
ONE, TWO, THREE = "ollama:small", "openai:gpt-5", "anthropic:opus"
NO_COST = {"tokens": 0, "money": "0", "calls": 0}


def a_voice(name: str, **more: Any) -> dict[str, Any]:
    facts = {
        "name": name,
        "kind": "model",
        "target": name,
        "family": name.partition(":")[0],
        "personas": [],
        "specialist": False,
        "bounded": True,
        "clearance": "public",
    }
    return facts | more


def an_option(answer: str, probability: float, *voices: str, why: str = "") -> dict[str, Any]:
    return {
        "answer": answer,
        "probability": probability,
        "voices": [*voices],
        "rationale": why,
    }


def a_decision(**changes: Any) -> dict[str, Any]:
    no = an_option("no", 0.93, ONE, TWO, why="7 times 13 is 91.")
    yes = an_option("yes", 0.05, THREE, why="It looks like one.")
    facts = {
        "verdict": "decided",
        "why": "certain",
        "answer": "no",
        "probability": 0.93,
        "options": [no, yes],
        "dissent": [yes],
        "n_eff": 1.4,
        "rule": "cold",
        "weights": {},
        "veto": None,
        "synthesis": None,
        "asked": 3,
        "saved_tokens": 0,
    }
    return facts | changes


def a_debate(**changes: Any) -> dict[str, Any]:
    facts = {
        "id": DEBATE,
        "question": {
            "text": "Is 91 a prime number?",
            "kind": "yes_no",
            "choices": [],
            "topic": "general",
        },
        "preset": "vote",
        "thoroughness": 0.5,
        "voices": [a_voice(ONE), a_voice(TWO), a_voice(THREE)],
        "guests": 0,
        "cap": {"tokens": 20_000, "money": None},
        "unbounded": False,
        "deadline": LATER,
        "label": "public",
        "untrusted": False,
        "private": True,
        "project": None,
        "part_of": None,
        "analysis": False,
        "started_by": "prn_1",
        "run": "run_01m7fxv1skfhf86xxtf6psvgnn",
        "status": "running",
        "started_at": NOON,
        "ended_at": None,
        "spent": NO_COST,
        "decision": None,
        "told": "Nothing is decided yet.",
    }
    return facts | changes


def a_decided(**changes: Any) -> dict[str, Any]:
    facts = {
        "status": "decided",
        "ended_at": LATER,
        "spent": {"tokens": 1_500, "money": "0.0042", "calls": 3},
        "decision": a_decision(),
        "told": "Decided: no (93 %), since whoever was left could not have changed it.",
    }
    return a_debate(**facts | changes)


def undecided(**changes: Any) -> dict[str, Any]:
    decision = a_decision(verdict="no_decision", why="tie", answer=None, probability=0.5)
    facts = {
        "status": "no_decision",
        "decision": decision,
        "told": "No decision: the voices are split.",
    }
    return a_decided(**facts | changes)


def a_note(kind: str, voice: str | None, tokens: int = 0, **more: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": f"{kind}:1:{voice}",
        "kind": kind,
        "voice": voice,
        "round": 1,
        "body": {},
        "cost": {"tokens": tokens, "money": "0.0021" if tokens else "0", "calls": int(tokens > 0)},
        "prompt_tokens": tokens // 2,
        "output_tokens": tokens - tokens // 2,
        "overrun": 0,
        "at": NOON,
    }
    return facts | more


def a_whole(debate: dict[str, Any], *notes: dict[str, Any], **more: Any) -> dict[str, Any]:
    usual = (
        a_note("said", ONE, 600, body={"shown": "no"}),
        a_note("said", TWO, 400, body={"shown": "no"}),
        a_note("failed", THREE, 200, body={"code": "voice_broke", "why": "it said nothing"}),
    )
    return {"debate": debate, "notes": [*(notes or usual)], "parts": [], **more}


def an_estimate(**changes: Any) -> dict[str, Any]:
    row = {"calls": 1, "tokens": 2_000, "money": "0", "bounded": True}
    facts = {
        "voices": [{"voice": ONE, **row}, {"voice": TWO, **row}],
        "most": {"tokens": 4_000, "money": "0", "calls": 2},
        "likely_tokens": 2_500,
        "likely_calls": 2,
        "seconds": 300,
        "preset": "vote",
        "kind": "yes_no",
        "notes": [],
        "fits": True,
    }
    return facts | changes


def asked(voice: str, round_: int = 1) -> str:
    return event(
        "voice.asked", voice=voice, round=round_, reserved_tokens=900, why="of another family"
    )


def answered(voice: str, answer: str, **more: Any) -> str:
    facts: dict[str, Any] = {
        "voice": voice,
        "round": 1,
        "answer": answer,
        "rationale": "",
        "confidence": 0.9,
        "tokens": 500,
        "money": "0.0021",
        "seconds": 1.25,
    }
    return event("voice.answered", **facts | more)


def failed(voice: str, why: str) -> str:
    return event("voice.failed", voice=voice, round=1, code="voice_broke", why=why)


def stands(*options: tuple[str, float], **more: Any) -> str:
    facts: dict[str, Any] = {
        "options": [[*each] for each in options],
        "spent_tokens": 1_000,
        "reserved_tokens": 900,
        "cap_tokens": 20_000,
        "spent_money": "0",
        "cap_money": None,
    }
    return event("standing", **facts | more)


def ended(status: str = "decided") -> str:
    facts = {"decision": None, "status": status, "tokens": 1_500, "money": "0", "seconds": 8.0}
    return event("debate.ended", 9, **facts)


BEGAN = event("round.began", 1, round=1, voices=[ONE, TWO])
TOLD = (
    BEGAN,
    asked(ONE),
    asked(TWO),
    event("voice.spoke", voice=ONE, round=1, text="{"),
    answered(ONE, "no"),
    answered(TWO, "no", confidence=None),
    stands(("no", 0.8), ("yes", 0.15)),
    asked(THREE),
    failed(THREE, "it said nothing"),
    event("skipped", what="critique", why="budget", saved_tokens=1_200),
    ended(),
)


def answers(*told: str, end: Any = None, **more: Any) -> dict[str, Any]:
    """A debate in which this is told, and this comes of it."""
    return {
        "POST /debate-estimate": an_estimate(),
        "POST /debates": a_debate(),
        f"POST /debates/{DEBATE}/stop": a_debate(),
        f"GET /debates/{DEBATE}/events": Streamed(["".join(told or TOLD)]),
        f"GET /debates/{DEBATE}": end or a_whole(a_decided()),
        "GET /debates": page(a_decided()),
        **more,
    }
