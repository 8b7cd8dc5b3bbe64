"""May this be done? A pure question with three answers, the strictest of which wins.

What bars an act comes first, then what asks, then what allows, wherever a rule stands: the order
of rules never matters, and one more rule that denies never lets more through.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from portico.guard.core.act import Act, Allowed, Decision, Denied, NeedsApproval, TaskContext
from portico.guard.core.errors import NO_SCOPE
from portico.guard.core.roles import Scope
from portico.guard.core.rules import Rule, RuleSource, Ruling, matching
from portico.guard.core.tool_lists import OFF_LIST, on_lists
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId
from portico.kernel.label import PUBLIC, Label

NO_TASK: Final = ContextId(UUID(int=0))
TAINT: Final = "default:taint"
"""The rule that asks because of what strangers wrote."""


def decide(act: Act, context: TaskContext, rules: Iterable[Rule], now: datetime) -> Decision:
    found = matching(rules, act, context, now)
    return (
        _barred(act) or _denied(found) or _risky(act, context, found) or _asked(found)
    ) or _allowed(act, found)


def worst_task(reach: Label) -> TaskContext:
    """Of a caller that can have read this and no more: whatever is allowed in it is allowed."""
    return TaskContext(id=NO_TASK, label=reach, untrusted=True)


def _barred(act: Act) -> Denied | None:
    caller, aim = act.caller, act.aim
    if not aim.live:
        return Denied("default:approved", "nobody has approved it as it is now")
    if not caller.may(Scope.TOOLS_CALL):
        return Denied(NO_SCOPE, f"the key does not have the scope {Scope.TOOLS_CALL}")
    if not aim.effect.reads_only and not caller.may(Scope.TOOLS_WRITE):
        return Denied(NO_SCOPE, f"the key does not have the scope {Scope.TOOLS_WRITE}")
    if not caller.clearance.covers(aim.label):
        return Denied("default:clearance", "what comes from it is above the caller's clearance")
    if not on_lists(caller, aim.tool):
        return Denied("default:list", OFF_LIST)
    return None


def _denied(found: Sequence[Rule]) -> Denied | None:
    rule = _first(found, Ruling.DENY)
    return None if rule is None else Denied(rule.name, f"{_whose(rule)} denies it")


def _risky(act: Act, context: TaskContext, found: Sequence[Rule]) -> NeedsApproval | None:
    """What the task has read, and where this would carry it."""
    if any(rule.lifts(context) for rule in found):
        return None
    effect, clearance = act.aim.effect, act.aim.clearance
    outward = act.aim.outside or effect.rank >= Effect.EXTERNAL_READ.rank
    if outward and not clearance.covers(context.label):
        reason = f"the task has read {context.label}, and {act.aim.server} is cleared for"
        return NeedsApproval("default:flow", f"{reason} {clearance} only")
    if context.untrusted and effect.destroys:
        reason = f"the task has read what strangers wrote, and {_finality(effect)}"
        return NeedsApproval(TAINT, reason)
    if context.untrusted and effect.rank >= Effect.EXTERNAL_WRITE.rank and context.label != PUBLIC:
        reason = f"the task has read what strangers wrote, and {context.label}: this may send it"
        return NeedsApproval(TAINT, f"{reason} out")
    return None


def _asked(found: Sequence[Rule]) -> NeedsApproval | None:
    rule = _first(found, Ruling.ASK)
    if rule is None:
        return None
    return NeedsApproval(rule.name, f"{_whose(rule)} wants somebody to be asked")


def _allowed(act: Act, found: Sequence[Rule]) -> Allowed | NeedsApproval:
    effect = act.aim.effect
    if rule := _first(found, Ruling.ALLOW):
        return Allowed(rule.name, f"{_whose(rule)} allows it")
    if effect.reads_only:
        return Allowed("default:reads", "it only reads")
    if effect.destroys:
        return NeedsApproval("default:destroys", _finality(effect))
    return Allowed("default:writes", "what it changes can be undone")


def _finality(effect: Effect) -> str:
    return "nobody has said what it changes" if effect is Effect.UNKNOWN else "it cannot be undone"


def _first(found: Sequence[Rule], ruling: Ruling) -> Rule | None:
    return next((rule for rule in found if rule.ruling is ruling), None)


def _whose(rule: Rule) -> str:
    if rule.source is RuleSource.FILE:
        return "a rule in portico.toml"
    return f"a rule that {rule.made_by} made" if rule.made_by else "a rule of this space"
