"""Policy rules: list, save, remove."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from portico.guard.core.audit import AuditEntry, about_rule
from portico.guard.core.errors import InvalidRule, RuleNotFound, RuleOfTheFile, RuleTaken
from portico.guard.core.principals import Scope
from portico.guard.core.rules import Rule, RuleSource, flaws_of
from portico.guard.ports import Audit, Rules, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.errors import FieldError
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRule:
    rules: Rules
    journal: Audit
    unit_of_work: UnitOfWork
    clock: Clock
    entropy: Entropy

    async def __call__(
        self, caller: Principal, rule: Rule, lifetime: timedelta | None = None
    ) -> Rule:
        """One without a name is given one. Raises `NotPermitted`, `InvalidRule`, `RuleTaken`."""
        require_scope(caller, Scope.POLICY_WRITE)
        now = self.clock.now()
        made = replace(
            rule,
            name=rule.name or _name(rule, self.entropy),
            source=RuleSource.DATABASE,
            made_by=caller.name,
            made_at=now,
            expires_at=None if lifetime is None else now + lifetime,
        )
        if flaws := [*flaws_of(made), *_beyond(caller, made)]:
            raise InvalidRule(made.name, flaws)
        if any(made.name == other.name for other in await self.rules.all(caller)):
            raise RuleTaken(made.name)
        async with self.unit_of_work(caller):
            await self.rules.add(caller, made)
            await self.journal.note(caller, about_rule("policy.rule_added", made))
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRules:
    rules: Rules

    async def __call__(self, caller: Principal) -> Sequence[Rule]:
        """Of the file and of this space, by name. What a rule lets out tells that there is
        something so secret: who may not know of that sees it only if it is theirs to change."""
        require_scope(caller, Scope.POLICY_READ)
        changes = caller.may(Scope.POLICY_WRITE)
        found = [
            rule
            for rule in await self.rules.all(caller)
            if changes or caller.clearance.covers(rule.max_label)
        ]
        return sorted(found, key=lambda rule: (rule.name, rule.source))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveRule:
    rules: Rules
    journal: Audit
    unit_of_work: UnitOfWork

    async def __call__(self, caller: Principal, name: str) -> None:
        """Raises `NotPermitted`, `RuleNotFound`, `RuleOfTheFile`."""
        require_scope(caller, Scope.POLICY_WRITE)
        known = [rule for rule in await self.rules.all(caller) if rule.name == name]
        async with self.unit_of_work(caller):
            if not await self.rules.remove(caller, name):
                raise RuleOfTheFile(name) if known else RuleNotFound(name)
            gone = [rule for rule in known if rule.source is RuleSource.DATABASE]
            removed = AuditEntry(action="policy.rule_removed", subject=name)
            entries = [about_rule("policy.rule_removed", rule) for rule in gone] or [removed]
            await self.journal.note(caller, *entries)


def _beyond(caller: Principal, rule: Rule) -> Iterator[FieldError]:
    """Nobody lets out what they may not read."""
    if not caller.clearance.covers(rule.max_label):
        yield FieldError("upto", f"must not be above your clearance, {caller.clearance}")


def _name(rule: Rule, entropy: Entropy) -> str:
    about = re.sub(r"[^A-Za-z0-9._-]", "", next(iter(rule.tools), ""))[:60].strip("._-")
    return f"{rule.ruling}-{about or 'all'}-{entropy(3).hex()}"
