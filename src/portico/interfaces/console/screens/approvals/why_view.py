"""Why something has to be asked, and what would change that."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from portico.guard.core.access_request import Allowed, Decision, Denied, NeedsApproval
from portico.guard.core.approvals import Approval
from portico.guard.core.policy import Explanation
from portico.interfaces.console.screens.approvals.seen import seen, sentence
from portico.interfaces.console.screens.approvals.standing import Badge

_DECISIONS: Final[dict[type, Badge]] = {
    Allowed: Badge("allowed", "ok"),
    NeedsApproval: Badge("needs approval", "warn"),
    Denied: Badge("denied", "bad"),
}


@dataclass(frozen=True, slots=True)
class OtherCase:
    when: str
    decision: Badge
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    who: str
    tool: str
    decision: Badge
    rule: str
    reason: str
    task: str
    matched: Sequence[str]
    otherwise: Sequence[OtherCase]


def whom(approval: Approval) -> str:
    """As the explanation wants it: a key has a task of its own, so it is asked for by that."""
    asker = approval.asker
    return f"key:{asker.key}" if asker.key is not None else str(asker.id)


def why(found: Explanation) -> Why:
    context = found.context
    strangers = ", and what strangers wrote" if context.untrusted else ""
    return Why(
        who=seen(found.act.caller.name),
        tool=seen(found.act.aim.tool),
        decision=decided(found.decision),
        rule=seen(found.decision.rule),
        reason=sentence(found.decision.reason),
        task=f"By now its task has read what is {context.label}{strangers}.",
        matched=[rule.name for rule in found.matched],
        otherwise=[
            OtherCase(seen(each.when), decided(each.decision), seen(each.decision.reason))
            for each in found.otherwise
        ],
    )


def decided(decision: Decision) -> Badge:
    return _DECISIONS[type(decision)]
