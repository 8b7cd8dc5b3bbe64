"""What the engine room needs from the outside world, in its own words."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from portico.engine.core.event_log import Entry, EphemeralEvent, NewEntry, Page
from portico.engine.core.idempotency import Claim, StoredResponse, WriteOutcome
from portico.engine.core.retention import Forgotten, Keep
from portico.engine.core.runs import (
    Activation,
    ClaimedActivation,
    Failure,
    QueuedActivation,
    Run,
    RunPosition,
    RunStatus,
    Step,
)
from portico.engine.core.store import (
    Applied,
    CheckResult,
    Migration,
    Removed,
    StoreInfo,
    StoreStatus,
    Upgraded,
)
from portico.kernel.ids import PrincipalId, RunId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal


class Receipts(Protocol):
    async def once(
        self, caller: Principal, claim: Claim, action: Callable[[], Awaitable[StoredResponse]]
    ) -> WriteOutcome:
        """Run `action` and remember its answer, both or neither; the next time only answer.

        Two at once: the second waits for the first. An action that raises leaves no receipt.
        Raises `KeyReused` if the claim was made with another fingerprint before.
        """
        ...


class Schema(Protocol):
    """The database's shape, and the right to change it."""

    def locked(self) -> AbstractAsyncContextManager[None]:
        """One migrator at a time, across processes and machines."""
        ...

    async def applied(self) -> Sequence[Applied]: ...

    async def apply(self, migration: Migration) -> None: ...


class Companion(Protocol):
    """Tables that a library keeps beside ours."""

    async def migrate(self) -> None:
        """To what the installed version of the library needs; nothing if they are."""
        ...


class Store(Protocol):
    """The database as an operator handles it, whether it is ours to start or somebody's."""

    async def start(
        self, *, create: bool, keep: bool = False, progress: Callable[[str], None]
    ) -> None:
        """Until `release`; to `keep` it, until `stop`.

        Raises `NotProvisioned`, `StoreRefused`, `StoreUnavailable`.
        """
        ...

    async def release(self) -> None: ...

    async def stop(self, *, force: bool) -> bool:
        """False if there was nothing to stop. Raises `StoreBusy`."""
        ...

    async def status(self) -> StoreStatus: ...

    async def info(self) -> StoreInfo:
        """Raises `StoreUnavailable`."""
        ...

    async def unsafe(self) -> Sequence[str]:
        """What in it would let one space see another."""
        ...


class StoreUpgrade(Protocol):
    """The store's own software, from one major version to another."""

    def upgrade(self, progress: Callable[[str], None]) -> Upgraded:
        """Raises `StoreBusy`, `StoreRefused`, `StoreUnavailable`, `UpgradeFailed`; whichever it
        is, the old one is in its place."""
        ...

    def back(self) -> Upgraded:
        """To the one from before, as it was then. Raises `StoreBusy`, `StoreRefused`."""
        ...

    def forget_old(self) -> Removed: ...


class Check(Protocol):
    """One thing that can be wrong with an installation; several findings where it can be wrong in
    several places."""

    async def __call__(self, *, mend: bool) -> CheckResult | Sequence[CheckResult]: ...


class Archive(Protocol):
    async def back_up(self, target: Path) -> None:
        """Raises `BackupFailed`."""
        ...

    async def restore(self, source: Path) -> None:
        """All of it or nothing. Raises `BackupFailed`."""
        ...


class EventLog(Protocol):
    """Everything that happens, topic by topic: each topic's entries numbered without a gap, in
    the order in which they became visible. The truth; the bus only says that there is more."""

    async def append(self, caller: Principal, entries: Sequence[NewEntry]) -> Sequence[int]:
        """All or none of them, and if it is called inside a transaction, only with that.

        Raises `TopicRefused` where the caller is not cleared for the topic or for what it writes.
        """
        ...

    async def read(self, caller: Principal, topic: str, *, after: int, limit: int) -> Page:
        """Only what the caller is cleared for; with a limit of 0, only where the topic ends.

        Raises `TopicNotFound` for a topic that is not there, or is above the caller: nobody can
        tell which.
        """
        ...


class Seal(Protocol):
    """Makes bytes that only we can read or make. The same in the same context look the same,
    so that what is sent to many is sealed once."""

    def encrypt(self, content: bytes, context: bytes) -> bytes: ...

    def decrypt(self, sealed: bytes, context: bytes) -> bytes | None:
        """None if it was not sealed by us in this context."""
        ...


class Wording(Protocol):
    """How what happens is put into bytes for those who watch."""

    def told(self, happened: Entry | EphemeralEvent) -> bytes: ...

    def marked(self, cursor: str, told: bytes) -> bytes:
        """With where its reader then stands in front of it."""
        ...

    def trimmed(self, topic: str) -> bytes:
        """That the reader may have missed something, and goes on with what there is."""
        ...


