"""Rules as a table: what each decides, about which tools, for whom, and until when."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.guard.core.principals import Scope
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal

_DECISIONS: Final = {
    Ruling.ALLOW: ("allows", "ok"),
    Ruling.ASK: ("asks", "warn"),
    Ruling.DENY: ("denies", "bad"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    name: str
    decision: str
    tone: str
    tools: tuple[str, ...]
    but: tuple[str, ...]
    who: tuple[str, ...]
    effects: tuple[str, ...]
    notes: tuple[str, ...]
    """What else it says."""
    source: str
    made_by: str | None
    made_at: datetime | None
    ends_at: datetime | None
    over: bool
    approval: str | None
    may_remove: bool


def rule_line(rule: Rule, caller: Principal, now: datetime) -> RuleLine:
    decision, tone = _DECISIONS[rule.ruling]
    ours = rule.source is RuleSource.DATABASE
    effects = sorted(rule.effects, key=lambda effect: effect.rank)
    return RuleLine(
        name=rule.name,
        decision=decision,
        tone=tone,
        tools=rule.tools,
        but=rule.but,
        who=rule.who,
        effects=tuple(str(effect).replace("_", " ") for effect in effects),
        notes=tuple(_notes(rule)),
        source="here" if ours else "portico.toml",
        made_by=rule.made_by,
        made_at=rule.made_at,
        ends_at=rule.expires_at,
        over=not rule.in_force(now),
        approval=None if rule.approval is None else str(rule.approval),
        may_remove=ours and caller.may(Scope.POLICY_WRITE),
    )


def _notes(rule: Rule) -> Iterator[str]:
    if rule.reads:
        yield "reads too"
    if rule.tainted:
        upto = "" if rule.upto == PUBLIC else f", up to {rule.upto}"
        yield f"also after strangers' words{upto}"
    if rule.context is not None:
        yield "in one task only"
