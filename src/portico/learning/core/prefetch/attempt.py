"""All that is known of a call in the moment in which it would be made ahead of time."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta

from portico.gateway.core.servers import ServerId
from portico.guard.core.access_request import Act, Aim, Decision, TaskContext
from portico.learning.core.prefetch.switches import AheadMode
from portico.learning.core.prefetch.terms import AheadTerms
from portico.learning.core.prefetch.wanted import Wanted


@dataclass(frozen=True, slots=True)
class Use:
    """What is under way ahead of time, and was of late."""

    at_once: int = 0
    """In this process."""
    own_at_once: int = 0
    """Of this principal."""
    at_server: int = 0
    last_minute: int = 0
    """Begun for this principal."""
    spent: float = 0.0
    """Dollars in the last hour, for this task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    wanted: Wanted
    act: Act
    """What would be made: for the caller as they are now, at the tool as it is now."""
    stands: bool
    """Whether the caller's key still opens."""
    mode: AheadMode
    external: bool
    """Whether an operator lets what leaves this machine be asked of this server ahead of time."""
    workflows: bool
    """Whether the tool is a workflow that somebody has saved."""
    task: TaskContext
    """What the caller's task has taken in, and what it would have by then."""
    trusted: AbstractSet[ServerId]
    """The servers whose results are no stranger's words."""
    flaws: int
    """Of the arguments, by the tool's schema."""
    decision: Decision
    """The guard's, as if the caller had made the call."""
    usual: timedelta | None
    """How long the tool takes; None: nobody knows."""
    settled: bool
    """Nothing is being changed by this principal or at this server, and of what was, it is known
    what became of it."""
    awake: bool
    """Whether the server is running."""
    busy: int
    """Calls that it is at."""
    alone: bool
    """Whether it is a process of ours, which may do one thing at a time."""
    use: Use
    price: float
    terms: AheadTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What is known of a call that was made ahead of time, once it is answered."""

    act: Act
    aim: Aim | None
    """What it is aimed at by now; None if there is no such thing any more."""
    on: bool
    """Whether everything that has to be is still switched on."""
    overtaken: bool
    """Whether something was changed meanwhile, or it was called off."""
    failed: bool
    asked: bool
    """Whether the server wanted something of the caller, who was not there."""
    orders: bool
    """Whether the answer is one that has something else done."""
    size: int
    room: int
