"""Several models that vote as they are told to, and count what they are asked."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.scenarios.model_server import ModelServer, Said, serving, text_of

MODELS: Final = ("gpt-heron", "claude-egret", "llama-ibis", "qwen-stork")
"""Each of another family."""


def vote(answer: str, confidence: float = 0.8, because: str = "It is so.", **more: Any) -> str:
    """As a voice is told to answer."""
    return json.dumps({"answer": answer, "confidence": confidence, "rationale": because, **more})


@dataclass
class Call:
    model: str
    text: str
    """All of its prompt."""
    most: int | None


@dataclass
class VotingModels(ModelServer):
    names = MODELS
    says: Callable[[str, str], str] = lambda _model, _text: vote("yes")
    """By the model's name and what it was asked."""
    asked: list[Call] = field(default_factory=list)

    def asked_about(self, words: str) -> list[Call]:
        return [each for each in self.asked if words in each.text]

    def answer(self, asked: dict[str, Any]) -> Said:
        text = "\n".join(text_of(each) for each in asked["messages"])
        most = asked.get("max_tokens") or asked.get("max_completion_tokens")
        self.asked.append(Call(asked["model"], text, most))
        said = self.says(asked["model"], text)
        pieces = [said[at : at + 20] for at in range(0, len(said), 20)]
        return Said(pieces=pieces, read=len(text), written=len(said))


@contextmanager
def voting_models() -> Iterator[VotingModels]:
    with serving(VotingModels()) as models:
        yield models
