"""One question of one reader, who knows the ids, the names and the keys of all there is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from portico.bridge.core.conversation import Conversation, ConversationId
from portico.bridge.core.message import MessageId
from portico.bridge.core.project import Project, ProjectId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.storm.bridge_lattice import EVERY_LABEL, Leak, covers, met
from tests.storm.bridge_world import Said, World


@dataclass(slots=True)
class Visit:
    world: World
    who: Principal
    random: Random
    asked: list[object] = field(default_factory=list)
    upto: Label | None = None
    wrong: list[Leak] = field(default_factory=list)
    calls: int = 1
    """How many answers were had by it, if it was answered."""

    @property
    def cleared(self) -> str:
        whole = str(self.who.clearance)
        return whole if self.upto is None else met(whole, str(self.upto))

    def asks(self, thing: Any) -> Any:
        self.asked.append(thing)
        return thing

    def some_upto(self) -> Label | None:
        if self.random.random() < 0.3:
            self.upto = Label.parse(self.random.choice(EVERY_LABEL))
        return self.upto

    def may_know(self, id_: object) -> bool:
        return self.world.book.may_know(str(id_), str(self.who.id), str(self.who.clearance))

    def one_of(self, things: Sequence[Any], id_of: Callable[[Any], object]) -> Any:
        """Of all there is; more often of what they may see."""
        its = self.random.choice(things)
        for _ in range(12 if self.random.random() < 0.75 else 0):
            if self.may_know(id_of(its)):
                break
            its = self.random.choice(things)
        self.asked.append(id_of(its))
        return its

    def project(self) -> Project:
        its: Project = self.one_of(self.world.projects, lambda each: each.id)
        return its

    def talk(self) -> Conversation:
        its: Conversation = self.one_of(self.world.talks, lambda each: each.id)
        return its

    def some_said(self) -> Said:
        its: Said = self.one_of(self.world.said, lambda each: each.message.id)
        return its

    def message(self) -> MessageId:
        return self.some_said().message.id

    def key(self) -> tuple[ProjectId, str]:
        project, key = self.one_of(self.world.keys, lambda its: its[1].rpartition("/")[2])
        self.asked += [project.id, key]
        return project.id, key

    def talks(self) -> Sequence[ConversationId]:
        """Some that they may see, and at times one that they may not."""
        every, many = self.world.talks, self.random.randint(1, 4)
        tried = self.random.sample(every, min(len(every), 12))
        some = [each.id for each in tried if self.may_know(each.id)][:many]
        if not some or self.random.random() < 0.1:
            some.append(self.random.choice(every).id)
        chosen: Sequence[ConversationId] = self.asks(list(dict.fromkeys(some)))
        return chosen

    def counts(
        self,
        way: str,
        count: int,
        mentions: int,
        talks: Iterable[str],
        *,
        read_up: Mapping[tuple[str, str], int],
    ) -> None:
        """No more is unread than they could have found themselves."""
        me = str(self.who.id)
        unread = sum(
            covers(self.cleared, its.label) and its.by.id != self.who.id and not its.deleted
            for talk in talks
            for its in self.world.said_in[talk][read_up.get((me, talk), 0) :]
        )
        if count > unread or mentions > count:
            why = f"{count} and {mentions} are told, {unread} can be seen"
            self.wrong.append(Leak(way, me, "a count", why))
