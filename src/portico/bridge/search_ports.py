"""What the bridge needs to find what was said: by its words, and by what it means."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from portico.bridge.core.conversation import (
    ConversationId,
)
from portico.bridge.core.message import Message, MessageId
from portico.bridge.core.project import ProjectId
from portico.kernel.ids import SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    message: Message
    score: float


class MessageSearch(Protocol):
    """Behind the same wall, and never in one graph with what is above it."""

    async def by_words(
        self,
        caller: Principal,
        words: str,
        *,
        project: ProjectId | None,
        conversation: ConversationId | None,
        upto: Label | None,
        limit: int,
    ) -> Sequence[Hit]:
        """Those that have all of the words, the newest first; none that was deleted."""
        ...

    async def by_meaning(
        self,
        caller: Principal,
        vector: Sequence[float],
        *,
        project: ProjectId | None,
        conversation: ConversationId | None,
        upto: Label | None,
        limit: int,
    ) -> Sequence[Hit]: ...


class Meaning(Protocol):
    """Texts as vectors."""

    async def __call__(self, texts: Sequence[str]) -> Sequence[Sequence[float]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToEmbed:
    message: MessageId
    text: str
    at: datetime
    """When it came to say this."""


class MessageVectors(Protocol):
    """What messages mean, kept for looking for it later; by one model."""

    async def waiting(self) -> Sequence[SpaceId]:
        """The spaces in which something was said that has no vector."""
        ...

    async def clearance(self, worker: Principal) -> Label:
        """That which covers all that was said in the worker's space."""
        ...

    async def missing(self, worker: Principal, limit: int) -> Sequence[ToEmbed]: ...

    async def put(
        self, worker: Principal, vectors: Sequence[tuple[ToEmbed, Sequence[float]]]
    ) -> int:
        """How many were kept: not those of what was changed or deleted meanwhile."""
        ...

    async def arrange(self) -> int:
        """So that a label with many of them is searched quickly; how many labels were."""
        ...
