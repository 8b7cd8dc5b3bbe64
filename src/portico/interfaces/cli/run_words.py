"""Runs and what they tell, in words for a person."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from portico.interfaces.cli.run_names import SHORT
from portico.interfaces.cli.terminal import shown
from portico.kernel.json import JsonObject

Told = Mapping[str, Any]

_SUBJECTS: Final = ("step", "topic", "part")
"""What an event is about; the first that it has is enough."""
_SILENT: Final = frozenset({"run", "kind", "step", "topic", "part", "seconds", "error", "until"})


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, left = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {left} s"
    return f"{minutes // 60} h {minutes % 60} min"


def took(began: str | None, ended: str | None) -> str | None:
    """How long it took, or has taken so far."""
    if began is None:
        return None
    end = datetime.now(UTC) if ended is None else datetime.fromisoformat(ended)  # noqa: TID251 # shown to a person
    return duration(max((end - datetime.fromisoformat(began)).total_seconds(), 0))


def failure(error: Told | None) -> str | None:
    return None if error is None else str(error["message"])


def run_facts(run: Told) -> JsonObject:
    facts = {
        "id": run["id"],
        "kind": run["kind"],
        "status": run["status"],
        "label": run["label"],
        "created": _moment(run["created_at"]),
        "started": run["started_at"] and _moment(run["started_at"]),
        "took": took(run["started_at"], run["finished_at"]),
        "input": run["input"] or None,
        "waits_for": run["waits_for"] or None,
        "wakes": run["wakes_at"] and _moment(run["wakes_at"]),
        "forked_from": run["forked_from"],
        "error": failure(run["error"]),
        "result": run["result"],
    }
    return {name: value for name, value in facts.items() if value is not None}


def step_row(step: Told) -> JsonObject:
    waiting = f"open, until {_moment(step['due_at'])}" if step["due_at"] else step["state"]
    return {
        "step": step["name"],
        "state": waiting if step["state"] == "open" else step["state"],
        "started": _moment(step["started_at"]),
        "took": took(step["started_at"], step["finished_at"]),
        "error": failure(step["error"]),
        "output": failure(step["error"]) or json.dumps(step["output"], ensure_ascii=False),
    }


def event_line(event: Told, *, of_many: bool) -> str:
    """`12:03:01 step.done  fetch  0.4 s`; among the events of many runs also which one's."""
    facts = event["facts"]
    at = datetime.fromisoformat(event["at"]).astimezone()
    whose = [f"…{facts['run'][-SHORT:]}", facts["kind"]] if of_many and "run" in facts else []
    parts = [*whose, *_said(facts)]
    return "  ".join([f"{at:%H:%M:%S} {event['type']:<14}", *map(shown, parts)]).rstrip()


def _said(facts: Told) -> list[str]:
    said = [str(facts[name]) for name in _SUBJECTS if facts.get(name) is not None][:1]
    if facts.get("seconds") is not None:
        said.append(duration(facts["seconds"]))
    if facts.get("until") is not None:
        said.append(f"until {_moment(facts['until'])}")
    if facts.get("error") is not None:
        said.append(str(facts["error"]["message"]))
    rest = {name: value for name, value in facts.items() if name not in _SILENT and value}
    return [*said, *(f"{name} {_brief(value)}" for name, value in rest.items())]


def _moment(text: str) -> str:
    """To the second: most of what a run does is over within a minute."""
    return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"


def _brief(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"
