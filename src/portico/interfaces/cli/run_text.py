"""Runs by id or a part of it, and their states as text."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from portico.engine.core.errors import RunNotFound
from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import shown
from portico.kernel.json import JsonObject

SHORT: Final = 6
"""So many of its first or last letters are enough, and fewer are not."""
_WHOLE: Final = re.compile(r"run_[0-9a-z]{26}")
LATEST: Final = 200
"""Among so many of the latest runs a short name is looked up."""


def find_run(server: Server, text: str) -> str:
    """The run's whole id. Raises `RunNotFound`, `InvalidUsage`."""
    return named(text, (str(each["id"]) for each in islice(server.pages("/runs"), LATEST)))


def named(text: str, latest: Iterable[str], *, listed: str = "portico runs list") -> str:
    """Which of the latest it is; they are looked at only if it is short. As lists show it, with
    three dots before it, it is known too; `listed` is what lists them. Raises the same."""
    text = text.removeprefix("…")
    if _WHOLE.fullmatch(text):
        return text
    if len(text.removeprefix("run_")) < SHORT:
        raise InvalidUsage(
            f"{text!r} is too short for the name of a run: it takes at least six letters, of the"
            " beginning or the end of its id.",
            fix=f"See which there are: {listed}",
        )
    found = [run for run in latest if _is_short_for(text, run)]
    if not found:
        raise RunNotFound(text)
    if len(found) > 1:
        raise InvalidUsage(
            f"{text!r} is short for {len(found)} runs.",
            fix=f"Say more of it: {', '.join(found[:5])}",
        )
    return found[0]


def _is_short_for(text: str, run: str) -> bool:
    return run.startswith((text, f"run_{text}")) or run.endswith(text)


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
