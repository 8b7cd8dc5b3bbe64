"""One leg of a run that calls tools for somebody: who that is, and where values are kept."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from portico.engine.core.runs import Failure
from portico.gateway.core.call import ResultId
from portico.gateway.core.errors import ResultNotFound
from portico.gateway.core.plan.amount import MOST_CALLS, Amount
from portico.gateway.core.plan.effort import Effort
from portico.gateway.core.plan.private_words import kept_words, spoken
from portico.gateway.workflows.came import SAID_NO, Gave
from portico.gateway.workflows.outputs import Outputs
from portico.gateway.workflows.private_steps import PrivateSteps
from portico.guard.authentication import AsTheyAre
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable
from portico.kernel.ids import ContextId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_FRESH: Final = timedelta(seconds=1)
"""So long it is not looked up again who somebody is: a key that was revoked calls nothing more
after this."""
_RESULT: Final = re.compile(rf"\b{ResultId.prefix}_[0-9a-z]{{26}}\b")


def nothing_stopped() -> str | None:
    return None


@dataclass(slots=True, kw_only=True)
class Acting:
    durable: Durable
    outputs: Outputs
    as_now: Callable[[], Awaitable[Principal]]
    clock: Clock
    label: Label
    """Of the run."""
    waits: bool = True
    """Whether it may wait for people; what is carried out in this process alone may not."""
    stopped: Callable[[], str | None] = nothing_stopped
    """The step whose failure has ended everything, if one has."""
    effort: Effort = field(default_factory=Effort.of_run)
    """What went into putting together what steps are given."""
    amount: Amount = field(default_factory=Amount)
    """Of calls, those of workflows that it calls among them."""
    _asker: Principal | None = field(default=None, init=False)
    _seen: datetime | None = field(default=None, init=False)
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    """Of two hundred steps that begin at once, one looks for all."""

    async def asker(self) -> Principal:
        """As they are now. Raises `KeyEnded`."""
        async with self._looking:
            now = self.clock.now()
            if self._asker is None or self._seen is None or now - self._seen > _FRESH:
                self._asker, self._seen = await self.as_now(), now
            return self._asker

    async def document(self, gave: Gave) -> JsonObject:
        """Raises `ResultNotFound` if it is kept no longer."""
        found = await self.outputs.get(await self.asker(), gave.handle)
        return found if isinstance(found, Mapping) else {}

    async def message(self, failure: Failure) -> str:
        """In its own words, which are the caller's alone."""
        kept = kept_words(failure.message)
        if kept is None:
            return failure.message
        try:
            content = await self.outputs.get(await self.asker(), ResultId.parse(kept))
        except ResultNotFound:
            return failure.message
        return spoken(failure.message, content)

    async def words(self, failure: Failure) -> JsonObject | None:
        """What the tool itself said, where it was the one to say that it failed."""
        said = said_in(failure)
        if said is None:
            return None
        try:
            found = await self.outputs.get(await self.asker(), said)
        except ResultNotFound:
            return None
        return found if isinstance(found, Mapping) else None


def said_in(failure: Failure) -> ResultId | None:
    found = _RESULT.search(failure.message) if failure.code == SAID_NO else None
    return None if found is None else ResultId.parse(found[0])


def asker_of(caller: Principal) -> JsonObject:
    """What a run is given to know in whose name it acts."""
    context = None if caller.context is None else str(caller.context)
    return {"key": caller.key, "context": context}


@dataclass(frozen=True, slots=True, kw_only=True)
class ActFor:
    as_they_are: AsTheyAre
    new_outputs: Callable[[], Outputs]
    clock: Clock
    waits: bool = True
    most_calls: int = MOST_CALLS

    def __call__(self, durable: Durable, given: JsonObject) -> Acting:
        """`given` is what the run was started with: `asker`, and its label."""
        who = given.get("asker")
        key, context = _text(who, "key"), _text(who, "context")
        at = None if context is None else ContextId.parse(context)

        async def as_now() -> Principal:
            return await self.as_they_are.no_more(durable.caller, key=key, at=at)

        outputs = self.new_outputs()
        return Acting(
            durable=PrivateSteps(durable, outputs, as_now),
            outputs=outputs,
            as_now=as_now,
            clock=self.clock,
            label=Label.parse(str(given["label"])),
            waits=self.waits,
            amount=Amount(self.most_calls),
        )


def _text(value: JsonValue, name: str) -> str | None:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else None
