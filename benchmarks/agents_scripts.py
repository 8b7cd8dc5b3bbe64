"""What the scripted model of `just bench agents` says, turn by turn, and when."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Self

Json = dict[str, Any]

_RUN: Final = "$run"
_NAMED: Final = re.compile(r"script (\S+), run (\S+)")
_SEEN: Final = re.compile(r'\\?"step\\?"\s*:\s*\\?"([\w .-]+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A call that the model wants made."""

    tool: str
    """How the name ends under which it is shown the tool."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """`$run` in them stands for the name of the run."""
    closes: float = 1.0
    """When its arguments have come in whole, as a share of the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    seconds: float = 0.0
    """From the question to the end of the answer."""
    first: float = 0.0
    """From the question to its first piece."""
    pieces: int = 8
    """Of text, each a word."""
    calls: Sequence[Wish] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The last of its turns is the answer: whose run it is, and the steps that reads told of."""

    name: str
    turns: Sequence[Turn]
    reads: Sequence[str] = ("look",)
    """The tools whose results are in the answer, by how their names end."""

    def as_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, found: Json) -> Self:
        turns = [
            replace(Turn(**turn), calls=[Wish(**call) for call in turn["calls"]])
            for turn in found["turns"]
        ]
        return cls(name=found["name"], turns=turns, reads=found["reads"])

    def asked(self, run: str) -> str:
        """What a person says to have it played."""
        return f"script {self.name}, run {run}"

    @property
    def seconds(self) -> float:
        return sum(turn.seconds for turn in self.turns)

    def answer(self, run: str, seen: Sequence[str]) -> str:
        return f"{run} is done; seen: {', '.join(seen) or 'nothing'}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which script a conversation is."""

    script: str
    run: str
    turn: int
    """From 1."""
    heard: Sequence[tuple[str, str]]
    """The tools that were called and what each gave, in the order of the calls."""


def place_of(messages: Sequence[Json]) -> Place | None:
    """By the last person who asked for a script; None if nobody did."""
    for number in range(len(messages) - 1, -1, -1):
        message = messages[number]
        if message["role"] == "user" and (named := _NAMED.search(_text(message))):
            return Place(named[1], named[2], *_played(messages[number + 1 :]))
    return None


def _played(messages: Sequence[Json]) -> tuple[int, list[tuple[str, str]]]:
    said = [each for each in messages if each["role"] == "assistant"]
    names = {
        call["id"]: call["function"]["name"] for each in said for call in each.get("tool_calls", ())
    }
    gave = [
        (names.get(each["tool_call_id"], ""), _text(each))
        for each in messages
        if each["role"] == "tool"
    ]
    return len(said) + 1, gave


def _text(message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def seen_in(script: Script, heard: Sequence[tuple[str, str]]) -> list[str]:
    """The steps that its reads told of, however they were wrapped up on their way."""
    return [
        step
        for name, text in heard
        if name.endswith(tuple(script.reads))
        for step in _SEEN.findall(text)[:1]
    ]


Timed = tuple[float, Json]
"""Seconds after the question, and what a chunk says then."""


def played(turn: Turn, place: Place, tools: Sequence[str], text: str) -> Iterator[Timed]:
    """The deltas of a turn, in order. A tool that was not shown is asked for all the same."""
    until = min((call.closes for call in turn.calls), default=1.0) * turn.seconds
    words = text.split(" ")
    begin, end = turn.first, max(turn.first, until)
    apart = (end - begin) / (len(words) + 1)
    yield begin, {"role": "assistant", "content": words[0]}
    for number, word in enumerate(words[1:], 1):
        yield begin + number * apart, {"content": f" {word}"}
    for index, call in enumerate(turn.calls):
        closes = max(turn.first, call.closes * turn.seconds)
        shown = next((each for each in tools if each.endswith(call.tool)), call.tool)
        for delta in _called(index, shown, _filled_in(call.arguments, place.run), place):
            yield closes, delta


def _called(index: int, tool: str, arguments: str, place: Place) -> Iterator[Json]:
    """Its name, and its arguments in two pieces."""
    name = f"call-{place.run}-{place.turn}-{index}"
    opening = {"name": tool, "arguments": ""}
    yield {"tool_calls": [{"index": index, "id": name, "type": "function", "function": opening}]}
    half = len(arguments) // 2
    for part in (arguments[:half], arguments[half:]):
        yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}


def _filled_in(arguments: Mapping[str, Any], run: str) -> str:
    return json.dumps({name: run if value == _RUN else value for name, value in arguments.items()})
