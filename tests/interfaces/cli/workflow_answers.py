"""A server that carries out one workflow, as far as the command line can tell."""

import json
from typing import Any

from tests.interfaces.cli.picture.reports import a_report, a_told_step, an_event
from tests.interfaces.cli.picture.scenes import NOON, RUN, at
from tests.interfaces.cli.scripted_server import Streamed

PLAN = """
name = "morning"

[[steps]]
id = "read"
tool = "files.read"
arguments = { path = "a.txt" }
"""
DONE = a_told_step("read", state="done", started_at=NOON, finished_at=at(1), seconds=1.0)
FAILURE = {"type": "X", "message": "no such file", "code": "tool_failed", "step": "read"}
FAILED = a_told_step("read", state="failed", error=FAILURE, started_at=NOON, finished_at=at(1))
ENDED: dict[str, Any] = {"status": "done", "finished_at": at(1), "output": {"text": "hello"}}
ASKED = "apr_01m7fxv1skfhf86xxtf6psvgnn"


def told(*events: dict[str, Any], over: bool = True) -> str:
    parts = [
        f"id: mark{number}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n"
        for number, event in enumerate(events)
    ]
    return "".join([*parts, "event: end\ndata: {}\n\n" if over else ""])


STORY = told(
    an_event("run.started", 0),
    an_event("step.done", 1, step="read", seconds=1.0),
    an_event("run.done", 1),
)


def answers(*steps: dict[str, Any], **report: Any) -> dict[str, Any]:
    found = a_report(*(steps or [DONE]), **(report or ENDED))
    return {
        "POST /workflows": found,
        "POST /programs": found,
        f"GET /workflows/{RUN}": found,
        f"GET /runs/{RUN}/events": Streamed([STORY]),
        "GET /workflows": {"data": [{"run": RUN}], "next": None},
    }


CHECKED: dict[str, Any] = {
    "ok": True,
    "flaws": [],
    "name": "morning",
    "effect": "external_write",
    "order": ["a", "b", "c"],
    "critical_path": ["a", "c"],
    "steps": [
        {"id": "a", "tool": "x.a", "effect": "local_read", "needs": [], "approval": None},
        {"id": "b", "tool": "x.b", "effect": "local_read", "needs": [], "approval": None},
        {
            "id": "c",
            "tool": "x.c",
            "effect": "external_write",
            "needs": ["a", "b"],
            "approval": {"rule": "default", "reason": "it writes"},
        },
    ],
}
"""A plan that was held against the tools there are."""
