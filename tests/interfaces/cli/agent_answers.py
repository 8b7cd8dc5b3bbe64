"""Agents and their runs as a server shows them."""

import json
from typing import Any

RUN = "run_01m7fxv1skfhf86xxtf6psvgnn"
NOON = "2026-01-01T12:00:00Z"
USAGE = {"input": 1200, "output": 34, "cached": 0, "reported": True}

AGENT: dict[str, Any] = {
    "id": "agt_01m7fxv1skfhf86xxtf6psvgnn",
    "name": "helper",
    "description": "Helps with notes.",
    "instructions": "Be brief.\nSay what you read.",
    "model": "ollama:small",
    "fallbacks": [],
    "tools": ["files.*"],
    "tool_mode": "auto",
    "most_output": 4096,
    "label": "team",
    "tags": ["home"],
    "exposed": False,
    "limits": {"turns": 10, "tokens": 200000, "money": "1", "seconds": 600.0, "calls": 100},
    "version": 3,
    "made_by_name": "ana",
    "made_at": NOON,
    "changed_at": NOON,
}


def page(*items: Any) -> dict[str, Any]:
    return {"data": [*items], "next": None}


def event(name: str, mark: int | None = None, **facts: Any) -> str:
    head = "" if mark is None else f"id: {mark}\n"
    return f"{head}event: {name}\ndata: {json.dumps(facts)}\n\n"


def text(words: str, offset: int = 0, *, turn: int = 1, attempt: int = 1) -> str:
    return event("text.added", turn=turn, attempt=attempt, offset=offset, text=words)


def tool_began(call: str = "c1", tool: str = "files.read", **arguments: Any) -> str:
    return event("tool.began", turn=1, call=call, tool=tool, arguments=arguments)


def tool_ended(call: str = "c1", tool: str = "files.read", *, failed: bool = False) -> str:
    told = "there is no such file" if failed else "# Notes\nfirst line"
    return event("tool.ended", turn=1, call=call, tool=tool, text=told, failed=failed, seconds=0.25)


def tool_waits(approval: str, call: str = "c1", tool: str = "mail.send") -> str:
    return event("tool.waits", turn=1, call=call, tool=tool, approval=approval, expires_at=NOON)


def run_ended(answer: str = "Hello.", status: str = "completed", **more: Any) -> str:
    facts = {
        "run": RUN,
        "status": status,
        "answer": answer,
        "error_code": None,
        "error": None,
        "fix": None,
        "usage": USAGE,
        "money": "0.0042",
    }
    return event("run.ended", 9, **facts | more)


def a_run(**changes: Any) -> dict[str, Any]:
    return {
        "run": RUN,
        "agent": AGENT["id"],
        "agent_name": "helper",
        "agent_version": 3,
        "status": "completed",
        "started_at": NOON,
        "ended_at": "2026-01-01T12:00:02.5Z",
        "model": "ollama:small",
        "turns": 2,
        "tool_uses": 1,
        "usage": USAGE,
        "money": "0.0042",
        "answer": "Done.",
        "error_code": None,
        "error": None,
        "continues": None,
        "asked": "What is in my notes?",
    } | changes


TRACE: dict[str, Any] = {
    "run": a_run(),
    "said": [{"number": 1, "text": "What is in\nmy notes?", "at": NOON}],
    "turns": [
        {
            "number": 1,
            "model": "ollama:small",
            "attempts": 2,
            "text": "I look.",
            "usage": USAGE,
            "money": "0.0042",
            "took": 1.5,
            "tokens_a_second": 40.2,
            "notes": ["the first model did not answer"],
        },
        {
            "number": 2,
            "model": "ollama:small",
            "attempts": 1,
            "text": "",
            "usage": USAGE,
            "money": "0",
            "took": 0.5,
            "tokens_a_second": None,
            "notes": [],
        },
    ],
    "uses": [
        {
            "turn": 1,
            "place": 0,
            "tool": "files.read",
            "arguments": {"path": "notes.md", "limit": 3},
            "text": "# Notes",
            "failed": False,
            "early": True,
            "approval": None,
            "took": 0.25,
        }
    ],
}

STARTED = {"run": RUN, "agent": "helper", "agent_version": 3, "status": "running"}
