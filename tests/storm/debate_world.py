"""A house full of debates that are not for everybody, each with a canary in every field of it."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from random import Random

from portico.bridge.core.project import Project
from portico.debate.core.debate import DebateId
from portico.debate.core.voice import Voice
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.storm.bridge_lattice import EVERY_LABEL, Book, Needs, covers, joined
from tests.storm.bridge_world import COMMON, READERS
from tests.storm.debate_house import DebateHouse


@dataclass(slots=True)
class Held:
    """The oracle's own note of a debate."""

    id: DebateId
    label: str
    by: Principal
    project: Project | None
    private: bool
    guests: int
    voices: tuple[Voice, ...]
    words: list[str] = field(default_factory=list)
    """Canaries that are as secret as all of it."""
    over: bool = False
    said: int = 0
    marked: bool = False
    taken: list[Principal] = field(default_factory=list)
    """Who has sat down."""
    asked: list[str] = field(default_factory=list)
    """Whose seats something was asked at: the guest's, and of whoever may read all of it."""


@dataclass
class DebateWorld:
    house: DebateHouse
    random: Random
    book: Book = field(default_factory=Book)
    readers: list[Principal] = field(default_factory=list)
    authors: list[Principal] = field(default_factory=list)
    projects: list[Project] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    spent: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Tokens, by project and label."""
    keys: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """What each project remembers."""
    wrote: Counter[str] = field(default_factory=Counter)
    changed: int = 0

    async def people_enter(self) -> None:
        for number in range(2):
            self.authors.append(await self.house.house.enters(f"author{number}", EVERY_LABEL[-1]))
        for name, clearance, kind, role in READERS:
            entered = await self.house.house.enters(name, clearance, kind=kind, roles=[role])
            self.readers.append(entered)
        for label in EVERY_LABEL:
            await self._add_project(label)

    async def _add_project(self, label: str) -> None:
        name = f"{self.random.choice(COMMON)} {self.book.canary(label)}"
        made = await self.house.house.talk.create_project(
            self.afresh(self.random.choice(self.authors)), name, "", Label.parse(label)
        )
        self.projects.append(made)
        self.book.there_is(made.id, label)

    def afresh(self, who: Principal) -> Principal:
        return self.house.house.afresh(who)

    def inside(self, held: Held) -> str:
        """What whoever may read it is a member of."""
        return str(held.id)

    def table(self, held: Held) -> str:
        """What whoever may sit in it is a member of, too."""
        return f"{held.id} as a guest"

    def everybody(self) -> set[str]:
        return {str(each.id) for each in (*self.readers, *self.authors)}

    def text(self, held: Held, *, table: bool = False) -> str:
        """Words with a canary, for those who may read the debate, or also for its guests."""
        inside = self.table(held) if table else self.inside(held)
        word = self.book.canary(held.label, inside)
        held.words.append(word)
        return f"{self.random.choice(COMMON)} {word}"

    def opened(self, held: Held) -> None:
        """Who may know of it by now, besides being cleared for it."""
        members = {str(held.by.id)} if held.private else self.everybody()
        self.book.members[self.inside(held)] |= members
        self.book.members[self.table(held)] |= self.everybody() if held.guests else members
        for seat in held.asked:
            self.book.members[seat] |= members
        inside = self.table(held) if held.guests else self.inside(held)
        self.book.needs[str(held.id)] = Needs(held.label, inside)

    def risen(self, held: Held, label: str) -> None:
        """All that is in it is as secret as the most secret of it."""
        held.label = joined([held.label, label])
        for word in [*held.words, str(held.id)]:
            its = self.book.needs[word]
            self.book.needs[word] = Needs(joined([its.label, held.label]), its.inside)

    def readable(self, held: Held, who: Principal) -> bool:
        mine = not held.private or who.id == held.by.id
        return mine and covers(str(who.clearance), held.label)

    def above(self, label: str) -> str:
        """A label that covers this one; often itself."""
        return joined([label, self.random.choice([label, label, *EVERY_LABEL])])

    def some(self, **wanted: object) -> Held | None:
        """One of which all this is true."""
        fitting = [
            each
            for each in self.held
            if all(getattr(each, name) == value for name, value in wanted.items())
        ]
        return self.random.choice(fitting) if fitting else None

    async def change_clearance(self) -> None:
        place = self.random.randrange(len(self.readers))
        wanted, who = self.random.choice(EVERY_LABEL), self.readers[place]
        self.readers[place] = await self.house.house.cleared_for(who, wanted)
        self.changed += 1
