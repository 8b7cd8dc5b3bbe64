"""What may be done before it is asked for, by somebody who is told of everything that happens.

Written from the words of the documentation, in plain values, without a line of the product. It
knows what each tool really does, who is behind a call, what was switched on at that moment, which
answer stands where, and what happened since a server gave it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from tests.scenarios.effect_oracle import (
    NOTHING,
    READS,
    Oracle,
    Place,
    Secrecy,
    Somebody,
    Thing,
    covers,
)

MARK: Final = re.compile(r"zq([a-z]+[0-9]?)zq([0-9]+)zq")
"""What stands in every value that a server gives: whose, and in which of all answers. One word, so
that whoever takes a text apart leaves it whole."""
WORD: Final = re.compile(r"word[0-9]+x")
"""What a caller says that nobody else would."""
RESTS: Final = timedelta(seconds=55)
"""How long nothing is read ahead after a change of which nobody knows; a little less, so that it
does not hang on who looks at the clock first."""


@dataclass(frozen=True)
class Asked:
    """What a server was asked, and what was so at that moment."""

    number: int
    tool: str
    server: str
    arguments: str
    """As they were written, to the letter."""
    version: str
    """Of the definition and the launch that answers."""
    who: str
    task: str
    moment: int
    ahead: bool


@dataclass(frozen=True)
class Happened:
    """Something after which what was read before need not be so any more."""

    moment: int
    what: str
    who: str = ""
    server: str = ""

    def spoils(self, asked: Asked) -> bool:
        mine = self.who == asked.who and bool(self.who)
        here = self.server == asked.server and bool(self.server)
        everything = not self.who and not self.server
        return self.moment > asked.moment and (mine or here or everything)


@dataclass
class Switched:
    """What an operator has said, of the space and of its servers."""

    on: bool = True
    off_servers: set[str] = field(default_factory=set)
    outside: set[str] = field(default_factory=set)
    """Servers that may be asked ahead though what they are given leaves the house."""

    def runs(self, server: str) -> bool:
        return self.on and server not in self.off_servers


@dataclass(frozen=True)
class Served:
    """What somebody was given for a call of theirs, in place of a new answer."""

    number: int
    tool: str
    arguments: str
    version: str
    told: bool
    """Whether it says of itself that it was there already."""


@dataclass
class AheadOracle:
    guard: Oracle = field(default_factory=Oracle)
    switched: Switched = field(default_factory=Switched)
    life: timedelta = timedelta(seconds=10)
    at_once: int = 4
    at_once_each: int = 2
    a_minute: int = 60
    price: float = 0.0
    dollars: float = 0.1
    least_seen: int = 0
    """How often a task must have stood where this one does, having read no more."""
    seen: list[tuple[str, Secrecy]] = field(default_factory=list)
    """Which tool was called, by a task that had then read how much; none when it began."""
    last: dict[str, str] = field(default_factory=dict)
    """What each task called last."""
    moment: int = 0
    asked: dict[int, Asked] = field(default_factory=dict)
    answered: dict[int, datetime] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    """Which each answer came from, as it was then."""
    given: Counter[int] = field(default_factory=Counter)
    """How often each answer was handed to somebody."""
    failed: set[int] = field(default_factory=set)
    curious: set[int] = field(default_factory=set)
    """Whose server wanted to know something of the caller before it answered."""
    happened: list[Happened] = field(default_factory=list)
    under_way: dict[int, str] = field(default_factory=dict)
    begun: list[tuple[datetime, str, str]] = field(default_factory=list)
    """When, for whom, and in which task."""
    uncertain: list[tuple[datetime, str, str]] = field(default_factory=list)
    """Changes of which nobody knows whether they were made: when, by whom, where."""

    def note(self, what: str, *, who: str = "", server: str = "") -> None:
        self.moment += 1
        self.happened.append(Happened(self.moment, what, who, server))

    def ask(self, asked: Asked, place: Place) -> None:
        self.moment += 1
        self.asked[asked.number] = asked
        self.places[asked.number] = place

    def wrong_ahead(self, who: Somebody, thing: Thing, arguments: str) -> Iterator[str]:
        """Of a call that nobody has asked for, and that has reached its server all the same."""
        verdict = self.guard.verdict(who, thing)
        if thing.does not in READS:
            yield f"effect: it does {thing.does}"
        if not thing.approved or not thing.place.usable:
            yield "pin: nobody has approved what it is now"
        elif verdict == "deny":
            yield "guard: its caller may not"
        if verdict == "ask":
            yield "approval: somebody would have to be asked"
        if not self.switched.runs(thing.place.name):
            yield "switch: it is off"
        if (often := self._stood_there(who)) < self.least_seen:
            yield f"record: {often} times somebody stood here who had read no more"
        if thing.place.away or thing.does == "external_read":
            yield from self._wrong_outside(who, thing.place, arguments)

    def _stood_there(self, who: Somebody) -> int:
        mine, last = self.guard.memory(who).secrecy, self.last.get(who.task, "")
        return sum(name == last and covers(mine, read) for name, read in self.seen)

    def stands(self, who: Somebody, tool: str = "") -> None:
        """Its task has called this, or begins."""
        self.last[who.task] = tool
        self.seen.append((tool, self.guard.memory(who).secrecy))

    def _wrong_outside(self, who: Somebody, place: Place, arguments: str) -> Iterator[str]:
        if place.name not in self.switched.outside:
            yield "outside: nobody has opened it"
        if self.guard.memory(who).secrecy != NOTHING:
            yield "labelled: its task has read what is not for everybody"
        for source in self.sources(arguments):
            if source.secrecy != NOTHING:
                yield "labelled: a value of what is not for everybody goes out"
            if not source.trusted:
                yield "stranger: a stranger's value goes out"

    def sources(self, arguments: str) -> Iterable[Place]:
        """Where the values in it came from first."""
        return [self.places[int(number)] for _, number in MARK.findall(arguments)]

    def begin(self, number: int, who: Somebody, now: datetime) -> Iterator[str]:
        """Within which bounds it is made."""
        self.under_way[number] = who.id
        self.begun.append((now, who.id, who.task))
        last_minute = [its for at, its, _ in self.begun if now - at < timedelta(minutes=1)]
        last_hour = [its for at, *its in self.begun if now - at < timedelta(hours=1)]
        own = list(self.under_way.values()).count(who.id)
        spent = last_hour.count([who.id, who.task]) * self.price
        over = {
            "budget: too many at once": len(self.under_way) > self.at_once,
            "own budget: too many at once of one caller's": own > self.at_once_each,
            "minute: too many in a minute": last_minute.count(who.id) > self.a_minute,
            "money: too much in an hour": spent > self.dollars + 1e-6,
        }
        yield from (words for words, so in over.items() if so)
        server = self.asked[number].server
        for at, whose, where in self.uncertain:
            if now - at < RESTS and (whose == who.id or where == server):
                yield "settled: nobody knows yet whether something was changed"

    def end(self, number: int, now: datetime) -> None:
        self.under_way.pop(number, None)
        self.answered[number] = now

    def wrong_served(self, who: Somebody, served: Served, now: datetime) -> Iterator[str]:
        """Of an answer that was there before its caller asked."""
        asked, number = self.asked[served.number], served.number
        wrong = {
            "second hand: it was another call's": not asked.ahead,
            "exact: it answers another tool": asked.tool != served.tool,
            "exact: it answers other arguments": asked.arguments != served.arguments,
            "principal: it was read for somebody else": asked.who != who.id,
            "context: it was read in another task": asked.task != who.task,
            "pin: another definition has answered it": asked.version != served.version,
            "life: it is too old": now - self.answered[number] > self.life,
            "failed: its tool has failed": number in self.failed,
            "asked: its caller would have been asked": number in self.curious,
            "once: it was given to somebody before": self.given[number] > 1,
            "switch: it is off": not self.switched.runs(asked.server),
            "told: it does not say that it was read before": not served.told,
        }
        yield from (words for words, so in wrong.items() if so)
        yield from (f"drop: since then, {it.what}" for it in self.happened if it.spoils(asked))

    def kept(self, text: str) -> Iterator[str]:
        """Of what is learnt: not a value of anybody's may be in it."""
        for found in (*MARK.finditer(text), *WORD.finditer(text)):
            yield f"values: {found.group()} is in what was learnt"

    def unclaimed(self, text: str) -> Iterator[str]:
        """Of anything that is written down or remembered."""
        for _, number in MARK.findall(text):
            if self.asked[int(number)].ahead and not self.given[int(number)]:
                yield f"quarantine: {number}, which nobody was given"
