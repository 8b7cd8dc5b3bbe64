"""A model that plays what it is told to: it counts what it is asked, and remembers nothing, so that
it goes on wherever a run does.

What it plays stands in the first message of the user that begins with `play:`, as JSON: a list of
turns, each with what it says and which tools it calls. After the last it says what it was told.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.scenarios.model_server import ModelServer, Said, serving, text_of

MODEL: Final = "player"
_PLAY: Final = "play:"


def play(*turns: Mapping[str, Any], say: str = "") -> str:
    """The message that makes it play these."""
    return f"{_PLAY}{json.dumps([*turns])}\n{say}"


def calls(
    *wanted: tuple[str, Mapping[str, Any]], say: str = "", slow: float = 0.0
) -> dict[str, Any]:
    """A turn that calls these tools; `slow`: seconds that it takes to say so."""
    return {"say": say, "calls": [[name, dict(given)] for name, given in wanted], "slow": slow}


def says(text: str, slow: float = 0.0) -> dict[str, Any]:
    return {"say": text, "calls": [], "slow": slow}


@dataclass
class ScriptedModel(ModelServer):
    names = (MODEL,)
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Every request, as it came in."""
    replies: Callable[[str], str] | None = None
    """What it says to whoever has nothing played, by what they said last."""
    plays: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Turns by the message that they are played for, where it is not to hold them itself."""

    def asked_by(self, words: str) -> list[dict[str, Any]]:
        """What was asked in conversations in which somebody said this."""
        return [each for each in self.asked if words in json.dumps(each["messages"])]

    def answer(self, asked: dict[str, Any]) -> Said:
        self.asked.append(asked)
        turn = _turn(asked["messages"], self)
        return Said(
            pieces=[f"{word} " for word in turn["say"].split(" ")] if turn["say"] else [],
            calls=_wanted(asked, turn),
            read=len(json.dumps(asked["messages"])),
            written=len(json.dumps(turn)),
            slow=turn.get("slow", 0.0),
        )


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    with serving(ScriptedModel()) as model:
        yield model


def _turn(messages: Sequence[dict[str, Any]], its: ScriptedModel) -> dict[str, Any]:
    said = [(at, text_of(each)) for at, each in enumerate(messages) if each["role"] == "user"]
    texts = [(at, play(*its.plays[text]) if text in its.plays else text) for at, text in said]
    played = [(at, text) for at, text in texts if text.startswith(_PLAY)]
    if not played and its.replies is not None:
        return says(its.replies(texts[-1][1]))
    if not played:
        return says(f"You said: {texts[-1][1]}" if texts else "Nothing was said.")
    at, text = played[-1]
    turns = json.loads(text.removeprefix(_PLAY).partition("\n")[0])
    number = sum(each["role"] == "assistant" for each in messages[at:])
    if number < len(turns):
        turn: dict[str, Any] = turns[number]
        return turn
    since = [each for each in messages[at + 1 :] if each["role"] in {"user", "tool"}]
    return says("\n".join(text_of(each) for each in since) or "Done.")


def _wanted(asked: dict[str, Any], turn: dict[str, Any]) -> list[dict[str, Any]]:
    number = sum(each["role"] == "assistant" for each in asked["messages"])
    return [
        {
            "index": place,
            "id": f"call_{number}_{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for place, (name, given) in enumerate(turn["calls"])
    ]
