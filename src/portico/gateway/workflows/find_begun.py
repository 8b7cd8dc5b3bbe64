"""What a run has begun of which its journal does not say what became: whoever goes on from there
must not begin it once more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from portico.engine.core.runs import Run, Step
from portico.gateway.core.call import CallClaim, claim_of
from portico.gateway.core.plan.outline import OutlinedStep, outline_from
from portico.gateway.core.plan.standings import owner
from portico.gateway.core.plan.trying_again import asked_calls, unread_requests
from portico.gateway.ports import CallHistory
from portico.guard.approvals import Approvals
from portico.guard.core.approvals import Approval, Outcome, Status
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal

_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    asked: Sequence[Approval]
    """All that the run has asked."""
    approved: frozenset[str]
    """The calls that somebody said yes to: their requests make them, or have, and the run does not
    know yet."""
    unheard: frozenset[str]
    """The steps whose requests do, and the run does not know that it asked."""
    lost: frozenset[str]
    """The steps of which a call was begun that is not noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindBegun:
    approvals: Approvals
    history: CallHistory
    clock: Clock

    async def __call__(self, caller: Principal, run: Run, journal: Sequence[Step]) -> Begun:
        asked = await self.approvals.of_run(caller, run.id)
        making = [each for each in asked if self.makes_it(each)]
        topics = {each.waiter.topic for each in making if each.waiter is not None}
        calls, unread = asked_calls(journal), unread_requests(journal)
        return Begun(
            asked=asked,
            approved=frozenset(unread) & {calls[topic] for topic in topics if topic in calls},
            unheard=frozenset(_step(topic) for topic in topics if topic not in calls),
            lost=await self._lost(caller, run, journal),
        )

    def makes_it(self, approval: Approval) -> bool:
        """Whether the call is made by it, or was, or may have been."""
        if approval.status_at(self.clock.now()) is not Status.APPROVED:
            return False
        return approval.outcome not in {Outcome.FAILED, Outcome.SKIPPED}

    def to_tell(self, approval: Approval) -> bool:
        """Whether there is something to be heard of it: that it was made, or may have been."""
        unknown = approval.outcome is Outcome.UNCERTAIN
        return self.makes_it(approval) and (unknown or approval.over_at(self.clock.now()))

    async def _lost(self, caller: Principal, run: Run, journal: Sequence[Step]) -> frozenset[str]:
        noted = {step.name for step in journal}
        told = {step.name: step for step in journal}
        claims: dict[CallClaim, str] = {
            claim_of(run.id, call, run.leg): step.id
            for step in outline_from(run.input)
            for call in _calls(step, told.get(f"{step.id}:items"))
            if call not in noted
        }
        found: set[str] = set()
        every = [*claims]
        for first in range(0, len(every), _AT_ONCE):
            some = every[first : first + _AT_ONCE]
            begun = await self.history.begun(caller, some)
            found |= {claims[claim] for claim in some if claim.id in begun}
        return frozenset(found)


def _calls(step: OutlinedStep, items: Step | None) -> Iterator[str]:
    if not step.each:
        yield step.id
    elif items is not None and isinstance(items.output, dict):
        many = items.output.get("items")
        yield from (f"{step.id}[{index}]" for index in range(many if isinstance(many, int) else 0))


def _step(topic: str) -> str:
    """Of `~approval:read[3]:1`."""
    return owner(f"signal:{topic}") or topic
