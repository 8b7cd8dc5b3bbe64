"""What is wrong with a rule: it says nothing, or something else than whoever wrote it meant."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from portico.guard.core.roles import Role
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.errors import Flaw
from portico.kernel.label import PUBLIC
from portico.kernel.principal import PrincipalKind

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_WILDCARD: Final = re.compile(r"[!-+\--~]{1,200}")
_KEY: Final = re.compile(r"[0-9A-Za-z]{12}")
_CAN_FIT: Final = frozenset(".*?")
"""Every tool's name has a dot; what has none of these stands for no tool."""
_MOST: Final = 200


def flaws_of(rule: Rule) -> Sequence[Flaw]:
    """By the field that each is about."""
    return [*_of_its_name(rule), *_of_its_tools(rule), *_of_whom(rule), *_of_its_words(rule)]


def _of_its_name(rule: Rule) -> Iterator[Flaw]:
    if not NAME.fullmatch(rule.name):
        yield Flaw(
            "name",
            "must be letters, digits, -, _ and ., at most 100, beginning with a letter or a digit",
        )


def _of_its_tools(rule: Rule) -> Iterator[Flaw]:
    if not rule.tools:
        yield Flaw("tools", "must name at least one tool; * is every tool")
    for field, wildcards in (("tools", rule.tools), ("except", rule.but)):
        if len(wildcards) > _MOST:
            yield Flaw(field, f"must be at most {_MOST}")
        for each in wildcards:
            if not _WILDCARD.fullmatch(each):
                yield Flaw(field, f"{each[:40]!r} must be a tool with wildcards, such as github.*")
            elif not _CAN_FIT.intersection(each):
                yield Flaw(field, f"{each[:40]!r} fits no tool: those are SERVER.TOOL")


def _of_whom(rule: Rule) -> Iterator[Flaw]:
    for whom in rule.who:
        kind, colon, value = whom.partition(":")
        match kind if colon else "name":
            case "role" if value not in set(Role):
                yield Flaw("who", f"there is no role {value[:40]!r}: {_listed(Role)}")
            case "kind" if value not in set(PrincipalKind):
                yield Flaw("who", f"there is no kind {value[:40]!r}: {_listed(PrincipalKind)}")
            case "key" if not _KEY.fullmatch(value):
                yield Flaw("who", f"{value[:40]!r} is no key's id, twelve letters and digits")
            case "name" if not whom:
                yield Flaw("who", "must not be empty; leave it away for everybody")
            case "role" | "kind" | "key" | "name":
                pass
            case _:
                yield Flaw("who", f"{whom[:40]!r} must be a name, role:…, kind:… or key:…")


def _of_its_words(rule: Rule) -> Iterator[Flaw]:
    asks, allows = rule.ruling is Ruling.ASK, rule.ruling is Ruling.ALLOW
    if rule.reads and not asks:
        yield Flaw("reads", "means something only where the decision is ask")
    if rule.tainted and not allows:
        yield Flaw("tainted", "means something only where the decision is allow")
    if rule.upto != PUBLIC and not rule.tainted:
        yield Flaw("upto", "means something only together with tainted")
    only_reads = bool(rule.effects) and all(each.reads_only for each in rule.effects)
    if asks and only_reads and not rule.reads:
        yield Flaw("effects", "name reads only, which never ask unless reads = true says so")


def _listed(names: type[Role] | type[PrincipalKind]) -> str:
    return ", ".join(names)
