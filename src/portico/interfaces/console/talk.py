"""What is said and done in runs of agents, told on `/live` as it happens: `talk:run_…`.

A page that has drawn the first turns of a run already says how many of them behind an `@`, and is
told only what it lacks. After a broken connection it is told that anew; each piece of text says
where it belongs, so that nothing is there twice and nothing is missing.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, Self

from portico.agents.core.conversations import Spoken
from portico.agents.core.errors import AgentRunNotFound
from portico.agents.core.events import (
    Happening,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    ToolEnded,
    ToolWaits,
    TurnBegan,
    TurnEnded,
)
from portico.interfaces.console.desk import Desk
from portico.interfaces.http.happenings import NAMES, happening_json
from portico.interfaces.http.sse import one_line
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal

PREFIX: Final = "talk:"
_MOST: Final = 256
"""That is told and not yet sent: whoever reads slowly is told slowly."""
_AT_ONCE: Final = 64
_DRAWN: Final = frozenset({"arguments", "answer"})
"""Parts that the page asks for, drawn, and need not be told as well."""


def chat_place(name: object) -> str:
    """Where a person is at in one chat: each is a task of its own."""
    return f"chat {name}"


@dataclass(frozen=True, slots=True)
class TalkTopic:
    run: RunId
    known: int = 0
    """Turns that the page has."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `BadId`."""
        run, _, known = text.removeprefix(PREFIX).partition("@")
        number = int(known) if known.isascii() and known.isdigit() and len(known) < 7 else 0
        return cls(RunId.parse(run), number)

    def __str__(self) -> str:
        return f"{PREFIX}{self.run}@{self.known}"

    @property
    def name(self) -> str:
        """As pages are told it."""
        return f"{PREFIX}{self.run}"

    def lacks(self, happening: Happening) -> bool:
        """A turn is drawn as soon as it is written down, and its calls are made after that."""
        match happening:
            case TurnBegan() | TurnEnded() | TextAdded() | ThoughtAdded():
                return happening.turn > self.known
            case ToolBegan() | ToolWaits() | ToolEnded():
                return happening.turn >= self.known
            case _:
                return True


class Telling:
    """One run, in the words of pages. Each letter is told once a connection."""

    def __init__(self, topic: TalkTopic) -> None:
        self._topic = topic
        self._text = Spoken()
        self._thought = Spoken()

    def words(self, happening: Happening) -> bytes:
        """Empty where there is nothing new in it."""
        if not self._topic.lacks(happening):
            return b""
        facts = happening_json(happening)
        if isinstance(happening, TextAdded | ThoughtAdded):
            fresh = self._fresh(happening)
            if not fresh:
                return b""
            offset = happening.offset + len(happening.text) - len(fresh)
            facts |= {"offset": offset, "text": fresh}
        if isinstance(happening, ToolEnded):
            del facts["text"]
        shown = {name: value for name, value in facts.items() if name not in _DRAWN}
        return told({"topic": self._topic.name, "type": NAMES[type(happening)], "facts": shown})

    def _fresh(self, piece: TextAdded | ThoughtAdded) -> str:
        if isinstance(piece, TextAdded):
            self._text = self._text.after(piece)
            return self._text.fresh
        self._thought = self._thought.after(piece)
        return self._thought.fresh


class Talks:
    """All that a page follows, in line until it is sent."""

    def __init__(self, desk: Desk, topics: Sequence[TalkTopic]) -> None:
        self._desk = desk
        self._topics = topics
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(_MOST)
        self.broken = False
        """Something cannot be told for now; who comes again is told it."""

    def followed(self, stir: Callable[[], None]) -> Iterator[Coroutine[None, None, None]]:
        for topic in self._topics:
            yield self._follow(topic, stir)

    def take(self) -> bytes:
        """What is next in line; empty when there is nothing for now."""
        found: list[bytes] = []
        while len(found) < _AT_ONCE and not self._waiting.empty():
            found.append(self._waiting.get_nowait())
        return b"".join(found)

    async def _follow(self, topic: TalkTopic, stir: Callable[[], None]) -> None:
        caller = self._desk.at(chat_place(topic.run))
        try:
            async for words in self._words(caller, topic):
                await self._waiting.put(words)
                stir()
        except AgentRunNotFound:
            return  # as one in which nothing happens
        except PorticoError:
            self.broken = True
            stir()

    async def _words(self, caller: Principal, topic: TalkTopic) -> AsyncIterator[bytes]:
        telling, follow = Telling(topic), self._desk.house.agent_runs.follow_run
        async with aclosing(follow(caller, topic.run)) as happenings:
            async for each in happenings:
                if words := telling.words(each.happening):
                    yield words


def told(facts: dict[str, Any]) -> bytes:
    """An event without a name: one listener in the page hears all of them."""
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
    return f"data: {one_line(text)}\n\n".encode(errors="backslashreplace")
