"""What a server says of a workflow."""

from datetime import datetime
from typing import Any

from tests.interfaces.cli.picture.scenes import NOON, RUN, at


def a_told_step(name: str, *needs: str, **changes: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": name,
        "tool": f"server.{name}",
        "state": "pending",
        "why": None,
        "needs": list(needs),
        "started_at": None,
        "finished_at": None,
        "seconds": None,
        "tries": 0,
        "approval": None,
        "size": None,
        "handle": None,
        "items": None,
        "error": None,
    } | changes
    return {key: _said(value) for key, value in told.items()}


def a_report(*steps: dict[str, Any], **changes: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "run": RUN,
        "name": "morning",
        "kind": "workflow",
        "status": "running",
        "mode": "durable",
        "principal": "prn_1",
        "label": "team",
        "created_at": NOON,
        "started_at": NOON,
        "finished_at": None,
        "seconds": None,
        "forked_from": None,
        "steps": list(steps),
        "critical_path": [],
        "output": None,
        "output_handle": None,
        "output_size": None,
        "error": None,
        "printed": None,
    } | changes
    return {key: _said(value) for key, value in told.items()}


def an_event(type_: str, when: float, /, **facts: Any) -> dict[str, Any]:
    """`when` in seconds after noon."""
    return {"topic": RUN, "type": type_, "at": at(when).isoformat(), "facts": facts}


def _said(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
