"""What a step of a run is given: caller, outputs, turns."""

import asyncio
import json
import re
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Protocol, Self, TypeVar

from portico.engine.core.runs import Discreet, Failure
from portico.engine.execution import retry_while_unavailable
from portico.gateway.core.calls import ResultId, StoredResult, ToolResult
from portico.gateway.core.errors import ResultNotFound, ToolSaidNo
from portico.gateway.core.reserved_metadata import admits
from portico.gateway.ports import Results
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.contexts import context_of
from portico.guard.core.errors import ApprovalNotFound, KeyEnded
from portico.guard.core.vault import VaultClosed
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock, Entropy
from portico.kernel.durable import Action, Begun, Durable
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ContextId, PrincipalId, RunId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.workflows.core.plan import Effort
from portico.workflows.core.plan_checks import MOST_CALLS, Amount
from portico.workflows.core.plan_report import discreet, kept_words, spoken, words_of
from portico.workflows.core.plan_values import UNKNOWN_DOCUMENT, step_document
from portico.workflows.core.saved import ADMITTED

_AT_HAND: Final = 8_000_000
"""Characters that one run keeps at hand; what is not is read again."""


@dataclass(frozen=True, slots=True)
class StoredOutput:
    result: ResultId
    size: int
    """In characters of JSON."""
    admitted: bool = False
    """Whether it is a plan to be carried out, and not what a tool gave."""

    @classmethod
    def of(cls, result: ResultId, content: JsonValue) -> Self:
        admitted = isinstance(content, Mapping) and content.get(ADMITTED) is True
        return cls(result, len(json.dumps(content, ensure_ascii=False)), admitted)


class Outputs(Protocol):
    async def keep(
        self, requester: Principal, content: JsonValue, result: ResultId | None = None
    ) -> StoredOutput:
        """Under this name, if one is given. It is labelled as what its asker's task has taken in.
        Raises `VaultClosed`."""
        ...

    async def get(self, requester: Principal, result: ResultId) -> JsonValue:
        """Raises `ResultNotFound`."""
        ...

    async def read(self, requester: Principal, result: ResultId) -> StoredResult:
        """With its label, for whoever looks at it. Raises `ResultNotFound`."""
        ...


@dataclass(slots=True)
class SealedOutputs:
    """Of one leg of a run: in the store, sealed, and the latest at hand."""

    results: Results
    clock: Clock
    entropy: Entropy
    keep_for: timedelta
    _texts: OrderedDict[ResultId, str] = field(default_factory=OrderedDict)
    _at_hand: int = 0

    async def keep(
        self, requester: Principal, content: JsonValue, result: ResultId | None = None
    ) -> StoredOutput:
        now, text = self.clock.now(), json.dumps(content, ensure_ascii=False)
        name = ResultId.mint(now, self.entropy) if result is None else result
        kept = StoredResult(content=text, untrusted=False)
        await self.results.keep(requester, name, kept, now + self.keep_for)
        self._remember(name, text)
        return StoredOutput.of(name, content)

    async def get(self, requester: Principal, result: ResultId) -> JsonValue:
        text = self._texts.get(result)
        if text is None:
            kept = await self.results.get(requester, result, self.clock.now())
            text = str(kept.content)
            self._remember(result, text)
        content: JsonValue = json.loads(text)
        return content

    async def read(self, requester: Principal, result: ResultId) -> StoredResult:
        kept = await self.results.get(requester, result, self.clock.now())
        return replace(kept, content=json.loads(str(kept.content)))

    def _remember(self, result: ResultId, text: str) -> None:
        self._at_hand += len(text) - len(self._texts.get(result, ""))
        self._texts[result] = text
        while self._at_hand > _AT_HAND and len(self._texts) > 1:
            _, forgotten = self._texts.popitem(last=False)
            self._at_hand -= len(forgotten)


@dataclass(frozen=True, slots=True)
class _Mine:
    whose: tuple[SpaceId, PrincipalId]
    content: JsonValue
    size: int


