"""Estimate a debate within the project's budget."""

from dataclasses import dataclass

from portico.debate.activation import at_budget, at_start
from portico.debate.core.debates import DebateSpec, Estimate
from portico.debate.core.errors import InvalidDebate
from portico.debate.core.estimates import estimated
from portico.debate.core.questions import Cap
from portico.debate.debates import PrepareDebate, within_windows
from portico.debate.ports import BudgetLedger, DebateContexts, Material
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit
from portico.guard.principals import require_scope
from portico.kernel.budget import Cost, Tokenizer
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateDebate:
    prepare: PrepareDebate
    tokenizer: Tokenizer

    async def __call__(self, caller: Principal, wish: DebateSpec) -> Estimate:
        """Raises `NotPermitted`, and what is wrong with the wish."""
        require_scope(caller, Scope.DEBATES_RUN)
        count = self.tokenizer.count
        prepared = within_windows(await self.prepare(caller, wish), count)
        found = estimated(prepared.plan, count, [*map(str, prepared.left_out)])
        return found.within(prepared.cap)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectBudget:
    budget_ledger: BudgetLedger
    material: Material
    tasks: DebateContexts
    audit: Audit

    async def show(self, caller: Principal, project: str) -> tuple[Cap, Cost]:
        """Raises `NotPermitted`, `ProjectNotFound`."""
        require_scope(caller, Scope.DEBATES_READ)
        caller, which = await self._at(caller, project)
        return await self._told(caller, which)

    async def put(self, caller: Principal, project: str, cap: Cap) -> tuple[Cap, Cost]:
        """What is spent already stays spent. Raises `NotPermitted`, `ProjectNotFound`,
        `InvalidDebate`."""
        require_scope(caller, Scope.DEBATES_MANAGE)
        if (cap.tokens or 0) < 0 or (cap.money or 0) < 0:
            raise InvalidDebate("A budget is never negative.", "Leave it out for no limit.")
        caller, which = await self._at(caller, project)
        await self.budget_ledger.cap_project(caller, which, cap)
        facts = {"tokens": cap.tokens, "money": None if cap.money is None else str(cap.money)}
        entry = AuditEntry(action="debate.budget", subject=which, details=facts)
        await self.audit.note(caller, entry)
        return await self._told(caller, which)

    async def _told(self, caller: Principal, which: str) -> tuple[Cap, Cost]:
        """In a task of its own, of a person: it tells of debates that were not read."""
        caller = at_budget(caller, which)
        cap, spent, label = await self.budget_ledger.project(caller, which)
        await self.tasks.read(caller, label, untrusted=False)
        return cap, spent

    async def _at(self, caller: Principal, project: str) -> tuple[Principal, str]:
        which, label = await self.material.project(caller, project)
        caller = at_start(caller, which)
        await self.tasks.read(caller, label, untrusted=False)
        return caller, which
