"""Policy rules: their form, their wildcards, and what is wrong with one."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final

from portico.guard.core.access_request import AccessRequest, TaintContext
from portico.guard.core.principals import Role
from portico.kernel.effect import Effect
from portico.kernel.errors import FieldError
from portico.kernel.ids import ApprovalId, ContextId
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind

# Names with wildcards: `*` is any run of characters, dots too, `?` any one; case counts.

_ANY: Final = "."
_ANY_BUT_A_STAR: Final = "[^*]"


def fits(name: str, wildcards: Iterable[str]) -> bool:
    """Whether any of them stands for the name."""
    return _any_of(tuple(wildcards)).fullmatch(name) is not None


def within(narrow: Sequence[str], wide: Sequence[str]) -> bool:
    """Whether what the narrow ones stand for, each by itself, the wide ones stand for too.

    A wildcard is read like a name here, of which only a `*` takes in a `*`. It says no to some
    lists that name the same in a roundabout way, and never yes to one that names more.
    """
    return all(
        any(_pattern(each, _ANY_BUT_A_STAR).fullmatch(one) for each in wide) for one in narrow
    )


@lru_cache(maxsize=4096)
def _any_of(wildcards: tuple[str, ...]) -> re.Pattern[str]:
    """All of them in one: each decision asks it of every rule there is."""
    return re.compile(
        "|".join(f"(?:{_pattern(it, _ANY).pattern})" for it in wildcards) or "(?!)", re.DOTALL
    )


@lru_cache(maxsize=4096)
def _pattern(wildcard: str, one: str) -> re.Pattern[str]:
    """Each piece is taken at the first place it fits, for good: if any way fits, that one does.
    So no name takes longer than its length times the wildcard's, whatever the two are."""
    first, *rest = wildcard.split("*")
    if not rest:
        return re.compile(_piece(first, one), re.DOTALL)
    *middle, last = rest
    passed = "".join(f"(?>.*?{_piece(piece, one)})" for piece in middle if piece)
    return re.compile(f"{_piece(first, one)}{passed}.*{_piece(last, one)}", re.DOTALL)


def _piece(text: str, one: str) -> str:
    return one.join(re.escape(part) for part in text.split("?"))


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
    max_label: Label = PUBLIC
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

    def lifts(self, context: TaintContext) -> bool:
        """Whether it allows in spite of what the task has read."""
        meant = self.ruling is Ruling.ALLOW and self.tainted
        return meant and self.max_label.covers(context.label)

    def about(self, act: AccessRequest, context: TaintContext) -> bool:
        tool = act.target.tool
        return (
            fits(tool, self.tools)
            and not fits(tool, self.but)
            and self._about_effect(act.target.effect)
            and self.context in (None, context.id)
            and (not self.who or any(_is(act.caller, whom) for whom in self.who))
        )

    def _about_effect(self, effect: Effect) -> bool:
        if self.ruling is Ruling.ASK and effect.is_read_only and not self.reads:
            return False
        if not self.effects:
            return True
        ranks = [each.rank for each in self.effects]
        if self.ruling is Ruling.ALLOW:
            return effect.rank <= max(ranks)
        return effect.rank >= min(ranks)


def matching(
    rules: Iterable[Rule], act: AccessRequest, context: TaintContext, now: datetime
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


NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_WILDCARD: Final = re.compile(r"[!-+\--~]{1,200}")
_KEY: Final = re.compile(r"[0-9A-Za-z]{12}")
_CAN_FIT: Final = frozenset(".*?")
"""Every tool's name has a dot; what has none of these stands for no tool."""
_MOST: Final = 200


def flaws_of(rule: Rule) -> Sequence[FieldError]:
    """By the field that each is about."""
    return [*_of_its_name(rule), *_of_its_tools(rule), *_of_whom(rule), *_of_its_words(rule)]


def _of_its_name(rule: Rule) -> Iterator[FieldError]:
    if not NAME.fullmatch(rule.name):
        yield FieldError(
            "name",
            "must be letters, digits, -, _ and ., at most 100, beginning with a letter or a digit",
        )


def _of_its_tools(rule: Rule) -> Iterator[FieldError]:
    if not rule.tools:
        yield FieldError("tools", "must name at least one tool; * is every tool")
    for each_field, wildcards in (("tools", rule.tools), ("except", rule.but)):
        if len(wildcards) > _MOST:
            yield FieldError(each_field, f"must be at most {_MOST}")
        for each in wildcards:
            if not _WILDCARD.fullmatch(each):
                yield FieldError(
                    each_field, f"{each[:40]!r} must be a tool with wildcards, such as github.*"
                )
            elif not _CAN_FIT.intersection(each):
                yield FieldError(each_field, f"{each[:40]!r} fits no tool: those are SERVER.TOOL")


def _of_whom(rule: Rule) -> Iterator[FieldError]:
    for whom in rule.who:
        kind, colon, value = whom.partition(":")
        match kind if colon else "name":
            case "role" if value not in set(Role):
                yield FieldError("who", f"there is no role {value[:40]!r}: {_listed(Role)}")
            case "kind" if value not in set(PrincipalKind):
                yield FieldError(
                    "who", f"there is no kind {value[:40]!r}: {_listed(PrincipalKind)}"
                )
            case "key" if not _KEY.fullmatch(value):
                yield FieldError("who", f"{value[:40]!r} is no key's id, twelve letters and digits")
            case "name" if not whom:
                yield FieldError("who", "must not be empty; leave it away for everybody")
            case "role" | "kind" | "key" | "name":
                pass
            case _:
                yield FieldError("who", f"{whom[:40]!r} must be a name, role:…, kind:… or key:…")


def _of_its_words(rule: Rule) -> Iterator[FieldError]:
    asks, allows = rule.ruling is Ruling.ASK, rule.ruling is Ruling.ALLOW
    if rule.reads and not asks:
        yield FieldError("reads", "means something only where the decision is ask")
    if rule.tainted and not allows:
        yield FieldError("tainted", "means something only where the decision is allow")
    if rule.max_label != PUBLIC and not rule.tainted:
        yield FieldError("upto", "means something only together with tainted")
    only_reads = bool(rule.effects) and all(each.is_read_only for each in rule.effects)
    if asks and only_reads and not rule.reads:
        yield FieldError("effects", "name reads only, which never ask unless reads = true says so")


def _listed(names: type[Role] | type[PrincipalKind]) -> str:
    return ", ".join(names)


OFF_LIST: Final = "it is not on the list of tools of the key or its principal"


def on_lists(caller: Principal, tool: str) -> bool:
    return on_all(caller.tools, tool)


def on_all(lists: Iterable[Sequence[str]], tool: str) -> bool:
    return all(fits(tool, allowed) for allowed in lists)
