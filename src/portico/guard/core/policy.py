"""Policy: allowed, needs approval or denied, with the reason; the strictest rule wins."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import zip_longest
from shlex import quote
from typing import Final
from uuid import UUID

from portico.guard.core.access_request import (
    AccessRequest,
    Allowed,
    Decision,
    Denied,
    NeedsApproval,
    TaintContext,
)
from portico.guard.core.errors import NO_SCOPE
from portico.guard.core.principals import Scope
from portico.guard.core.rules import (
    OFF_LIST,
    Rule,
    RuleSource,
    Ruling,
    matching,
    on_lists,
    tainted_options,
)
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId
from portico.kernel.json import JsonObject, JsonValue, pointed
from portico.kernel.label import PUBLIC, Label

# May this be done? A pure question with three answers, the strictest of which wins.
#
# What bars an act comes first, then what asks, then what allows, wherever a rule stands: the order
# of rules never matters, and one more rule that denies never lets more through.

NO_TASK: Final = ContextId(UUID(int=0))
TAINT: Final = "default:taint"
"""The rule that asks because of what strangers wrote."""


def decide(
    act: AccessRequest, context: TaintContext, rules: Iterable[Rule], now: datetime
) -> Decision:
    found = matching(rules, act, context, now)
    return (
        _barred(act) or _denied(found) or _risky(act, context, found) or _asked(found)
    ) or _allowed(act, found)


def worst_task(reach: Label) -> TaintContext:
    """Of a caller that can have read this and no more: whatever is allowed in it is allowed."""
    return TaintContext(id=NO_TASK, label=reach, untrusted=True)


def _barred(act: AccessRequest) -> Denied | None:
    caller, aim = act.caller, act.target
    if not aim.live:
        return Denied("default:approved", "nobody has approved it as it is now")
    if not caller.may(Scope.TOOLS_CALL):
        return Denied(NO_SCOPE, f"the key does not have the scope {Scope.TOOLS_CALL}")
    if not aim.effect.is_read_only and not caller.may(Scope.TOOLS_WRITE):
        return Denied(NO_SCOPE, f"the key does not have the scope {Scope.TOOLS_WRITE}")
    if not caller.clearance.covers(aim.label):
        return Denied("default:clearance", "what comes from it is above the caller's clearance")
    if not on_lists(caller, aim.tool):
        return Denied("default:list", OFF_LIST)
    return None


def _denied(found: Sequence[Rule]) -> Denied | None:
    rule = _first(found, Ruling.DENY)
    return None if rule is None else Denied(rule.name, f"{_whose(rule)} denies it")


def _risky(
    act: AccessRequest, context: TaintContext, found: Sequence[Rule]
) -> NeedsApproval | None:
    """What the task has read, and where this would carry it."""
    if any(rule.lifts(context) for rule in found):
        return None
    effect, clearance = act.target.effect, act.target.clearance
    outward = act.target.outside or effect.rank >= Effect.EXTERNAL_READ.rank
    if outward and not clearance.covers(context.label):
        reason = f"the task has read {context.label}, and {act.target.server} is cleared for"
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


def _allowed(act: AccessRequest, found: Sequence[Rule]) -> Allowed | NeedsApproval:
    effect = act.target.effect
    if rule := _first(found, Ruling.ALLOW):
        return Allowed(rule.name, f"{_whose(rule)} allows it")
    if effect.is_read_only:
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


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What would be decided if something were different."""

    when: str
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    access_request: AccessRequest
    context: TaintContext
    decision: Decision
    matched: Sequence[Rule]
    """Every rule that is about this, whether it decided or not."""
    otherwise: Sequence[Otherwise]


def explain(
    act: AccessRequest, context: TaintContext, rules: Sequence[Rule], now: datetime
) -> Explanation:
    decision = decide(act, context, rules, now)
    others = [
        Otherwise(when, decide(other.act, other.context, other.rules, now))
        for when, other in _variations(_Situation(act, context, tuple(rules)), now)
    ]
    return Explanation(
        access_request=act,
        context=context,
        decision=decision,
        matched=matching(rules, act, context, now),
        otherwise=[each for each in others if type(each.decision) is not type(decision)],
    )


@dataclass(frozen=True, slots=True)
class _Situation:
    act: AccessRequest
    context: TaintContext
    rules: tuple[Rule, ...]


def _variations(now_is: _Situation, now: datetime) -> Iterator[tuple[str, _Situation]]:
    """One thing changed at a time."""
    yield from _of_the_caller(now_is)
    yield from _of_the_task(now_is)
    yield from _of_the_rules(now_is, now)


def _of_the_caller(now_is: _Situation) -> Iterator[tuple[str, _Situation]]:
    act = now_is.act
    caller, aim = act.caller, act.target
    if not aim.live:
        approved = replace(act, target=replace(aim, live=True))
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
            name="allow",
            ruling=Ruling.ALLOW,
            tools=(act.target.tool,),
            tainted=tainted,
            max_label=upto,
        )
        command = f"portico policy allow {act.target.tool} --who {quote(act.caller.name)}{option}"
        yield f"with a rule that allows it: {command}", replace(now_is, rules=(*rules, allow))


def _with(now_is: _Situation, act: AccessRequest) -> _Situation:
    return replace(now_is, act=act)


_MOST: Final = 50
_DEEPEST: Final = 20


class Danger(StrEnum):
    PATH = "path"
    COMMAND = "command"
    ADDRESS = "address"
    RECIPIENT = "recipient"
    DELETION = "deletion"
    HIDDEN = "hidden"
    """Part of it is not shown: a secret of the house."""
    UNSEEN = "unseen"
    """More, or deeper, than was looked through: all of it is to be looked at."""


