"""Requests and their answers in memory, and who is told of them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from portico.guard.core.approvals import Approval, Outcome, Status, Waiter
from portico.guard.core.errors import ApprovalNotFound
from portico.kernel.ids import ApprovalId, ContextId, PrincipalId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.memory_store import InMemoryStore, RowRefused, StoredApproval, within


class MemoryApprovals:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def add(self, caller: Principal, approval: Approval, sealed: bytes) -> Approval:
        within(caller, approval.space)
        if (approval.space, approval.requester.id) not in self._world.identities:
            raise RowRefused(f"There is no principal {approval.requester.id} to ask for.")
        if not caller.clearance.covers(approval.label):
            raise RowRefused(f"{caller.name!r} is not cleared for it.")
        there = self._there(approval)
        if there is not None:
            return there
        self._put(approval, sealed)
        return approval

    def _there(self, approval: Approval) -> Approval | None:
        """What stands for it already; what is overdue ends here."""
        if approval.waiter is not None:
            own = approval.waiter if approval.replaces is None else None
            kept = (each.approval for each in self._world.approvals.values())
            return next((each for each in kept if own and _waited(each, own)), None)
        for kept_one in [*self._world.approvals.values()]:
            if not _same(kept_one.approval, approval):
                continue
            if _overdue(kept_one.approval, approval.asked_at):
                self._put(replace(kept_one.approval, status=Status.EXPIRED), b"")
            elif _open(kept_one.approval):
                return kept_one.approval
        return None

    async def asked_by(self, caller: Principal, waiter: Waiter) -> Approval | None:
        found = [each for each in self._visible(caller) if _waited(each, waiter)]
        return found[0] if found else None

    async def of_run(self, caller: Principal, run: RunId) -> Sequence[Approval]:
        found = [
            each
            for each in self._visible(caller)
            if each.waiter is not None and each.waiter.run == run
        ]
        return sorted(found, key=lambda each: each.id.value)

    async def waiting(self, caller: Principal, now: datetime) -> int:
        own = [each for each in self._visible(caller) if each.requester.id == caller.id]
        return sum(each.status_at(now) is Status.WAITING for each in own)

    async def get(self, caller: Principal, approval: ApprovalId) -> Approval:
        return self._seen(caller, approval).approval

    async def latest(self, caller: Principal, context: ContextId, hash_: str) -> Approval | None:
        mine = [
            each
            for each in self._visible(caller)
            if (each.requester.id, each.context, each.hash) == (caller.id, context, hash_)
            and each.waiter is None
        ]
        return max(mine, key=lambda each: each.id.value, default=None)

    async def unfinished(self, caller: Principal, hash_: str) -> Sequence[Approval]:
        mine = [
            each
            for each in self._visible(caller)
            if (each.requester.id, each.hash) == (caller.id, hash_)
            and each.waiter is None
            and (_open(each) or _uncollected(each))
        ]
        return sorted(mine, key=lambda each: each.id.value)

    async def withdraw(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        return self._change(
            caller,
            approval,
            lambda was: was.status is Status.WAITING and was.expires_at > now,
            lambda was: replace(was, status=Status.WITHDRAWN),
        )

    async def sealed(self, caller: Principal, approval: ApprovalId) -> bytes:
        return self._seen(caller, approval).sealed

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
        found = [
            each
            for each in self._visible(caller)
            if of in (None, each.requester.id)
            and (not statuses or each.status_at(now) in statuses)
            and (before is None or each.id.value < before.value)
        ]
        return sorted(found, key=lambda each: each.id.value, reverse=True)[:limit]

    async def count_waiting(
        self, caller: Principal, *, of: PrincipalId | None, now: datetime, most: int
    ) -> Mapping[Label, int]:
        found = [
            each.label
            for each in self._visible(caller)
            if of in (None, each.requester.id) and each.status_at(now) is Status.WAITING
        ]
        return Counter(found[:most])

    async def answer(self, caller: Principal, answered: Approval, now: datetime) -> bool:
        return self._change(
            caller,
            answered.id,
            lambda was: was.status is Status.WAITING and was.expires_at > now,
            lambda was: replace(
                was,
                status=answered.status,
                expires_at=answered.expires_at,
                answered=answered.answered,
                replaced_by=answered.replaced_by,
            ),
        )

    async def expire(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        return self._change(
            caller,
            approval,
            lambda was: _overdue(was, now),
            lambda was: replace(was, status=Status.EXPIRED),
        )

    async def claim(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        return self._change(
            caller,
            approval,
            lambda was: was.status is Status.APPROVED and not was.used and was.expires_at > now,
            lambda was: replace(was, claimed_at=now),
        )

    async def end(self, caller: Principal, ended: Approval) -> bool:
        return self._change(
            caller,
            ended.id,
            lambda was: was.used and _unknown(was),
            lambda was: replace(
                was,
                outcome=ended.outcome,
                ended_at=ended.ended_at,
                error=ended.error,
                result=ended.result,
            ),
        )

    async def collect(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        return self._change(
            caller,
            approval,
            lambda was: was.collected_at is None,
            lambda was: replace(was, collected_at=now),
        )

    async def resolve(self, caller: Principal, resolved: Approval) -> bool:
        return self._change(
            caller,
            resolved.id,
            lambda was: was.outcome is Outcome.UNCERTAIN,
            lambda was: replace(
                was,
                outcome=resolved.outcome,
                claimed_at=resolved.claimed_at,
                ended_at=resolved.ended_at,
                expires_at=resolved.expires_at,
                resolved_by=resolved.resolved_by,
            ),
        )

    def _change(
        self,
        caller: Principal,
        approval: ApprovalId,
        fits: Callable[[Approval], bool],
        changed: Callable[[Approval], Approval],
    ) -> bool:
        kept = self._world.approvals.get((caller.space, approval))
        if kept is None or not _sees(caller, kept.approval) or not fits(kept.approval):
            return False
        now = changed(kept.approval)
        self._put(now, kept.sealed if _may_be_called(now) else b"")
        return True

    def _put(self, approval: Approval, sealed: bytes) -> None:
        self._world.approvals[approval.space, approval.id] = StoredApproval(approval, sealed)

    def _seen(self, caller: Principal, approval: ApprovalId) -> StoredApproval:
        kept = self._world.approvals.get((caller.space, approval))
        if kept is None or not _sees(caller, kept.approval):
            raise ApprovalNotFound(str(approval))
        return kept

    def _visible(self, caller: Principal) -> Sequence[Approval]:
        kept = self._world.approvals.values()
        return [each.approval for each in kept if _sees(caller, each.approval)]


@dataclass(slots=True)
class ScriptedApprovalRuns:
    """Remembers what became of each; those in `cancelled` cannot be woken."""

    started: list[ApprovalId] = field(default_factory=list)
    woken: list[ApprovalId] = field(default_factory=list)
    taken_up: list[ApprovalId] = field(default_factory=list)
    cancelled: set[ApprovalId] = field(default_factory=set)
    refuse: Exception | None = None
    """Raised instead of beginning one."""

    def run_of(self, caller: Principal, approval: ApprovalId) -> RunId:
        return RunId.of_claim(caller.space, caller.id, "errand", str(approval))

    async def start(self, caller: Principal, approval: Approval) -> None:  # noqa: ARG002 # anybody's
        if self.refuse is not None:
            raise self.refuse
        self.started.append(approval.id)

    async def wake(self, caller: Principal, approval: Approval) -> bool:  # noqa: ARG002 # anybody's
        self.woken.append(approval.id)
        return approval.id not in self.cancelled

    async def again(self, caller: Principal, approval: Approval) -> None:  # noqa: ARG002 # anybody's
        self.taken_up.append(approval.id)


@dataclass(slots=True)
class RecordedApprovalEvents:
    told: list[tuple[str, ApprovalId]] = field(default_factory=list)

    async def publish(self, caller: Principal, what: str, approval: Approval) -> None:  # noqa: ARG002 # anybody's
        self.told.append((what, approval.id))


@dataclass(slots=True)
class AnyArguments:
    """Takes whatever it is given, and remembers it; raises what it was told to."""

    refuse: Exception | None = None
    checked: list[tuple[str, JsonObject]] = field(default_factory=list)

    async def __call__(
        self,
        caller: Principal,  # noqa: ARG002 # it takes anybody's
        tool: str,
        arguments: JsonObject,
    ) -> None:
        self.checked.append((tool, arguments))
        if self.refuse is not None:
            raise self.refuse


def _sees(caller: Principal, approval: Approval) -> bool:
    return caller.space == approval.space and caller.clearance.covers(approval.label)


def _waited(approval: Approval, waiter: Waiter) -> bool:
    mine = approval.waiter
    same = mine is not None and (mine.run, mine.topic) == (waiter.run, waiter.topic)
    return same and approval.replaces is None


def _same(one: Approval, other: Approval) -> bool:
    """Of what no run waits for."""
    return one.waiter is None and (one.space, one.requester.id, one.context, one.hash) == (
        other.space,
        other.requester.id,
        other.context,
        other.hash,
    )


def _overdue(approval: Approval, now: datetime) -> bool:
    return approval.status is not approval.status_at(now) is Status.EXPIRED


def _unknown(approval: Approval) -> bool:
    unsaid = approval.outcome is Outcome.UNCERTAIN and approval.resolved_by is None
    return approval.outcome is None or unsaid


def _open(approval: Approval) -> bool:
    return (
        approval.status in {Status.WAITING, Status.APPROVED}
        and approval.collected_at is None
        and approval.outcome in {None, Outcome.UNCERTAIN}
    )


def _uncollected(approval: Approval) -> bool:
    came_of = approval.status is Status.REPLACED or approval.outcome is Outcome.DONE
    return came_of and approval.collected_at is None


def _may_be_called(approval: Approval) -> bool:
    """Whether its sealed arguments are still needed."""
    return approval.status in {Status.WAITING, Status.APPROVED} and approval.outcome in {
        None,
        Outcome.UNCERTAIN,
    }
