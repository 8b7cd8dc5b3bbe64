"""A house full of debates that are not for everybody, each with a canary in every field of it."""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from portico.bridge.core.memory import ToRemember
from portico.bridge.core.projects import Project
from portico.debate.core.debaters import Debater, DebaterRequest
from portico.debate.core.debates import (
    Debate,
    DebateId,
    DebaterAnswer,
    DebateStatus,
    Decision,
    Note,
    NoteKind,
    Option,
    Outcome,
    Source,
    Verdict,
    Why,
)
from portico.debate.core.events import DebateEnded, DebaterAnswered
from portico.debate.core.questions import Cap, Preset, Question, QuestionKind, rules_of
from portico.debate.guests import guest_voice
from portico.kernel.budget import NOTHING, Cost, Tokens
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.debate_fakes import a_voice
from portico.testing.memory_store import BEGINNING
from tests.storm.bridge_world import COMMON, READERS
from tests.storm.debate_house import DebateHouse
from tests.storm.deck import name_of
from tests.storm.leak_oracle import EVERY_LABEL, Book, Needs, covers, joined


@dataclass(slots=True)
class Held:
    """The oracle's own note of a debate."""

    id: DebateId
    label: str
    by: Principal
    project: Project | None
    private: bool
    guests: int
    voices: tuple[Debater, ...]
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


VOICES = (a_voice("openai:gpt"), a_voice("meta:llama"), a_voice("agent:clerk"))


def _label(held: Held) -> Label:
    return Label.parse(held.label)


def _starter(world: DebateWorld, held: Held) -> Principal:
    return world.afresh(held.by)


async def begin(world: DebateWorld) -> bool:
    house, random, clock = world.house, world.random, world.house.doors.clock
    now = clock.now()
    project = random.choice([None, *world.projects])
    label = world.above("public" if project is None else str(project.label))
    held = Held(
        id=DebateId.mint(now, house.doors.entropy),
        label=label,
        by=random.choice(world.authors),
        project=project,
        private=random.random() < 0.4,
        guests=random.choice([0, 0, 2]),
        voices=VOICES,
    )
    world.opened(held)
    question = Question(
        text=world.text(held, table=True),
        kind=QuestionKind.CHOICE,
        choices=(world.text(held), world.text(held)),
        topic=world.text(held),
        material=world.text(held),
    )
    debate = Debate(
        id=held.id,
        question=question,
        rules=rules_of(random.choice([*Preset]), 0.5),
        debaters=VOICES,
        guests=held.guests,
        cap=Cap(),
        deadline=now + timedelta(hours=1),
        label=_label(held),
        private=held.private,
        project=None if project is None else str(project.id),
        seed=random.randrange(1_000),
        started_by=held.by.id,
        run=RunId.mint(now, house.doors.entropy),
        started_at=now,
    )
    await house.doors.blackboard.add(_starter(world, held), debate)
    world.held.append(held)
    return True


async def say(world: DebateWorld) -> bool:
    """A voice answers; it may have read something that is more secret."""
    held = world.some(over=False)
    if held is None or held.said >= len(VOICES):
        return False
    by, doors = _starter(world, held), world.house.doors
    if held.private and not held.guests and world.random.random() < 0.2:
        world.risen(held, world.random.choice(EVERY_LABEL))
    voice, key = VOICES[held.said], world.random.choice(["a", "b"])
    answer, why = world.text(held), world.text(held)
    said = DebaterAnswer(
        voice=voice.name, round=1, answer=answer, key=key, shown=answer, rationale=why
    )
    note = Note(
        name=f"said:1:{voice.name}",
        kind=NoteKind.SAID,
        voice=voice.name,
        body=said.as_json(),
        at=doors.clock.now(),
    )
    await doors.blackboard.note(by, held.id, note, _label(held))
    answered = DebaterAnswered(
        voice=voice.name,
        round=1,
        answer=answer,
        rationale=why,
        confidence=None,
        tokens=1,
        money=NOTHING.money,
        seconds=0,
    )
    await doors.event_sink.publish(by, held.id, answered, label=_label(held))
    held.said += 1
    return True


async def spend(world: DebateWorld) -> bool:
    held = world.some(over=False)
    if held is None or held.project is None:
        return False
    tokens = world.random.randrange(1, 1_000)
    name = f"ask {world.wrote['spend']}"
    cost = Cost(tokens=Tokens(tokens))
    await world.house.doors.budget_ledger.reserve(_starter(world, held), held.id, name, cost)
    world.spent[str(held.project.id), held.label] += tokens
    return True


