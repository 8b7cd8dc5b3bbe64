"""One target, and whatever there is of it: a conversation, the start of one, or a rest."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime

from portico.adapters.mcp.breaker import Breaker
from portico.adapters.mcp.conversation import Conversation, Learnt
from portico.adapters.mcp.last_words import LastWords
from portico.adapters.mcp.pace import Pace
from portico.gateway.core.calls import Phase, Target
from portico.gateway.core.servers import Stdio


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a start came to nothing, for all who waited for it."""

    reason: str
    fix: str | None = None
    crowded: bool = False
    login: str | None = None
    """What the server says to whoever it does not know, if that is why."""


@dataclass(slots=True, eq=False)
class Start:
    """There is one, however many wait for it; it goes on when they have gone."""

    over: "asyncio.Future[Failure | None]"
    task: "asyncio.Task[None] | None" = None


@dataclass(slots=True, eq=False)
class Station:
    target: Target
    words: LastWords = field(default_factory=LastWords)
    learnt: Learnt = field(default_factory=Learnt)
    breaker: Breaker = field(default_factory=Breaker)
    conversation: Conversation | None = None
    start: Start | None = None
    calls: int = 0
    """That are under way, or wait for it to start."""
    starts: int = 0
    since: datetime | None = None
    used_at: float = 0.0
    silent: int = 0
    """Calls in a row to which it has not said a word."""
    failure: Failure | None = None
    """The last one."""
    changes: int = 0
    """That it has told of, and nobody has looked at yet."""
    telling: "asyncio.Task[None] | None" = None
    pace: Pace = field(default_factory=Pace)
    looks: int = 0
    """Of the calls, those that only list what it offers."""
    dismissed: bool = False
    """Whether there is another launch in its place: it serves who is there, and ends."""

    @property
    def is_process(self) -> bool:
        return isinstance(self.target.launch, Stdio)

    @property
    def over(self) -> bool:
        return not self.calls and self.start is None and self.conversation is None

    @property
    def idle(self) -> bool:
        return self.conversation is not None and not self.calls

    def phase(self, now: float) -> Phase:
        if self.conversation is not None:
            return Phase.RUNNING
        if self.start is not None:
            return Phase.STARTING
        return Phase.RESTING if self.breaker.rests(now) else Phase.IDLE
