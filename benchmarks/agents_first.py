"""How long until somebody reads the first word: of the model itself, and of an agent on it."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from benchmarks.agents_setting_up import body

_TEXT: Final = "text.added"


class NoWord(Exception):
    """A stream ended before anything was said in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One client for each, whose connections stay open."""

    server: httpx2.Client
    """Of the model."""
    model: str
    """As that server calls it."""
    house: httpx2.Client
    """Of Portico; knows its key."""
    agent: str

    def direct(self, message: str) -> float:
        """With the instructions that the agent gives it, too."""
        return self._chat(self.server, body(self.model, message))

    def as_run(self, message: str) -> float:
        """A run is started and followed, as a page does it."""
        began = time.perf_counter()
        started = self.house.post(f"/api/v1/agents/{self.agent}/runs", json={"message": message})
        started.raise_for_status()
        path = f"/api/v1/agents/runs/{started.json()['run']}/events"
        with self.house.stream("GET", path) as answer:
            return _first(answer.iter_lines(), _is_text, began)

    def as_model(self, message: str) -> float:
        """An agent asked as a model, as other programs do it."""
        messages = [{"role": "user", "content": message}]
        sent = {"model": f"agent/{self.agent}", "messages": messages, "stream": True}
        return self._chat(self.house, sent)

    def _chat(self, client: httpx2.Client, sent: Mapping[str, Any]) -> float:
        began = time.perf_counter()
        with client.stream("POST", "/v1/chat/completions", json=sent) as answer:
            answer.raise_for_status()
            return _first(answer.iter_lines(), _has_content, began)


def _first(lines: Iterable[str], says: Callable[[str], bool], began: float) -> float:
    """Until the first line that says something; the rest is read, so that the line stays open."""
    took = None
    for line in lines:
        if took is None and says(line):
            took = time.perf_counter() - began
    if took is None:
        raise NoWord
    return took


def _is_text(line: str) -> bool:
    return line.removeprefix("event:").strip() == _TEXT


def _has_content(line: str) -> bool:
    if not line.startswith("data:") or line.endswith("[DONE]"):
        return False
    choices = json.loads(line.removeprefix("data:"))["choices"]
    return any(choice["delta"].get("content") for choice in choices)