async def end(world: DebateWorld) -> bool:
    held = world.some(over=False)
    if held is None or not held.said:
        return False
    by, doors = _starter(world, held), world.house.doors
    shown = world.text(held)
    option = Option(
        key="a",
        shown=shown,
        probability=0.9,
        debaters=(VOICES[0].name,),
        rationale=world.text(held),
    )
    decision = Decision(
        verdict=Verdict.DECIDED,
        why=Why.LIKELY,
        answer=shown,
        probability=0.9,
        options=(option,),
        n_eff=1.0,
        rule="cold",
        synthesis=world.text(held),
    )
    ended = await doors.blackboard.end(
        by, held.id, DebateStatus.DECIDED, decision, at=doors.clock.now()
    )
    told = DebateEnded(
        decision=decision,
        status=str(ended.status),
        tokens=0,
        money=NOTHING.money,
        seconds=0,
    )
    await doors.event_sink.publish(by, held.id, told, label=_label(held))
    held.over = True
    return True


async def share(world: DebateWorld) -> bool:
    held = world.some(private=True)
    if held is None:
        return False
    await world.house.doors.blackboard.share(_starter(world, held), held.id)
    held.private = False
    world.opened(held)
    return True


async def mark(world: DebateWorld) -> bool:
    held = world.some(over=True)
    if held is None:
        return False
    outcome = Outcome(
        debate=held.id,
        right="a",
        shown=world.text(held),
        decided_right=True,
        source=Source.TEST,
        note=world.text(held),
        by=held.by.id,
        at=BEGINNING + timedelta(seconds=world.wrote["mark"]),
    )
    await world.house.doors.outcomes.mark(_starter(world, held), outcome)
    held.marked = True
    return True


async def sit_down(world: DebateWorld) -> bool:
    """A reader who is cleared for it, and is then asked something that nobody else is."""
    held = world.some(over=False, guests=2)
    if held is None or len(held.taken) == held.guests:
        return False
    guest = world.random.choice(world.readers)
    doors = world.house.doors
    with suppress(PorticoError):
        voice = await doors.blackboard.join(world.afresh(guest), held.id, guest_voice(guest))
        if all(each.id != guest.id for each in held.taken):
            held.taken.append(guest)
        seat = f"{held.id} asks {guest.id}"
        world.book.members[seat] |= {str(guest.id)}
        held.asked.append(seat)
        world.opened(held)
        word = world.book.canary(held.label, seat)
        held.words.append(word)
        ask = DebaterRequest(
            debater=voice,
            system="",
            prompt=word,
            schema=None,
            prompt_tokens=1,
            max_output_tokens=1,
            timeout=timedelta(seconds=1),
            label=_label(held),
            key=f"said:{len(held.asked)}",
        )
        await doors.seats.ask(_starter(world, held), held.id, ask)
        return True
    return False


async def cap(world: DebateWorld) -> bool:
    project = world.random.choice(world.projects)
    by = world.afresh(world.random.choice(world.authors))
    await world.house.doors.budget_ledger.cap_project(by, str(project.id), Cap())
    return True


async def remember(world: DebateWorld) -> bool:
    """What debates could be about."""
    project = world.random.choice(world.projects)
    label = world.above(str(project.label))
    key = f"notes/{world.book.canary(label)}"
    wanted = ToRemember(
        project=project.id, key=key, value=world.book.canary(label), label=Label.parse(label)
    )
    by = world.afresh(world.random.choice(world.authors))
    await world.house.house.things.remember(by, wanted)
    world.keys[str(project.id)].append(key)
    return True


async def drop(world: DebateWorld) -> bool:
    held = world.some(over=True)
    if held is None or len(world.held) < 30:
        return False
    await world.house.doors.blackboard.remove(_starter(world, held), held.id)
    world.held.remove(held)
    return True


Write = Callable[[DebateWorld], Awaitable[bool]]
"""Whether something was written."""
WRITES: Mapping[Write, int] = {
    begin: 4,
    say: 9,
    spend: 4,
    end: 3,
    share: 1,
    mark: 2,
    sit_down: 3,
    cap: 1,
    remember: 1,
    drop: 1,
}
KINDS = frozenset(name_of(write) for write in WRITES)
_CHANCES = [write for write, often in WRITES.items() for _ in range(often)]


async def write(world: DebateWorld) -> None:
    """Something, somewhere."""
    await _written(world, world.random.choice(_CHANCES))


async def _written(world: DebateWorld, write: Write) -> None:
    if await write(world):
        world.wrote[name_of(write)] += 1


async def a_debating_world(house: DebateHouse, seed: int) -> DebateWorld:
    world = DebateWorld(house, Random(seed))
    await world.people_enter()
    for _ in range(24):
        await _written(world, begin)
    for _ in range(8):
        await _written(world, remember)
    for kind, often in {say: 30, end: 8, share: 8, cap: 2, sit_down: 6, mark: 2}.items():
        for _ in range(often):
            await _written(world, kind)
    for _ in range(110):
        await write(world)
    return world
