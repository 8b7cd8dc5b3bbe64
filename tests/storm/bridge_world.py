"""A house full of things that are not for everybody, each with a canary in every field of it."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import Conversation
from portico.bridge.core.leases import Lease
from portico.bridge.core.messages import Message
from portico.bridge.core.projects import Project
from portico.bridge.core.work_items import WorkItem
from portico.guard.core.principals import Role
from portico.kernel.principal import Principal, PrincipalKind
from tests.storm.leak_oracle import EVERY_LABEL, Book, joined
from tests.storm.walled_house import WalledHouse

COMMON = ("plans", "budget", "nest", "river", "engine")
"""Words that are in many texts: whoever looks for one finds much."""
READERS = (
    ("ann", "public", PrincipalKind.AGENT, Role.MEMBER),
    ("ben", "team", PrincipalKind.AGENT, Role.MEMBER),
    ("cat", "team+finance", PrincipalKind.PERSON, Role.MEMBER),
    ("dan", "confidential", PrincipalKind.AGENT, Role.MEMBER),
    ("eve", "confidential+law", PrincipalKind.PERSON, Role.OPERATOR),
    ("fay", "restricted+finance", PrincipalKind.AGENT, Role.MEMBER),
    ("gus", "restricted", PrincipalKind.PERSON, Role.VIEWER),
)


@dataclass(slots=True)
class Said:
    """The oracle's own note of a message."""

    message: Message
    label: str
    by: Principal
    talk: Conversation
    deleted: bool = False
    lowered: bool = False


@dataclass
class World:
    house: WalledHouse
    random: Random
    book: Book = field(default_factory=Book)
    readers: list[Principal] = field(default_factory=list)
    authors: list[Principal] = field(default_factory=list)
    projects: list[Project] = field(default_factory=list)
    talks: list[Conversation] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    said_in: defaultdict[str, list[Said]] = field(default_factory=lambda: defaultdict(list))
    keys: list[tuple[Project, str]] = field(default_factory=list)
    files: list[Digest] = field(default_factory=list)
    works: list[WorkItem] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)
    read_up: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many things had been said in a conversation when somebody had last read all of it."""
    wrote: Counter[str] = field(default_factory=Counter)
    """How often something of each kind was written."""
    changed: int = 0
    """How often what somebody is cleared for was."""

    async def people_enter(self) -> None:
        for number in range(2):
            self.authors.append(await self.house.enters(f"author{number}", EVERY_LABEL[-1]))
        for name, clearance, kind, role in READERS:
            self.readers.append(await self.house.enters(name, clearance, kind=kind, roles=[role]))

    def cleared(self, who: Principal) -> str:
        return str(who.clearance)

    def above(self, label: str) -> str:
        """A label that covers this one; often itself."""
        return joined([label, self.random.choice([label, *EVERY_LABEL])])

    def text(self, label: str, inside: str | None = None) -> str:
        return f"{self.random.choice(COMMON)} {self.book.canary(label, inside)}"

    def author(self) -> Principal:
        return self.house.afresh(self.random.choice(self.authors))

    def maker(self, talk: Conversation) -> Principal:
        return next(each for each in self.authors if each.id == talk.made_by)

    def inside(self, talk: Conversation) -> str | None:
        return str(talk.id) if talk.closed else None

    def note(self, message: Message, by: Principal, talk: Conversation) -> None:
        label = str(message.label)
        self.book.there_is(message.id, label, self.inside(talk))
        said = Said(message, label, by, talk)
        self.said.append(said)
        self.said_in[str(talk.id)].append(said)

    def one_of_authors(self) -> Said | None:
        """Something that is still there."""
        its: Said | None = self.some(
            self.said,
            lambda its: not its.deleted and any(its.by.id == who.id for who in self.authors),
        )
        return its

    def some(self, things: list[Any], wanted: Callable[[Any], bool]) -> Any:
        """Any of those, unless there are next to none."""
        for _ in range(20 if things else 0):
            if wanted(its := self.random.choice(things)):
                return its
        return None

    async def change_clearance(self) -> None:
        place = self.random.randrange(len(self.readers))
        wanted, who = self.random.choice(EVERY_LABEL), self.readers[place]
        self.readers[place] = await self.house.cleared_for(who, wanted)
        self.changed += 1
        # What they could not see then is not read, wherever it is.
        for key in [key for key in self.read_up if key[0] == str(who.id)]:
            del self.read_up[key]
