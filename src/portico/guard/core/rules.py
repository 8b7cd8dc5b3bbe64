"""A rule that somebody made about who may do what, and what it is about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from portico.guard.core.act import Act, TaskContext
from portico.guard.core.wildcard import fits
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, ContextId
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal


class Ruling(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class RuleSource(StrEnum):
    FILE = "file"
    DATABASE = "database"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Empty `who` and `effects` are everybody and every effect."""

    name: str
    ruling: Ruling
    tools: tuple[str, ...]
    """Wildcards over `server.tool`."""
    but: tuple[str, ...] = ()
    """Those that it is not about."""
    who: tuple[str, ...] = ()
    """Wildcards over names of principals; `role:member`, `kind:agent`, `key:ID`."""
    effects: frozenset[Effect] = field(default_factory=frozenset)
    """With what is worse too if it denies or asks, with what is milder too if it allows, so that
    no tool gains by being worse than somebody thought."""
    reads: bool = False
    """Whether asking is meant for reads too, which otherwise never ask."""
    tainted: bool = False
    """Whether allowing is meant also for a task that has read strangers' words or secrets."""
    upto: Label = PUBLIC
    """The most that such a task can have read: what is above that, nobody meant."""
    context: ContextId | None = None
    """Only in this task."""
    expires_at: datetime | None = None
    source: RuleSource = RuleSource.DATABASE
    made_by: str | None = None
    made_at: datetime | None = None
    approval: ApprovalId | None = None
    """The request whose answer made it."""

    def in_force(self, now: datetime) -> bool:
        return self.expires_at is None or now < self.expires_at

    def lifts(self, context: TaskContext) -> bool:
        """Whether it allows in spite of what the task has read."""
        meant = self.ruling is Ruling.ALLOW and self.tainted
        return meant and self.upto.covers(context.label)

    def about(self, act: Act, context: TaskContext) -> bool:
        tool = act.aim.tool
        return (
            fits(tool, self.tools)
            and not fits(tool, self.but)
            and self._about_effect(act.aim.effect)
            and self.context in (None, context.id)
            and (not self.who or any(_is(act.caller, whom) for whom in self.who))
        )

    def _about_effect(self, effect: Effect) -> bool:
        if self.ruling is Ruling.ASK and effect.reads_only and not self.reads:
            return False
        if not self.effects:
            return True
        ranks = [each.rank for each in self.effects]
        if self.ruling is Ruling.ALLOW:
            return effect.rank <= max(ranks)
        return effect.rank >= min(ranks)


def matching(
    rules: Iterable[Rule], act: Act, context: TaskContext, now: datetime
) -> Sequence[Rule]:
    """By name, so that what is said to have decided does not depend on where a rule stands."""
    found = [rule for rule in rules if rule.about(act, context) and rule.in_force(now)]
    return sorted(found, key=lambda rule: (rule.name, rule.source))


def naming(rules: Iterable[Rule], name: str) -> Sequence[Rule]:
    """Those that are about whoever has this name, and not about everybody."""
    return [
        rule
        for rule in rules
        if any(":" not in whom and whom != "*" and fits(name, (whom,)) for whom in rule.who)
    ]


def in_any_task(rules: Iterable[Rule]) -> Sequence[Rule]:
    """As if every task were one that they deny or ask in, and none one that they allow in."""
    return [
        rule if rule.context is None else replace(rule, context=None)
        for rule in rules
        if rule.context is None or rule.ruling is not Ruling.ALLOW
    ]


def tainted_options(read: Label) -> str:
    """What `policy allow` has to be told for a task that has read this."""
    return " --tainted" if read == PUBLIC else f" --tainted --upto {read}"


def _is(caller: Principal, whom: str) -> bool:
    kind, colon, value = whom.partition(":")
    match kind if colon else "name":
        case "role":
            return value in caller.roles
        case "kind":
            return value == caller.kind
        case "key":
            return value == caller.key
        case _:
            return fits(caller.name, (whom,))
