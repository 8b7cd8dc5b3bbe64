"""Durable work: what it may ask for while it runs, and the events that it publishes."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from portico.kernel.ids import EventId, PrincipalId, RunId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal

# Work that survives: what it may ask for while it runs.
#
# A piece of work is an async function that is run from its beginning each time it goes on: after a
# crash, after a wait, on another machine. What it did is remembered by the *names* of its steps: a
# step that is done gives what it gave, and is not done again. Between its steps it decides only by
# what it was given and what its steps gave: time, chance and the outside belong into steps.

Action = Callable[[str], Awaitable[JsonValue]]
"""What a step does. It is given `run:step`, the same however often it is tried: hand it on as the
idempotency key to whatever it changes outside, since a crash can come between doing and noting."""


class Begun(Protocol):
    """A step that was started and not yet waited for."""

    @property
    def name(self) -> str: ...

    async def result(self) -> JsonValue:
        """Raises `StepFailed`."""
        ...


class Durable(Protocol):
    """What a piece of work holds. Every name is used once in a run: number them in a loop."""

    @property
    def run(self) -> RunId: ...

    @property
    def leg(self) -> int:
        """Another one after each wait and each time that somebody takes the run up again; after
        a crash it is the same."""
        ...

    @property
    def again(self) -> bool:
        """Whether somebody has carried it out before, as far as they came: then a step that is not
        noted may have been begun all the same."""
        ...

    @property
    def caller(self) -> Principal:
        """In whose name it is carried out: whoever started it, as they are now, with no more than
        they had then."""
        ...

    async def step(self, name: str, action: Action, *, tries: int = 1) -> JsonValue:
        """Done once, as far as can be known; a failure is remembered as well.

        Raises `StepFailed` when the last try failed, `StepNamedTwice`.
        """
        ...

    def start(self, name: str, action: Action, *, tries: int = 1) -> Begun:
        """As `step`, beside whatever else is going on. Raises `StepNamedTwice`."""
        ...

    async def wait_any(self, begun: Sequence[Begun]) -> Begun:
        """The first of them to have ended, which is the same one each time the run goes on."""
        ...

    async def sleep(self, name: str, duration: timedelta) -> None:
        """From when it was first come to. A run that only sleeps takes up no process."""
        ...

    async def wait_for_signal(
        self, topic: str, *, patience: timedelta | None = None, name: str | None = None
    ) -> JsonValue:
        """What somebody sent to this run under `topic`, before or after it was asked for; None
        if nobody did in time. The first answer counts. It takes up no process while it waits.

        `name` is for whoever waits again for a topic that nobody has answered in time.
        """
        ...

    def busy(self) -> AbstractContextManager[None]:
        """Around what takes its time and is no step, such as reading what one gave: whatever else
        waits meanwhile, the run is not put away. Nothing is waited for inside."""
        ...

    async def publish(self, name: str, type_: str, facts: JsonObject) -> None:
        """An event for whoever watches this run, told once; the journal has it as what the step
        of this name gave."""
        ...


Work = Callable[[Durable, JsonObject], Awaitable[JsonValue]]
"""What a run of some kind does with what it was given."""

# Something that happened, as a value; what is shown to people and machines are views of these.


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    id: EventId
    space: SpaceId
    stream: str
    type: str
    at: datetime
    by: PrincipalId | None = None
    label: Label = PUBLIC
    details: JsonObject = field(default_factory=dict)
