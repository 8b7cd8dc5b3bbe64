"""Agents and their runs as text."""

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from portico.interfaces.cli.run_text import SHORT, duration, took
from portico.kernel.json import JsonObject

Told = Mapping[str, Any]

_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
)
_OVER: Final = re.compile(r"apr_\w+ is ([a-z]+)\b")
_OVER_WORDS: Final = {"expired": "not answered"}
_SHORT_ARGUMENTS: Final = 90
_SHORT_RESULT: Final = 120
_SHORT_QUESTION: Final = 60


def plain(text: str) -> str:
    """A stranger's text: nothing in it moves the cursor, or turns what stands beside it around."""
    return _CONTROL.sub("�", text)


def brief(text: str, longest: int) -> str:
    """On one line."""
    line = " ".join(plain(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def arguments_line(arguments: Told, longest: int = _SHORT_ARGUMENTS) -> str:
    """`path notes.md · limit 20`"""
    parts = [f"{name} {_value(value)}" for name, value in arguments.items()]
    return brief(" · ".join(parts), longest)


def result_line(text: str, longest: int = _SHORT_RESULT) -> str:
    return brief(text, longest)


def agent_row(agent: Told) -> JsonObject:
    return {
        "name": agent["name"],
        "model": agent["model"],
        "tools": ", ".join(agent["tools"]) or None,
        "tags": ", ".join(agent["tags"]) or None,
        "version": agent["version"],
        "description": agent["description"],
    }


def warning_lines(agent: Told) -> Sequence[str]:
    """What may not be meant, of one that was made all the same."""
    return [f"! {it['field']}: {plain(it['message'])}." for it in agent.get("warnings", ())]


def limits_line(limits: Told) -> str:
    """`20 turns · 400,000 tokens · $1.00 · 10 min 0 s · 100 calls`"""
    parts = [
        f"{limits['turns']} turns",
        f"{limits['tokens']:,} tokens",
        money(limits["money"]),
        duration(limits["seconds"]),
        f"{limits['calls']} calls",
    ]
    return " · ".join(parts)


def run_row(run: Told) -> JsonObject:
    return {
        "run": f"…{run['run'][-SHORT:]}",
        "agent": run["agent_name"],
        "status": run["status"],
        "started": run["started_at"],
        "took": took(run["started_at"], run["ended_at"]),
        "turns": run["turns"],
        "tools": run["tool_uses"],
        "tokens": tokens_of(run["usage"]),
        "money": money(run["money"]),
        "error": run["error_code"],
        "asked": brief(run.get("asked") or "", _SHORT_QUESTION),
    }


def tokens_of(usage: Told) -> int:
    return int(usage["input"]) + int(usage["output"])


def money(amount: str | float) -> str:
    """`$0.0042`: small sums are the rule."""
    value = Decimal(str(amount))
    return f"${value:.2f}" if value >= 1 or not value else f"${value:.4f}"


def spent(usage: Told, amount: str | float) -> str:
    return f"{usage['input']:,} tokens read, {usage['output']:,} written, {money(amount)}"


def trace_lines(trace: Told) -> Sequence[str]:
    """As a tree: what was said, each turn, and each use of a tool in it."""
    run = trace["run"]
    lines = [f"{run['run']}  {run['agent_name']} v{run['agent_version']}  {run['status']}"]
    if run.get("continues"):
        lines.append(f"├─ continues  {run['continues']}")
    lines += [f"├─ said  {brief(said['text'], _SHORT_RESULT)}" for said in trace["said"]]
    for turn in trace["turns"]:
        lines += _turn_lines(turn, [use for use in trace["uses"] if use["turn"] == turn["number"]])
    end = f"{run['error_code']}: {run['error']}" if run["error_code"] else run["answer"]
    lines.append(f"└─ {run['status']}  {brief(str(end), _SHORT_RESULT)}")
    return lines


def _turn_lines(turn: Told, uses: Sequence[Told]) -> Sequence[str]:
    speed = turn.get("tokens_a_second")
    facts = [
        plain(turn["model"]),
        duration(turn["took"]),
        f"{turn['usage']['input']:,} → {turn['usage']['output']:,} tokens",
        *([f"{speed:.0f} tokens/s"] if speed else []),
        *([money(turn["money"])] if Decimal(str(turn["money"])) else []),
        *([f"{turn['attempts']} tries"] if turn["attempts"] > 1 else []),
    ]
    lines = [f"├─ turn {turn['number']}  {' · '.join(facts)}"]
    lines += [f"│    ! {plain(note)}" for note in turn["notes"]]
    if turn["text"].strip():
        lines.append(f"│    “{brief(turn['text'], _SHORT_RESULT)}”")
    for use in uses:
        lines += _use_lines(use)
    return lines


def _use_lines(use: Told) -> Sequence[str]:
    sign = "✗" if use["failed"] else "✓"
    early = ", begun early" if use["early"] else ""
    asked = f", {_answered(use)}" if use["approval"] else ""
    how = f"{duration(use['took'])}{early}{asked}"
    return [
        f"│  ├─ {sign} {plain(use['tool'])}  {how}",
        f"│  │    {arguments_line(use['arguments']) or 'without arguments'}",
        f"│  │    → {result_line(use['text'])}",
    ]


def _answered(use: Told) -> str:
    """What became of the request for it."""
    match use.get("code"):
        case "approval_rejected":
            return "rejected"
        case "approval_over":
            found = _OVER.search(use["text"])
            return _OVER_WORDS.get(found[1], found[1]) if found else "not approved"
        case _:
            return "approved"


def _value(value: object) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
