"""Search messages."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import flaws_of_text, raise_if_invalid
from portico.bridge.core.messages import Message, MessageId, flaws_of_limit
from portico.bridge.core.projects import ProjectId
from portico.bridge.taint import TaintRecorder, in_view_context, looking
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.errors import FieldError, PorticoError
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind


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
        max_label: Label | None,
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
        max_label: Label | None,
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


_MOST_LETTERS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchMessages:
    search: MessageSearch
    meaning: Meaning
    taint: TaintRecorder

    async def __call__(  # noqa: PLR0913 # where it is looked for, one by one
        self,
        caller: Principal,
        query: str,
        *,
        project: ProjectId | None = None,
        conversation: ConversationId | None = None,
        upto: Label | None = None,
        by_meaning: bool = False,
        limit: int = 20,
    ) -> Sequence[Hit]:
        """By words the newest first, by meaning the nearest. Raises `NotPermitted`,
        `InvalidBridgeInput`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(_flaws(query, limit))
        caller = looking(in_view_context(caller, conversation or project), upto)
        if by_meaning:
            [vector] = await self.meaning([query])
            hits = await self.search.by_meaning(
                caller,
                vector,
                project=project,
                conversation=conversation,
                max_label=None,
                limit=limit,
            )
        else:
            hits = await self.search.by_words(
                caller,
                query,
                project=project,
                conversation=conversation,
                max_label=None,
                limit=limit,
            )
        await self.taint.read_messages(caller, [hit.message for hit in hits])
        return hits


def _flaws(query: str, limit: int) -> Iterator[FieldError]:
    yield from flaws_of_text("query", query, least=1, most=_MOST_LETTERS)
    yield from flaws_of_limit(limit)


# Keep what messages mean, so that they can be found by it: behind everybody's back, and in no
# hurry.

_log: Final = logging.getLogger("portico.bridge")
_AT_ONCE: Final = 64
"""Texts that a model is given at a time; others get their turn in between."""
_NOBODY: Final = PrincipalId(UUID(int=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedMessages:
    vectors: MessageVectors
    meaning: Meaning

    async def __call__(self) -> int:
        """How many vectors were made. Raises what the store and the model do."""
        made = 0
        for space in await self.vectors.waiting():
            made += await self._of(space)
        if made:
            await self.vectors.arrange()
        return made

    async def every(self, pause: timedelta) -> None:
        """Until cancelled."""
        while True:
            try:
                await self()
            except PorticoError as error:
                _log.warning("messages are not found by meaning for now: %s", error)
            except Exception:  # noqa: BLE001 # the edge of a background loop
                _log.exception("what messages mean could not be kept; trying again later")
            await asyncio.sleep(pause.total_seconds())

    async def _of(self, space: SpaceId) -> int:
        worker = Principal(id=_NOBODY, space=space, kind=PrincipalKind.WORKER, name="portico")
        worker = replace(worker, clearance=await self.vectors.clearance(worker))
        made = 0
        while True:
            found = await self.vectors.missing(worker, _AT_ONCE)
            its = await self.meaning([each.text for each in found]) if found else []
            kept = await self.vectors.put(worker, list(zip(found, its, strict=True)))
            made += kept
            if kept == 0 or len(found) < _AT_ONCE:
                return made
