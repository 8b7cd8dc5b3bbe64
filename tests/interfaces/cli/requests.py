"""Requests for approval as a server shows them."""

from typing import Any

ID = "apr_01m7fxv1skfhf86xxtf6psvgnn"
OTHER = "apr_01m7fxv1skfhf86xxtf6psvg22"
LATER = "2999-01-01T00:00:00Z"


def a_request(name: str = ID, **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "status": "waiting",
        "question": "May desktop (agent) use mail.send, which cannot be undone?",
        "tool": "mail.send",
        "server": "mail",
        "effect": "irreversible",
        "asker": {"id": "prn_1", "name": "desktop", "kind": "agent", "key": "k1k1k1k1k1k1"},
        "arguments": {"to": "bob@else.example", "text": "one\ntwo"},
        "marks": [{"pointer": "/to", "why": "recipient"}],
        "before": [
            {
                "tool": "mail.get_inbox",
                "effect": "external_read",
                "at": "2026-01-01T10:00:00+00:00",
                "outcome": "done",
            }
        ],
        "rule": "default:taint",
        "reason": "the task has read what strangers wrote",
        "label": "public",
        "answers": ["once", "run", "always", "reject"],
        "tainted": True,
        "asked_at": "2026-01-01T10:00:01Z",
        "expires_at": LATER,
        "run": "run_1",
        "answered": None,
        "outcome": None,
        "ended_at": None,
        "error": None,
        "replaces": None,
        "replaced_by": None,
        "result": None,
    } | changes


def an_answer(kind: str, by: str = "ana", **changes: Any) -> dict[str, Any]:
    given = {"answer": kind, "by": "prn_2", "by_name": by, "via": "cli", "at": LATER}
    status = "rejected" if kind == "reject" else "approved"
    return a_request(status=status, answered={**given, "reason": None, "rule": None, **changes})


def waiting(*requests: dict[str, Any]) -> dict[str, Any]:
    return {"data": [*requests], "next": None}


ONE = {
    "GET /me": {"id": "prn_2", "name": "ana"},
    "GET /approvals": waiting(a_request()),
    f"GET /approvals/{ID}": a_request(),
    f"POST /approvals/{ID}/answer": an_answer("once"),
    f"POST /approvals/{ID}/resolve": an_answer("once", outcome="done"),
}
"""One waits, and may be answered."""
