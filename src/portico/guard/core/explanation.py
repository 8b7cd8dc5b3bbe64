"""Why it was decided so, and what would have it decided otherwise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from shlex import quote

from portico.guard.core.act import Act, Decision, TaskContext
from portico.guard.core.policy import decide
from portico.guard.core.roles import Scope
from portico.guard.core.rules import Rule, Ruling, matching, tainted_options
from portico.guard.core.tool_lists import on_lists
from portico.kernel.label import PUBLIC


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What would be decided if something were different."""

    when: str
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    act: Act
    context: TaskContext
    decision: Decision
    matched: Sequence[Rule]
    """Every rule that is about this, whether it decided or not."""
    otherwise: Sequence[Otherwise]


def explain(act: Act, context: TaskContext, rules: Sequence[Rule], now: datetime) -> Explanation:
    decision = decide(act, context, rules, now)
    others = [
        Otherwise(when, decide(other.act, other.context, other.rules, now))
        for when, other in _variations(_Situation(act, context, tuple(rules)), now)
    ]
    return Explanation(
        act=act,
        context=context,
        decision=decision,
        matched=matching(rules, act, context, now),
        otherwise=[each for each in others if type(each.decision) is not type(decision)],
    )


@dataclass(frozen=True, slots=True)
class _Situation:
    act: Act
    context: TaskContext
    rules: tuple[Rule, ...]


def _variations(now_is: _Situation, now: datetime) -> Iterator[tuple[str, _Situation]]:
    """One thing changed at a time."""
    yield from _of_the_caller(now_is)
    yield from _of_the_task(now_is)
    yield from _of_the_rules(now_is, now)


def _of_the_caller(now_is: _Situation) -> Iterator[tuple[str, _Situation]]:
    act = now_is.act
    caller, aim = act.caller, act.aim
    if not aim.live:
        approved = replace(act, aim=replace(aim, live=True))
        yield f"once it is approved: portico servers approve {aim.server}", _with(now_is, approved)
    missing = {Scope.TOOLS_CALL, Scope.TOOLS_WRITE} - caller.scopes
    if missing:
        able = replace(act, caller=replace(caller, scopes={*caller.scopes, *missing}))
        yield f"with a key that has {' and '.join(sorted(missing))}", _with(now_is, able)
    if not on_lists(caller, aim.tool):
        listed = replace(act, caller=replace(caller, tools=()))
        yield "if it were on the list of tools of the key and its principal", _with(now_is, listed)


def _of_the_task(now_is: _Situation) -> Iterator[tuple[str, _Situation]]:
    context = now_is.context
    if context.untrusted or context.label != PUBLIC:
        clean = replace(context, label=PUBLIC, untrusted=False)
        yield "in a task that has read nothing yet", replace(now_is, context=clean)
    if not context.untrusted:
        told = replace(context, untrusted=True)
        yield "once the task has read what strangers wrote", replace(now_is, context=told)


def _of_the_rules(now_is: _Situation, now: datetime) -> Iterator[tuple[str, _Situation]]:
    act, rules = now_is.act, now_is.rules
    for rule in matching(rules, act, now_is.context, now):
        rest = tuple(other for other in rules if other is not rule)
        yield f"without the rule {rule.name}", replace(now_is, rules=rest)
    read = now_is.context.label
    for tainted, upto, option in ((False, PUBLIC, ""), (True, read, tainted_options(read))):
        allow = Rule(
            name="allow", ruling=Ruling.ALLOW, tools=(act.aim.tool,), tainted=tainted, upto=upto
        )
        command = f"portico policy allow {act.aim.tool} --who {quote(act.caller.name)}{option}"
        yield f"with a rule that allows it: {command}", replace(now_is, rules=(*rules, allow))


def _with(now_is: _Situation, act: Act) -> _Situation:
    return replace(now_is, act=act)
