"""What a call would meet: the decision, what decided, and what would change it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from portico.guard.core.access_request import Allowed, Decision, Denied, NeedsApproval
from portico.guard.core.policy import Explanation
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.interfaces.console.screens.tools.effects import Mark


class Setting(StrEnum):
    """What is said of one tool alone."""

    DEFAULT = "default"
    """Nothing: what holds for its effect."""
    AUTO = "auto"
    ASK = "ask"
    NEVER = "never"


_MARKS: Final[Mapping[type[Decision], Mark]] = {
    Allowed: Mark("runs at once", "ok", "Nobody is asked"),
    NeedsApproval: Mark("needs approval", "warn", "Somebody is asked first"),
    Denied: Mark("refused", "bad", "It is not called"),
}
_RULINGS: Final[Mapping[Ruling, Setting]] = {
    Ruling.ALLOW: Setting.AUTO,
    Ruling.ASK: Setting.ASK,
    Ruling.DENY: Setting.NEVER,
}
SETTINGS: Final = (
    (Setting.DEFAULT, "as its effect says"),
    (Setting.AUTO, "auto: run at once"),
    (Setting.ASK, "ask first"),
    (Setting.NEVER, "never"),
)


@dataclass(frozen=True, slots=True)
class Otherwise:
    when: str
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    mark: Mark
    rule: str
    reason: str
    matched: Sequence[tuple[str, str]]
    """Rules that are about it, and what each says."""
    otherwise: Sequence[Otherwise]
    label: str
    """Of what was read at the task that this would be part of."""
    untrusted: bool
    setting: Setting


def policy(found: Explanation) -> Policy:
    decision = found.decision
    return Policy(
        mark=_MARKS[type(decision)],
        rule=decision.rule,
        reason=decision.reason,
        matched=[(rule.name, str(rule.ruling)) for rule in found.matched],
        otherwise=[Otherwise(it.when, _MARKS[type(it.decision)]) for it in found.otherwise],
        label=str(found.context.label),
        untrusted=found.context.untrusted,
        setting=_setting(own_rules(found.matched, found.act.aim.tool)),
    )


def own_rules(rules: Sequence[Rule], tool: str) -> Sequence[Rule]:
    """Those that are about this one tool, for everybody and always: a page can replace these."""
    return [
        rule
        for rule in rules
        if rule.source is RuleSource.DATABASE
        and rule.tools == (tool,)
        and not (rule.who or rule.but or rule.effects or rule.tainted)
        and rule.context is None
        and rule.expires_at is None
    ]


def _setting(own: Sequence[Rule]) -> Setting:
    return _RULINGS[own[0].ruling] if len(own) == 1 else Setting.DEFAULT


def wanted_rule(tool: str, setting: Setting) -> Rule | None:
    """None where no rule is wanted."""
    for ruling, its in _RULINGS.items():
        if its is setting:
            return Rule(name="", ruling=ruling, tools=(tool,), reads=ruling is Ruling.ASK)
    return None