@dataclass(slots=True)
class MemoryOutputs:
    """Of runs that are carried out in this process alone, the latest. How secret it is says the
    run, which is labelled as all that its servers know."""

    clock: Clock
    entropy: Entropy
    limit: int = 64_000_000
    """Characters."""
    _kept: OrderedDict[ResultId, _Mine] = field(default_factory=OrderedDict)
    _size: int = 0

    async def keep(
        self, requester: Principal, content: JsonValue, result: ResultId | None = None
    ) -> StoredOutput:
        name = ResultId.mint(self.clock.now(), self.entropy) if result is None else result
        kept = StoredOutput.of(name, content)
        if name not in self._kept:
            self._kept[name] = _Mine((requester.space, requester.id), content, kept.size)
            self._size += kept.size
        while self._size > self.limit and len(self._kept) > 1:
            _, forgotten = self._kept.popitem(last=False)
            self._size -= forgotten.size
        return kept

    async def get(self, requester: Principal, result: ResultId) -> JsonValue:
        return (await self.read(requester, result)).content

    async def read(self, requester: Principal, result: ResultId) -> StoredResult:
        mine = self._kept.get(result)
        if mine is None or mine.whose != (requester.space, requester.id):
            raise ResultNotFound(str(result))
        return StoredResult(content=mine.content)


@dataclass(slots=True)
class Turns:
    """In the order of asking. Of whom nobody is under way or waiting, nothing is remembered."""

    limit: int
    _gates: dict[Hashable, asyncio.Semaphore] = field(default_factory=dict)
    _there: Counter[Hashable] = field(default_factory=Counter)

    @asynccontextmanager
    async def __call__(self, whose: Hashable) -> AsyncIterator[None]:
        gate = self._gates.setdefault(whose, asyncio.Semaphore(self.limit))
        self._there[whose] += 1
        try:
            async with gate:
                yield
        finally:
            self._there[whose] -= 1
            if not self._there[whose]:
                del self._there[whose], self._gates[whose]


@dataclass(frozen=True, slots=True)
class ThroughDurable:
    inner: Durable

    @property
    def run(self) -> RunId:
        return self.inner.run

    @property
    def leg(self) -> int:
        return self.inner.leg

    @property
    def again(self) -> bool:
        return self.inner.again

    @property
    def caller(self) -> Principal:
        return self.inner.caller

    async def step(self, name: str, action: Action, *, tries: int = 1) -> JsonValue:
        return await self.inner.step(name, action, tries=tries)

    def start(self, name: str, action: Action, *, tries: int = 1) -> Begun:
        return self.inner.start(name, action, tries=tries)

    async def wait_any(self, begun: Sequence[Begun]) -> Begun:
        return await self.inner.wait_any(begun)

    async def sleep(self, name: str, duration: timedelta) -> None:
        await self.inner.sleep(name, duration)

    async def wait_for_signal(
        self, topic: str, *, patience: timedelta | None = None, name: str | None = None
    ) -> JsonValue:
        return await self.inner.wait_for_signal(topic, patience=patience, name=name)

    def busy(self) -> AbstractContextManager[None]:
        return self.inner.busy()

    async def publish(self, name: str, type_: str, facts: JsonObject) -> None:
        await self.inner.publish(name, type_, facts)


# The durable steps of a run that calls tools for somebody: what went wrong in one is noted by its
# kind, and its words are kept where what the run gave is kept.


@dataclass(frozen=True, slots=True)
class PrivateSteps(ThroughDurable):
    """`Durable`, which tells nobody what only its caller may read."""

    outputs: Outputs
    requester: Callable[[], Awaitable[Principal]]

    async def step(self, name: str, action: Action, *, tries: int = 1) -> JsonValue:
        return await self.inner.step(name, self._private(action), tries=tries)

    def start(self, name: str, action: Action, *, tries: int = 1) -> Begun:
        return self.inner.start(name, self._private(action), tries=tries)

    def _private(self, action: Action) -> Action:
        async def private(key: str) -> JsonValue:
            try:
                return await action(key)
            except ToolSaidNo:  # says where its words are already
                raise
            except Exception as error:  # any error may quote what it was given
                raise Discreet(discreet(error, None, await self._kept(error))) from error

        return private

    async def _kept(self, error: Exception) -> str | None:
        """None if they cannot be: whoever it is for may not any more, or the vault is closed."""
        try:
            kept = await self.outputs.keep(await self.requester(), words_of(error))
        except PorticoError:
            return None
        return str(kept.result)


# Whoever goes on with what another task of theirs has begun takes over what that had read.


async def take_over(contexts: Contexts, caller: Principal, given: JsonObject) -> None:
    """`given` is what the run was started with. A task that has read nothing would else be free to
    do what the one that has may not. Raises `ContextNotFound`."""
    began = _began(caller, given)
    if context_of(began) == context_of(caller):
        return
    task = await contexts.get(began)
    await contexts.raise_taint(caller, task.label, untrusted=task.untrusted)