DANGER_WORDS: Final[Mapping[str, str]] = {
    Danger.HIDDEN: "part of this is not shown",
    Danger.UNSEEN: "there is more than was looked through",
}
"""Where the word itself would not say it."""
_ORDER: Final = (
    Danger.HIDDEN,
    Danger.UNSEEN,
    Danger.COMMAND,
    Danger.DELETION,
    Danger.RECIPIENT,
    Danger.ADDRESS,
    Danger.PATH,
)
"""Which are marked where there are too many, so that none hides behind harmless ones."""


@dataclass(frozen=True, slots=True)
class ArgumentWarning:
    pointer: str
    """RFC 6901, into the arguments."""
    why: Danger


_WORDS: Final[Sequence[tuple[Danger, re.Pattern[str]]]] = [
    (danger, re.compile(words))
    for danger, words in [
        (
            Danger.DELETION,
            "delete[sd]?|removed?|drop|purge|destroy|force|overwrite|recursive|truncate|permanent",
        ),
        (Danger.COMMAND, "commands?|cmd|shell|script|code|sql|query|statement|argv|exec"),
        (
            Danger.RECIPIENT,
            "to|b?cc|recipients?|emails?|mail|channel|phone|assignees?|invitees?|members?",
        ),
        (Danger.ADDRESS, "urls?|uri|href|link|endpoint|host|hostname|webhook|domain|origin"),
        (
            Danger.PATH,
            "paths?|files?|filename|folders?|directory|directories|dir|destination|target|root|cwd",
        ),
    ]
]
"""By a word of the name that a value stands under; the first that fits is why."""
_FORMS: Final[Sequence[tuple[Danger, re.Pattern[str]]]] = [
    (Danger.ADDRESS, re.compile(r"(?i)[a-z][a-z0-9+.-]{0,30}://\S")),
    (Danger.RECIPIENT, re.compile(r"[^\s@]{1,100}@[^\s@.]{1,100}\.[^\s@]{2,100}\s*")),
    (Danger.PATH, re.compile(r"(?:/|~/|\.\.?/|[A-Za-z]:\\)[^\s/]")),
]
"""By what a value looks like at its beginning, whatever it is called."""
_MOVED: Final = frozenset({"path", "source", "src"})
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def marked(arguments: JsonObject, shown: JsonObject | None = None) -> tuple[ArgumentWarning, ...]:
    """Whole values, in their order; of a list that stands under such a name each one. `shown` is
    what people see of them: the marks point into that, and say where something is missing. What
    is not marked is not thereby harmless."""
    found = [*_walk(_Place(arguments, arguments if shown is None else shown))]
    if len(found) <= _MOST:
        return tuple(found)
    worst = sorted(found, key=lambda mark: _ORDER.index(mark.why))[:_MOST]
    return (*worst, ArgumentWarning("", Danger.UNSEEN))


@dataclass(frozen=True, slots=True)
class _Place:
    value: JsonValue
    shown: JsonValue
    pointer: str = ""
    named: Danger | None = None
    depth: int = 0

    def inner(self, value: JsonValue, shown: JsonValue, name: str, why: Danger | None) -> "_Place":
        return _Place(value, shown, pointed(self.pointer, name), why, self.depth + 1)


def _walk(place: _Place) -> Iterator[ArgumentWarning]:
    match place.value:
        case str(text):
            yield from _leaf(place, place.named or _looks_like(text))
        case Mapping() | Sequence() if place.depth == _DEEPEST:
            yield ArgumentWarning(place.pointer, Danger.UNSEEN)
        case Mapping() as whole:
            yield from _members(place, whole)
        case Sequence() as whole:
            yield from _items(place, whole)
        case value:
            deletes = value is True and place.named is Danger.DELETION
            yield from _leaf(place, place.named if deletes else None)


def _leaf(place: _Place, why: Danger | None) -> Iterator[ArgumentWarning]:
    if place.value != place.shown:
        yield ArgumentWarning(place.pointer, Danger.HIDDEN)
    if why is not None:
        yield ArgumentWarning(place.pointer, why)


def _members(place: _Place, whole: JsonObject) -> Iterator[ArgumentWarning]:
    """If as many are shown as there are, each stands in the place that it has."""
    if not isinstance(place.shown, Mapping) or len(place.shown) != len(whole):
        yield ArgumentWarning(place.pointer, Danger.HIDDEN)
        return
    for (name, item), (seen_name, seen) in zip(whole.items(), place.shown.items(), strict=True):
        why = Danger.PATH if _is_new_place(name, item, whole) else _named(name)
        inside = place.inner(item, seen, seen_name, why)
        if name != seen_name:
            yield ArgumentWarning(inside.pointer, Danger.HIDDEN)
        yield from _walk(inside)


def _items(place: _Place, whole: Sequence[JsonValue]) -> Iterator[ArgumentWarning]:
    shown = place.shown if isinstance(place.shown, Sequence) else ()
    for number, (item, seen) in enumerate(zip_longest(whole, shown)):
        yield from _walk(place.inner(item, seen, str(number), place.named))


def _named(name: str) -> Danger | None:
    words = [word.lower() for word in _WORD.findall(name)]
    return next((why for why, form in _WORDS if any(map(form.fullmatch, words))), None)


def _is_new_place(name: str, item: JsonValue, beside: JsonObject) -> bool:
    """`to` beside a `path`: where that goes, unless it is somebody."""
    if name != "to" or not isinstance(item, str) or not _MOVED & beside.keys():
        return False
    return not set("@:") & set(item) and any(sign in item for sign in "/.")


def _looks_like(text: str) -> Danger | None:
    return next((danger for danger, form in _FORMS if form.match(text)), None)