class Wakeups(Protocol):
    """One listener's ear. What was said while it was not listening is remembered, once."""

    @property
    def rung(self) -> bool:
        """Whether something was said that nobody has waited for yet."""
        ...

    async def wait(self) -> None: ...


class Bus(Protocol):
    """Says across processes that something has changed, not what. It may be late, say it once
    for several times, or not at all: a listener also looks by itself now and then."""

    def wake(self, space: SpaceId, topic: str) -> None: ...

    def listen(self, space: SpaceId, topic: str) -> AbstractContextManager[Wakeups]: ...


class RunQueries(Protocol):
    """The runs of a space, for whoever looks at them; above the caller's clearance there are
    none."""

    async def get(self, caller: Principal, run: RunId) -> Run:
        """Raises `RunNotFound`."""
        ...

    async def page(
        self,
        caller: Principal,
        *,
        statuses: Sequence[RunStatus],
        kind: str | None,
        before: RunPosition | None,
        limit: int,
        of: PrincipalId | None = None,
    ) -> Sequence[Run]:
        """Newest first; `statuses`, `kind` and `of` of nothing are all of them."""
        ...

    async def steps(self, caller: Principal, run: RunId) -> Sequence[Step]:
        """In the order in which they ended; what is still open comes last."""
        ...

    async def progress(self, caller: Principal, runs: Sequence[RunId]) -> Mapping[RunId, int]:
        """How many steps of each are over."""
        ...


class Runs(Protocol):
    """What is done to a run from outside. Each tells its event in the same transaction, and
    answers with whose turn it is then: a leg that now has to be put in line, or nobody's."""

    async def add(
        self, caller: Principal, run: Run, fingerprint: str
    ) -> tuple[Run, QueuedActivation | None]:
        """The run that is there under this id, ours or an earlier one. Raises `KeyReused` if
        that was asked for in another way, `TopicRefused`."""
        ...

    async def fork(
        self, caller: Principal, source: RunId, run: Run, *, before: int
    ) -> tuple[Run, QueuedActivation | None]:
        """A run that has done already what `source` had done before its step of that number."""
        ...

    async def fork_with(
        self, caller: Principal, source: RunId, run: Run, *, steps: Collection[str], asked: str
    ) -> tuple[Run, QueuedActivation | None]:
        """A run that has done already those steps of `source`, of those that are over. `asked` is
        the fingerprint of what it was asked for with: the same key with another is refused."""
        ...

    async def cancel(self, caller: Principal, run: RunId) -> QueuedActivation | None:
        """Raises `RunNotFound`, `RunOver`. The turn is the one that is taken away, if it stood in
        line."""
        ...

    async def resume(
        self,
        caller: Principal,
        run: RunId,
        *,
        anew: Collection[str] = (),
        given: JsonObject | None = None,
    ) -> QueuedActivation:
        """The step that ended it is forgotten, to be tried again, and those that are to be done
        `anew`; what else it had coped with is not. With `given` in place of what it was started
        with, it goes on with what the caller may now.
        Raises `RunNotFound`, `RunNotOver`."""
        ...

    async def signal(
        self, caller: Principal, run: RunId, topic: str, payload: JsonValue
    ) -> QueuedActivation | None:
        """Raises `RunNotFound`, `RunOver`, `AlreadyAnswered`."""
        ...


class Journal(Protocol):
    """What a run has done, for whoever carries it out. Once another has claimed the run, or it
    was cancelled, nothing can be written any more: each method then says False."""

    async def claim(self, leg: Activation) -> ClaimedActivation | None:
        """None if there is nothing to do any more: it is over, or a later leg is on."""
        ...

    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        """Note what became of a step, and tell it. Repeating it changes nothing."""
        ...

    async def announce(self, taken: ClaimedActivation, told: Sequence[NewEntry]) -> bool: ...

    async def answer(
        self, taken: ClaimedActivation, topics: Sequence[str]
    ) -> Mapping[str, JsonValue] | None:
        """What was sent to it under these topics so far; None instead of False."""
        ...

    async def park(
        self, taken: ClaimedActivation, topics: Sequence[str], wakes_at: datetime | None
    ) -> bool | None:
        """None if one of the topics was answered in the meantime: there is no need to wait."""
        ...

    async def settle(
        self,
        taken: ClaimedActivation,
        status: RunStatus,
        result: JsonValue,
        failure: Failure | None,
    ) -> bool: ...


class RunQueue(Protocol):
    """Where legs stand until some process takes them up, in turn and not too many at a time."""

    async def join(self, turn: QueuedActivation) -> None:
        """Joining twice is joining once. It may fail silently: whoever looks after the line
        finds runs that nobody put there."""
        ...

    async def leave(self, leg: Activation) -> None: ...


class Retention(Protocol):
    async def forget(self, keep: Keep) -> Forgotten:
        """Only what is over; one process at a time, the others find nothing to do.
        Raises `StoreUnavailable`."""
        ...
