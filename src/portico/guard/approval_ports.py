"""What asking and answering need from the outside world: requests, errands, and who is believed.

Everything here acts inside the caller's space: what is elsewhere does not exist.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from portico.guard.core.approval import Approval, Status, Waiter
from portico.kernel.ids import ApprovalId, ContextId, PrincipalId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal


class Approvals(Protocol):
    """The requests of a space; above the caller's clearance there are none. Each change names the
    state that it changes, so that of two who try at once one is told that it was too late."""

    async def add(self, caller: Principal, approval: Approval, sealed: bytes) -> Approval:
        """It, or the one that is open already for the same hash, asker and task; of one with a
        waiter, the one that this waiter has asked already."""
        ...

    async def asked_by(self, caller: Principal, waiter: Waiter) -> Approval | None:
        """What this run has asked under this topic, whatever became of it."""
        ...

    async def of_run(self, caller: Principal, run: RunId) -> Sequence[Approval]:
        """All that this run has asked, oldest first, whatever became of them; with those that were
        approved in their place."""
        ...

    async def waiting(self, caller: Principal, now: datetime) -> int:
        """How many of the caller's own wait, but for those above their clearance; inside
        `Together`, nobody adds one of theirs until it ends."""
        ...

    async def get(self, caller: Principal, approval: ApprovalId) -> Approval:
        """Raises `ApprovalNotFound`."""
        ...

    async def latest(self, caller: Principal, context: ContextId, hash_: str) -> Approval | None:
        """The caller's own newest for this hash in this task, whatever became of it; none that a
        run waits for."""
        ...

    async def unfinished(self, caller: Principal, hash_: str) -> Sequence[Approval]:
        """The caller's own for this hash, in whichever task, oldest first: those that wait,
        and those that somebody said yes to, like this or with other arguments, unless the call
        is known not to have been made, or what it gave was collected; none that a run waits
        for."""
        ...

    async def withdraw(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        """False if it does not wait any more."""
        ...

    async def sealed(self, caller: Principal, approval: ApprovalId) -> bytes:
        """The arguments as they were given. Raises `ApprovalNotFound`."""
        ...

    async def page(
        self,
        caller: Principal,
        *,
        of: PrincipalId | None,
        statuses: Sequence[Status],
        before: ApprovalId | None,
        now: datetime,
        limit: int,
    ) -> Sequence[Approval]:
        """Newest first; `of` and `statuses` of nothing are everybody's and all. What has expired
        by `now` counts as expired."""
        ...

    async def count_waiting(
        self, caller: Principal, *, of: PrincipalId | None, now: datetime, most: int
    ) -> Mapping[Label, int]:
        """How many of everybody's wait, or of one's, by their label; no more than `most` are
        counted."""
        ...

    async def answer(self, caller: Principal, answered: Approval, now: datetime) -> bool:
        """With its new status. False if it does not wait any more: somebody was first, or its
        time was over."""
        ...

    async def expire(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        """False if its time is not over, or it was over without that."""
        ...

    async def claim(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        """The single use of what was approved. False if it was used before, or its time is over:
        to one caller, ever, this says True."""
        ...

    async def end(self, caller: Principal, ended: Approval) -> bool:
        """What became of the use: its outcome, error and result. Somebody who knows corrects an
        uncertain one, until a person has said what it was."""
        ...

    async def collect(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        """False if what it gave was given out before."""
        ...

    async def resolve(self, caller: Principal, resolved: Approval) -> bool:
        """What a person says of an uncertain one; to be tried again, it has no outcome and no
        claim. False if it is not uncertain any more."""
        ...


class Errands(Protocol):
    """What makes an approved call: it waits for the answer for as long as it takes, survives, and
    holds nothing meanwhile."""

    def run_of(self, caller: Principal, approval: ApprovalId) -> RunId: ...

    async def begin(self, caller: Principal, approval: Approval) -> None:
        """In the caller's name, inside `Together`."""
        ...

    async def wake(self, caller: Principal, approval: Approval) -> bool:
        """There is something to be read, inside `Together`. False if it was cancelled."""
        ...

    async def again(self, caller: Principal, approval: Approval) -> None:
        """Inside `Together`: one that ended without knowing what it did is taken up again."""
        ...


class Waiters(Protocol):
    async def wants(self, caller: Principal, waiter: Waiter) -> bool:
        """Whether the run that asked still goes on with what it asked for: it was not ended, and
        has not asked anew since."""
        ...


class ApprovalNews(Protocol):
    async def tell(self, caller: Principal, what: str, approval: Approval) -> None:
        """That something became of it (`asked`, `answered`, `expired`, `withdrawn`, `used`,
        `resolved`), once it can be seen; inside `Together`, with it or not at all."""
        ...


class TrustedClients(Protocol):
    """Whose word it is when the program with a key passes on what its user has answered."""

    async def person(self, caller: Principal, key_id: str) -> PrincipalId | None:
        """None: nobody's, as of every key until somebody says otherwise."""
        ...

    async def trust(self, caller: Principal, key_id: str, person: PrincipalId | None) -> None: ...


class ArgumentCheck(Protocol):
    async def __call__(self, caller: Principal, tool: str, arguments: JsonObject) -> None:
        """Raises what a call with these would be refused for."""
        ...
