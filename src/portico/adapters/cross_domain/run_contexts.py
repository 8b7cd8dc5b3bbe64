"""Whom a run of an agent or a debate acts as, and in which task context."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.agents.core.agents import Agent
from portico.agents.core.errors import AgentNameTaken, NameInRules
from portico.guard.approvals import Approvals, WithdrawApproval
from portico.guard.core.access_request import TaintContext
from portico.guard.core.approvals import Approval, Status
from portico.guard.core.audit import about_principal, about_rule, identity_facts
from portico.guard.core.authentication import as_principal
from portico.guard.core.contexts import OpenedContext
from portico.guard.core.errors import NameTaken, PrincipalDisabled
from portico.guard.core.keys import check_tools
from portico.guard.core.principals import Identity, Role, Scope, check_reach
from portico.guard.core.rules import Rule, Ruling, naming
from portico.guard.ports import Audit, ContextRegistry, Contexts, Principals, Rules, UnitOfWork
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import ContextId
from portico.kernel.label import PUBLIC, Label, join, meet
from portico.kernel.principal import Principal, PrincipalKind

# The task that a run of an agent happens in: it begins with what its starter's task has read.


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTasks:
    """Nobody says here that a window is clean: the house opens it, and the run remembers nothing
    but what it is given."""

    book: ContextRegistry
    contexts: Contexts
    clock: Clock
    entropy: Entropy

    async def open(
        self, acts_as: Principal, name: str, *, after: Principal, label: Label = PUBLIC
    ) -> ContextId:
        """Raises `ContextNotFound`."""
        task, now = await self.contexts.get(after), self.clock.now()
        context = OpenedContext(
            id=ContextId.mint(now, self.entropy),
            principal=acts_as.id,
            name=name,
            opened_at=now,
            label=join([task.label, label]),
            untrusted=task.untrusted,
        )
        await self.book.open(acts_as, context)
        return context.id

    async def take_over(self, caller: Principal, *, after: Principal) -> TaintContext:
        """Raises `ContextNotFound`."""
        task = await self.contexts.get(after)
        await self.contexts.raise_taint(caller, task.label, untrusted=task.untrusted)
        return task

    async def label(self, caller: Principal) -> Label:
        """Raises `ContextNotFound`."""
        return (await self.contexts.get(caller)).label


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateTasks:
    """Nobody says here that a window is clean: the house opens it, and the debate remembers nothing
    but what it is given."""

    book: ContextRegistry
    contexts: Contexts
    clock: Clock
    entropy: Entropy

    async def open(self, caller: Principal, name: str, label: Label) -> ContextId:
        """Raises `ContextNotFound`."""
        task, now = await self.contexts.get(caller), self.clock.now()
        context = OpenedContext(
            id=ContextId.mint(now, self.entropy),
            principal=caller.id,
            name=name,
            opened_at=now,
            label=join([task.label, label]),
            untrusted=task.untrusted,
        )
        await self.book.open(caller, context)
        return context.id

    async def at(self, caller: Principal) -> TaintContext:
        """Raises `ContextNotFound`."""
        return await self.contexts.get(caller)

    async def read(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
        """Raises `ContextNotFound`."""
        await self.contexts.raise_taint(caller, label, untrusted=untrusted)


_ROLES: Final = frozenset({Role.MEMBER})
_NAME: Final = 100
"""Letters of the name of one that is gone; its id stands behind them."""
_LOT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentIdentities:
    principals: Principals
    approvals: Approvals
    withdraw: WithdrawApproval
    rules: Rules
    audit: Audit
    unit_of_work: UnitOfWork
    clock: Clock

    async def add(self, caller: Principal, agent: Agent) -> None:
        """Whoever makes it gives it no more than they have."""
        identity = Identity(
            id=agent.principal,
            space=caller.space,
            kind=PrincipalKind.AGENT,
            name=agent.name,
            roles=_ROLES,
            clearance=agent.spec.label,
            tools=agent.spec.tools,
            created_at=self.clock.now(),
        )
        _check(caller, identity)
        found = naming(await self.rules.all(caller), agent.name)
        _check_name(caller, agent.name, _allowing(found))
        async with self.unit_of_work(caller):
            try:
                await self.principals.add(caller, identity)
            except NameTaken as error:
                raise AgentNameTaken(agent.name) from error
            await self.audit.note(caller, about_principal("principal.added", identity))

    async def change(self, caller: Principal, agent: Agent) -> None:
        """Raises `AgentNameTaken`, `NameInRules`, `Overreach`."""
        async with self.unit_of_work(caller):
            before = await self.principals.hold(caller, agent.principal)
            after = replace(
                before, name=agent.name, clearance=agent.spec.label, tools=agent.spec.tools
            )
            _check(caller, after)
            if after.name != before.name:
                await self._renames(caller, before.name, after.name)
            await self._changed(caller, before, after)

    async def _renames(self, caller: Principal, before: str, after: str) -> None:
        """Nobody comes under other rules by being called otherwise. Raises `NameInRules`."""
        await self._forget_answers(caller, before)
        rules = await self.rules.all(caller)
        old, new = naming(rules, before), naming(rules, after)
        _check_name(caller, after, [rule for rule in _allowing(new) if rule not in old])
        _check_name(caller, before, [rule for rule in old if rule not in [*new, *_allowing(old)]])

    async def _forget_answers(self, caller: Principal, name: str) -> None:
        """What people have allowed to the one that had this name holds for no other."""
        for rule in naming(await self.rules.all(caller), name):
            if rule.approval is not None and await self.rules.remove(caller, rule.name):
                await self.audit.note(caller, about_rule("policy.rule_removed", rule))

    async def remove(self, caller: Principal, agent: Agent) -> None:
        """The principal stays, since what it did is in the record; its name is free again. What it
        has asked people for is asked for no more, which wakes the runs that wait for that: they
        find that it is gone."""
        async with self.unit_of_work(caller):
            before = await self.principals.hold(caller, agent.principal)
            gone = f"{before.name[:_NAME]} ({agent.principal})"
            after = replace(before, name=gone, disabled_at=self.clock.now())
            if before.disabled_at is None:
                await self._forget_answers(caller, before.name)
                await self._changed(caller, before, after)
        while asked := await self._asked(caller, agent):
            for each in asked:
                await self.withdraw.closed(caller, each, "the agent that asked was removed")

    async def _asked(self, caller: Principal, agent: Agent) -> Sequence[Approval]:
        return await self.approvals.page(
            caller,
            of=agent.principal,
            statuses=[Status.WAITING],
            before=None,
            now=self.clock.now(),
            limit=_LOT,
        )

    async def _changed(self, caller: Principal, before: Identity, after: Identity) -> None:
        if after == before:
            return
        try:
            if after.name != before.name:
                await self.principals.rename(caller, after.id, after.name)
        except NameTaken as error:
            raise AgentNameTaken(after.name) from error
        await self.principals.save(caller, after)
        entry = about_principal("principal.changed", after, was=identity_facts(before))
        await self.audit.note(caller, entry)

    async def acting(self, starter: Principal, agent: Agent) -> Principal:
        """An agent that was itself started by an agent starts no others, so that no circle of them
        goes on for ever: whoever acts in a run has come with no key of its own."""
        identity = await self.principals.get(starter, agent.principal)
        if identity.disabled_at is not None:
            raise PrincipalDisabled(identity.name)
        whole = as_principal(identity)
        scopes = whole.scopes & starter.scopes
        if starter.kind is PrincipalKind.AGENT and starter.key is None:
            scopes -= {Scope.AGENTS_RUN}
        return replace(
            whole,
            scopes=frozenset(scopes),
            clearance=meet(whole.clearance, starter.clearance),
            whole=False,
            until=starter.until,
            tools=_each_once([*whole.tools, agent.spec.tools, *starter.tools]),
        )


def _check(caller: Principal, identity: Identity) -> None:
    """Raises `Overreach`. An agent's scopes are those of whoever starts it, each time: only what it
    may know and use is given to it for good."""
    check_reach(caller, frozenset(), identity.clearance)
    check_tools(caller, identity.tools)


def _allowing(rules: Sequence[Rule]) -> Sequence[Rule]:
    return [rule for rule in rules if rule.ruling is Ruling.ALLOW]


def _check_name(caller: Principal, name: str, rules: Sequence[Rule]) -> None:
    """Raises `NameInRules`."""
    if rules and not caller.may(Scope.POLICY_WRITE):
        raise NameInRules(name, min(rule.name for rule in rules))


def _each_once(lists: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(lists))
