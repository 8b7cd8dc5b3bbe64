"""What may happen, by somebody who knows what each tool really does.

Written from the words of the documentation, in plain values, without a line of the guard: if the
two ever disagree, one of them is wrong.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Verdict = Literal["run", "ask", "deny"]

ORDER: Final = (
    "pure",
    "local_read",
    "external_read",
    "local_write",
    "external_write",
    "irreversible",
    "unknown",
)
READS: Final = ("pure", "local_read", "external_read")
Secrecy = tuple[int, frozenset[str]]
"""A level and compartments."""
NOTHING: Final[Secrecy] = (0, frozenset())


@dataclass(frozen=True)
class Somebody:
    """Whoever calls, as the key says that they came with."""

    id: str
    name: str
    kind: str
    roles: frozenset[str]
    key: str
    task: str
    may_call: bool
    may_write: bool
    lists: tuple[tuple[str, ...], ...]
    cleared_for: Secrecy


@dataclass(frozen=True)
class Said:
    """A rule, as somebody has written it."""

    ruling: Literal["allow", "ask", "deny"]
    tools: tuple[str, ...]
    but: tuple[str, ...] = ()
    who: tuple[str, ...] = ()
    effects: frozenset[str] = frozenset()
    reads: bool = False
    tainted: bool = False
    upto: Secrecy = NOTHING
    """With `tainted`: as long as the task has read no more than this."""
    task: str | None = None
    over: bool = False
    """It has expired."""


@dataclass(frozen=True)
class Place:
    """A server as its operator has left it."""

    name: str
    usable: bool
    """Approved as it is started now, switched on, and its tools looked at."""
    secrecy: Secrecy = NOTHING
    takes: Secrecy = (1, frozenset())
    trusted: bool = False
    away: bool = False
    """It is somewhere else: whatever it is given leaves the house."""


@dataclass(frozen=True)
class Thing:
    """What would really be reached: what it does, and whether exactly this was approved."""

    name: str
    place: Place
    does: str
    approved: bool


@dataclass
class Memory:
    """What a task has taken in."""

    secrecy: Secrecy = NOTHING
    strangers: bool = False

    def take_in(self, place: Place) -> None:
        level, compartments = self.secrecy
        self.secrecy = (max(level, place.secrecy[0]), compartments | place.secrecy[1])
        self.strangers = self.strangers or not place.trusted


@dataclass
class Oracle:
    rules: list[Said] = field(default_factory=list)
    memories: dict[str, Memory] = field(default_factory=dict)

    def memory(self, who: Somebody) -> Memory:
        return self.memories.setdefault(who.task, Memory())

    def verdict(self, who: Somebody, thing: Thing, does: str | None = None) -> Verdict:
        """`does`: what the operator believes, instead of what is so."""
        effect = does or thing.does
        if _forbidden(who, thing, effect):
            return "deny"
        about = [rule for rule in self.rules if _about(rule, who, thing.name, effect)]
        rulings = {rule.ruling for rule in about}
        if "deny" in rulings:
            return "deny"
        lifted = any(_lifts(rule, self.memory(who)) for rule in about)
        if not lifted and _dangerous(self.memory(who), thing.place, effect):
            return "ask"
        if "ask" in rulings:
            return "ask"
        if "allow" in rulings or effect not in {"irreversible", "unknown"}:
            return "run"
        return "ask"


def _forbidden(who: Somebody, thing: Thing, effect: str) -> bool:
    listed = all(any(stands_for(glob, thing.name) for glob in names) for names in who.lists)
    scoped = who.may_call and (effect in READS or who.may_write)
    seen = covers(who.cleared_for, thing.place.secrecy)
    return not (thing.place.usable and thing.approved and listed and scoped and seen)


def _lifts(rule: Said, memory: Memory) -> bool:
    return rule.ruling == "allow" and rule.tainted and covers(rule.upto, memory.secrecy)


def _dangerous(memory: Memory, place: Place, effect: str) -> bool:
    rank = ORDER.index(effect)
    leaves = place.away or rank >= ORDER.index("external_read")
    if leaves and not covers(place.takes, memory.secrecy):
        return True
    if not memory.strangers:
        return False
    sends = rank >= ORDER.index("external_write") and memory.secrecy != NOTHING
    return sends or effect in {"irreversible", "unknown"}


def _about(rule: Said, who: Somebody, tool: str, effect: str) -> bool:
    named = any(stands_for(glob, tool) for glob in rule.tools)
    spared = any(stands_for(glob, tool) for glob in rule.but)
    his = not rule.who or any(_means(whom, who) for whom in rule.who)
    here = rule.task is None or rule.task == who.task
    return named and not spared and his and here and not rule.over and _meant(rule, effect)


def _meant(rule: Said, effect: str) -> bool:
    """No tool gains by being worse than somebody thought."""
    if rule.ruling == "ask" and effect in READS and not rule.reads:
        return False
    ranks = [ORDER.index(each) for each in rule.effects]
    if not ranks:
        return True
    rank = ORDER.index(effect)
    return rank <= max(ranks) if rule.ruling == "allow" else rank >= min(ranks)


def _means(whom: str, who: Somebody) -> bool:
    for kind, values in _facts(who).items():
        if whom.startswith(f"{kind}:"):
            return whom.removeprefix(f"{kind}:") in values
    return stands_for(whom, who.name)


def _facts(who: Somebody) -> Mapping[str, Iterable[str]]:
    return {"role": who.roles, "kind": [who.kind], "key": [who.key]}


def stands_for(glob: str, name: str) -> bool:
    parts = [{"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in glob]
    return re.fullmatch("".join(parts), name, re.DOTALL) is not None


def covers(one: Secrecy, other: Secrecy) -> bool:
    return one[0] >= other[0] and one[1] >= other[1]