def _began(caller: Principal, given: JsonObject) -> Principal:
    who = given.get("asker")
    asker = who if isinstance(who, Mapping) else {}
    key, context = asker.get("key"), asker.get("context")
    return replace(
        caller,
        key=key if isinstance(key, str) else None,
        context=ContextId.parse(context) if isinstance(context, str) else None,
    )


SAID_NO: Final = ToolSaidNo.code


@dataclass(frozen=True, slots=True)
class Succeeded:
    handle: ResultId
    size: int
    admitted: bool = False
    """Whether it is a plan to be carried out, and not what a tool gave."""


@dataclass(frozen=True, slots=True)
class WentWrong:
    failure: Failure


@dataclass(frozen=True, slots=True)
class LeftOut:
    """It was not done, and that is no failure: somebody said so, or all was stopped before."""

    why: str
    stopped: bool = False
    """Whether nobody has decided anything of it: it is done when the run is taken up again."""


CallResult = Succeeded | WentWrong | LeftOut


class Stopped(BaseException):
    """Nothing more is begun. It is no failure and is not noted, so that what was stopped is done
    when somebody takes the run up again."""

    def __init__(self, by: str) -> None:
        super().__init__(by)
        self.by = by


class DependencyUnavailable(BaseException):
    """What it needs cannot be had now, and that is nothing that the step did: nothing is noted and
    nothing decided, so that it is done when somebody takes the run up again."""

    def __init__(self, error: PorticoError) -> None:
        super().__init__(str(error))
        self.error = error


class Ungiven(BaseException):
    """What it is called with could not be put together: so it was not made, whatever it is."""

    def __init__(self, error: PorticoError) -> None:
        super().__init__(str(error))
        self.error = error


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

    async def requester(self) -> Principal:
        """As they are now. Raises `KeyEnded`."""
        async with self._looking:
            now = self.clock.now()
            if self._asker is None or self._seen is None or now - self._seen > _FRESH:
                self._asker, self._seen = await self.as_now(), now
            return self._asker

    async def document(self, gave: Succeeded) -> JsonObject:
        """Raises `ResultNotFound` if it is kept no longer."""
        found = await self.outputs.get(await self.requester(), gave.handle)
        return found if isinstance(found, Mapping) else {}

    async def message(self, failure: Failure) -> str:
        """In its own words, which are the caller's alone."""
        kept = kept_words(failure.message)
        if kept is None:
            return failure.message
        try:
            content = await self.outputs.get(await self.requester(), ResultId.parse(kept))
        except ResultNotFound:
            return failure.message
        return spoken(failure.message, content)

    async def words(self, failure: Failure) -> JsonObject | None:
        """What the tool itself said, where it was the one to say that it failed."""
        said = said_in(failure)
        if said is None:
            return None
        try:
            found = await self.outputs.get(await self.requester(), said)
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
    as_they_are: RevalidatePrincipal
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


async def kept_answer(
    acting: Acting, tool: str, answer: ToolResult, keep_as: ResultId | None
) -> StoredOutput:
    """Also the words of one that failed. Raises `ToolSaidNo`, `KeyEnded`, `VaultClosed`."""
    document = step_document(answer)
    if answer.failed:
        document = {**document, "isError": True}
    if admits(answer):
        document = {**document, ADMITTED: True}
    asker = await retry_while_unavailable(acting.requester)
    kept = await retry_while_unavailable(lambda: acting.outputs.keep(asker, document, keep_as))
    if answer.failed:
        raise ToolSaidNo(tool, str(kept.result))
    return kept


async def kept_unknown(acting: Acting) -> StoredOutput:
    """Of what was done while nobody heard the answer: nothing is made up in its place. Raises
    `KeyEnded`, `VaultClosed`."""
    asker = await retry_while_unavailable(acting.requester)
    return await retry_while_unavailable(lambda: acting.outputs.keep(asker, UNKNOWN_DOCUMENT, None))


def noted_of(kept: StoredOutput) -> JsonObject:
    """As it stands in the journal."""
    admitted: JsonObject = {ADMITTED: True} if kept.admitted else {}
    return {"result": str(kept.result), "size": kept.size, **admitted}


_AROUND: Final = (ApprovalNotFound, KeyEnded, ResultNotFound, VaultClosed)

Had = TypeVar("Had")


async def needed(ask: Callable[[], Awaitable[Had]]) -> Had:
    """For as long as the store does not answer, it is asked again. Raises `DependencyUnavailable`
    where there is nothing to wait for, and what else `ask` raises."""
    try:
        return await retry_while_unavailable(ask)
    except _AROUND as error:
        raise DependencyUnavailable(error) from error
