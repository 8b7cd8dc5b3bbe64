"""Watch a run, or several topics, from where one left off."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from portico.engine.core.cursor import Positions
from portico.engine.core.entry import Page
from portico.engine.core.errors import RunNotFound, TopicNotFound
from portico.engine.cursors import Cursors
from portico.engine.ports import EventLog, Seal
from portico.engine.run_events import LAST_WORDS
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.kernel.ids import RunId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

PRIVATE: Final = "~"
"""What the name of a topic begins with that nobody watches by its name: its room shows it to whom
it is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTopics:
    seal: Seal

    def __call__(self, caller: Principal, topics: Collection[str], after: str | None) -> Positions:
        """From where to follow them. One that is private is as one in which nothing ever happens.
        Raises `NotPermitted`, `BadCursor`."""
        permit(caller, Scope.EVENTS_READ)
        public = [topic for topic in topics if not topic.startswith(PRIVATE)]
        if after is None:
            return dict.fromkeys(public, 0)
        return Cursors.of(self.seal, caller.space, public).positions(after)

    async def again(self, caller: Principal, _before: Label) -> None:
        """Raises `NotPermitted`."""
        permit(caller, Scope.EVENTS_READ)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRun:
    log: EventLog
    seal: Seal

    async def __call__(self, caller: Principal, run: RunId, after: str | None) -> Positions | None:
        """From where to follow it; None if it has ended and the reader knows.

        Raises `NotPermitted`, `BadCursor`, `RunNotFound`.
        """
        permit(caller, Scope.RUNS_READ)
        topic = str(run)
        position = 0
        if after is not None:
            position = Cursors.of(self.seal, caller.space, [topic]).positions(after)[topic]
        page = await around(self.log, caller, topic, position, limit=1)
        return None if _at_the_end(page, position) else {topic: position}

    async def again(self, run: RunId, caller: Principal, before: Label) -> None:
        """Whether whoever watches it, with the clearance that they had, may still do so.

        Raises `NotPermitted`, `RunNotFound`.
        """
        permit(caller, Scope.RUNS_READ)
        if caller.clearance != before:
            await around(self.log, caller, str(run), 0, limit=1)


async def around(
    log: EventLog, caller: Principal, topic: str, position: int, *, limit: int
) -> Page:
    """The entry at which the reader stands, if it is there, and those after it.

    Raises `RunNotFound`.
    """
    before = max(position - 1, 0)
    try:
        return await log.read(caller, topic, after=before, limit=limit + (position > 0))
    except TopicNotFound as error:
        raise RunNotFound(topic) from error


def _at_the_end(page: Page, position: int) -> bool:
    """Whether the entry at `position` is a run's last."""
    return bool(
        not page.more
        and page.entries
        and page.entries[-1].number == position
        and page.entries[-1].type in LAST_WORDS
    )
