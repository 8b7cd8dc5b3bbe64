"""A house in which a low reader lives, and somebody high above them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from portico.bridge.core.attachment import Digest
from portico.bridge.core.conversation import Conversation
from portico.bridge.core.message import Message, NewMessage, Sent
from portico.bridge.core.news import News
from portico.bridge.core.project import Project
from portico.bridge.core.task import Work
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind
from tests.storm.bridge_transcript import Transcript
from tests.storm.walled_house import WalledHouse

TEAM, SECRET = Label.parse("team"), Label.parse("restricted+law")
WORDS = ("plans", "budget", "nest", "river", "engine")


@dataclass
class Twin:
    house: WalledHouse
    low_life: Random
    """The same in both."""
    hidden_life: Random | None
    """None: nothing is hidden."""
    transcript: Transcript = field(default_factory=Transcript)
    news: list[News] = field(default_factory=list)
    projects: list[Project] = field(default_factory=list)
    talks: list[Conversation] = field(default_factory=list)
    said: list[Message] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    files: list[Digest] = field(default_factory=list)
    cursors: dict[str, str] = field(default_factory=dict)
    hidden: list[Message] = field(default_factory=list)
    hidden_projects: list[Project] = field(default_factory=list)
    did: Counter[str] = field(default_factory=Counter)
    """How often something of each kind was done above."""

    async def move_in(self) -> None:
        house = self.house
        self.reader = await house.enters("reader", "team")
        self.author = await house.enters("writer", "team", kind=PrincipalKind.PERSON)
        self.above = await house.enters("secret", "restricted+finance+law")
        for name in ("apollo", "hermes"):
            made = await house.talk.create_project(self.writer(), name, f"About {name}.", TEAM)
            self.projects.append(made)
        for number, project in enumerate([*self.projects, *self.projects]):
            talk = await house.talk.create_conversation(
                self.writer(), project.id, f"Talk {number}", participants=[self.reader.id]
            )
            self.talks.append(talk)

    def writer(self) -> Principal:
        return self.house.afresh(self.author)

    async def listen(self) -> None:
        talks = [talk.id for talk in self.talks]
        async for news in self.house.talk.follow_conversations(self.reader, talks):
            self.news.append(news)

    async def heard(self, sending: Awaitable[Sent]) -> Message:
        """What is said where the reader listens wakes them, once; nothing else is said before."""
        while len(self.news) < len(self.talks):  # noqa: ASYNC110 # they have not begun to listen
            await asyncio.sleep(0.005)
        before = len(self.news)
        sent = await sending
        async with asyncio.timeout(60):
            while not sent.replayed and len(self.news) == before:  # noqa: ASYNC110 # elsewhere
                await asyncio.sleep(0.005)
        return sent.message

    async def say(self, talk: Conversation, **more: Any) -> Message:
        body = f"{self.low_life.choice(WORDS)} {self.low_life.choice(WORDS)}"
        wish = NewMessage(conversation=talk.id, body=body, label=TEAM, **more)
        said = await self.heard(self.house.talk.send_message(self.writer(), wish))
        self.said.append(said)
        return said

    def secret(self) -> Principal:
        return self.house.afresh(self.above)
