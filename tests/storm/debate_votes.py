"""What the models of a storm of debates say: enough dissent that everybody is asked, in both
rounds; and what was asked of them, by what and when."""

import json
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.scenarios.voting_models import MODELS, VotingModels, vote

CHOICES: Final = ("tabs", "spaces")
FIRST: Final = dict(zip(MODELS, ("tabs", "spaces", "tabs", "spaces"), strict=True))
"""Two against two, which no answer wins."""
CHANGES: Final = MODELS[1]
"""Finds an error in its own answer."""
_NAME: Final = re.compile(r"\[([a-z0-9-]+)\]")
"""In the question of each debate, so that one can tell whose it is."""
_PLANNING: Final = '{"parts":'
_WRITING: Final = '{"text":'
_CRITIQUE: Final = "Others have answered otherwise"
"""By which one knows what a question is for."""


@dataclass(frozen=True, slots=True)
class Asking:
    debate: str
    model: str
    text: str
    came: float

    @property
    def what(self) -> tuple[str, str]:
        """The same for the same question."""
        return self.model, self.text

    @property
    def note(self) -> str:
        """The name of the note that its answer becomes."""
        if _PLANNING in self.text:
            return "plan"
        if _WRITING in self.text:
            return "synthesis"
        return f"said:{2 if _CRITIQUE in self.text else 1}:storm:{self.model}"

    def is_about(self, debate: Mapping[str, Any]) -> bool:
        return f"Question: {debate['question']['text']}\n" in self.text


@dataclass(slots=True)
class Votes:
    """Hands each model its words, and remembers who was asked what."""

    asked: list[Asking] = field(default_factory=list)

    def __call__(self, model: str, text: str) -> str:
        found = _NAME.search(text)
        self.asked.append(Asking(found[1] if found else "", model, text, time.monotonic()))
        if _PLANNING in text:
            return _plan(found[1] if found else "")
        if _WRITING in text:
            return json.dumps({"text": "Use tabs, and an editor that shows them."})
        if _CRITIQUE in text and model == CHANGES:
            return vote("tabs", 0.9, changed_because="Spaces cannot be set by each reader.")
        return vote(FIRST[model], 0.7, f"{model} thinks so.", changed_because=None)

    def of(self, debate: str) -> Sequence[Asking]:
        return [each for each in self.asked if each.debate == debate]

    def often(self, debate: str) -> Counter[tuple[str, str]]:
        return Counter(each.what for each in self.of(debate))


def question(name: str) -> str:
    return f"[{name}] Tabs or spaces?"


def say(models: VotingModels) -> Votes:
    votes = Votes()
    models.says = votes
    return votes


def _plan(name: str) -> str:
    parts = [
        {"question": f"[{name}] {text}", "kind": "choice", "choices": list(CHOICES), "role": None}
        for text in ("What is better for people?", "What is better for machines?")
    ]
    return json.dumps({"parts": parts})


def outcome(debate: Mapping[str, Any]) -> Mapping[str, Any]:
    """What must be the same however often it was cut off: not what it cost."""
    decision = debate["decision"]
    return {
        "status": debate["status"],
        "verdict": decision["verdict"],
        "why": decision["why"],
        "answer": _without_name(decision["answer"]),
        "probability": round(decision["probability"], 9),
        "asked": decision["asked"],
        "options": [
            (_without_name(each["answer"]), round(each["probability"], 9), sorted(each["voices"]))
            for each in decision["options"]
        ],
    }


def _without_name(text: str | None) -> str | None:
    return None if text is None else _NAME.sub("", text)
