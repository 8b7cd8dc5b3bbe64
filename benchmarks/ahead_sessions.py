"""Sessions as they were recorded: what was wished, what was looked for, which calls were made."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from portico.kernel.json import JsonObject


@dataclass(frozen=True, slots=True)
class Made:
    """One call and its answer."""

    server: str
    tool: str
    arguments: Mapping[str, Any]
    text: str
    structured: Mapping[str, Any] | None
    failed: bool
    seconds: float

    @property
    def name(self) -> str:
        return f"{self.server}.{self.tool}"

    @property
    def key(self) -> str:
        """The same for the same tool with the same arguments."""
        return key_of(self.name, self.arguments)


def key_of(name: str, arguments: Mapping[str, Any]) -> str:
    return json.dumps([name, arguments], sort_keys=True)


@dataclass(frozen=True, slots=True)
class Session:
    number: int
    template: str
    intent: str
    searches: Sequence[str]
    """What the agent looked for before its first call; the gateway sees this, unlike the intent."""
    calls: Sequence[Made]
    later: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """What it looked for after so many calls."""


@dataclass(frozen=True, slots=True)
class Recording:
    sessions: Sequence[Session]
    tools: Mapping[str, JsonObject]
    """By `server.tool`, the definition as the server gives it."""
    made_with: Mapping[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        return sum(len(each.calls) for each in self.sessions)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self)), encoding="utf-8")
        fresh.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self:
        told = json.loads(path.read_text(encoding="utf-8"))
        sessions = [_session(**each) for each in told["sessions"]]
        return cls(sessions, told["tools"], told["made_with"])


def _session(*, calls: Sequence[Mapping[str, Any]], **more: Any) -> Session:  # noqa: ANN401 # JSON
    return Session(calls=[Made(**call) for call in calls], **more)
