"""However people send, read, change and forget, the count of what is unread is what one would find
by looking at each message."""

import asyncio
import itertools
import os
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, ClassVar, TypeVar

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bridge_conversations import PostgresConversations
from portico.adapters.postgres.bridge_messages import PostgresMessages
from portico.adapters.postgres.bridge_projects import PostgresProjects
from portico.adapters.postgres.bridge_read_state import PostgresReadState
from portico.adapters.postgres.principals import PostgresPrincipals
from portico.adapters.postgres.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.bridge.core.conversation import Conversation, ConversationId
from portico.bridge.core.message import Message, MessageId, NewMessage
from portico.bridge.core.project import Project, ProjectId
from portico.bridge.ports import Stamp
from portico.guard.core.api_key import ApiKey
from portico.guard.core.authentication import as_principal
from portico.guard.core.roles import Role
from portico.kernel.label import PUBLIC, Label, Level, join, meet
from portico.kernel.principal import Principal
from portico.testing.guard import a_space, an_identity
from tests.contracts.doors import a_key

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(3600)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
EXAMPLES, STEPS = (500, 50) if FULL_SIZE else (12, 30)
NOW = SystemClock().now()
LONG_AGO = NOW - timedelta(days=400)
FIN = frozenset({"fin"})
LABELS = [
    PUBLIC,
    Label(Level.TEAM),
    Label(Level.TEAM, FIN),
    Label(Level.CONFIDENTIAL),
    Label(Level.CONFIDENTIAL, FIN),
    Label(Level.RESTRICTED, FIN),
]
CLEARANCES = [PUBLIC, Label(Level.TEAM), Label(Level.CONFIDENTIAL), *LABELS[4:]]
Result = TypeVar("Result")

people = st.integers(0, 3)
talks = st.integers(0, 1)


@dataclass
class Said:
    message: Message
    place: int
    old: bool
    named: frozenset[int]
    deleted: bool = False


@dataclass
class Part:
    past: int
    apart: set[int] = field(default_factory=set)
    muted: bool = False


@dataclass(frozen=True)
class House:
    runner: asyncio.Runner
    addresses: Addresses
    transactions: Transactions

    def do(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.runner.run(work)


class Unreads(RuleBasedStateMachine):
    house: ClassVar[House]
    numbers: ClassVar[Iterator[int]] = itertools.count()
    steps: ClassVar[int] = 0

    @initialize()
    def move_in(self) -> None:
        transactions = self.house.transactions
        self.messages = PostgresMessages(transactions)
        self.conversations = PostgresConversations(transactions, SystemClock())
        self.read_state = PostgresReadState(transactions)
        self.said: list[list[Said]] = [[], []]
        self.last = [0, 0]
        self.parts: dict[tuple[int, int], Part] = {}
        self.house.do(self._move_in())

    async def _move_in(self) -> None:
        space = a_space(f"space {next(self.numbers)}")
        root = an_identity("root", space=space, roles=[Role.ADMIN])
        key = ApiKey.mint(system_entropy)
        await PostgresSpaces(self.house.transactions).found(
            space, root, a_key(root, key), b"d" * 32
        )
        admin = as_principal(root)
        self.people: list[Principal] = []
        for number in range(4):
            identity = an_identity(f"p{number}", space=space)
            await PostgresPrincipals(self.house.transactions).add(admin, identity)
            self.people.append(replace(as_principal(identity), clearance=CLEARANCES[number]))
        project = Project(
            id=ProjectId.mint(NOW, system_entropy),
            name="x",
            label=PUBLIC,
            made_by=admin.id,
            made_at=NOW,
            active_at=NOW,
        )
        await PostgresProjects(self.house.transactions).add(admin, project)
        self.talks = []
        for number in range(2):
            talk = Conversation(
                id=ConversationId.mint(NOW, system_entropy),
                project=project.id,
                title=f"talk {number}",
                label=PUBLIC,
                made_by=admin.id,
                made_at=NOW,
                active_at=NOW,
            )
            await self.conversations.add(admin, talk)
            self.talks.append(talk)

    @rule(
        who=people,
        talk=talks,
        label=st.sampled_from(LABELS),
        named=st.frozensets(people, max_size=2),
        old=st.booleans(),
    )
    def send(self, who: int, talk: int, label: Label, named: frozenset[int], old: bool) -> None:
        caller = self.people[who]
        if not caller.clearance.covers(label):
            return
        mentions = tuple(self.people[each].id for each in named)
        said = NewMessage(conversation=self.talks[talk].id, body="hello", mentions=mentions)
        stamp = Stamp(
            id=MessageId.mint(NOW, system_entropy), label=label, at=LONG_AGO if old else NOW
        )
        placed = self.house.do(self.messages.send(caller, said, stamp))
        self.last[talk] += 1
        assert placed.place == self.last[talk]
        self.said[talk].append(Said(placed.message, placed.place, old, named))
        if label == PUBLIC:  # by what is more secret than the conversation nobody is seen to come
            self.parts.setdefault((who, talk), Part(placed.place))
        part = self.parts.get((who, talk))
        if part and part.past == placed.place - 1:
            part.past = placed.place
        elif part and part.past < placed.place:
            part.apart.add(placed.place)

    @rule(who=people, talk=talks, back=st.integers(0, 6))
    def read(self, who: int, talk: int, back: int) -> None:
        place = self.last[talk] - back
        self.house.do(self.read_state.read_to(self.people[who], self.talks[talk].id, place))
        if part := self.parts.get((who, talk)):
            part.past = max(part.past, place)

    @rule(who=people, talk=talks, back=st.integers(0, 6), upto=st.sampled_from(LABELS))
    def read_the_low_ones(self, who: int, talk: int, back: int, upto: Label) -> None:
        place, caller = self.last[talk] - back, self.people[who]
        self.house.do(self.read_state.read_to(caller, self.talks[talk].id, place, upto=upto))
        if part := self.parts.get((who, talk)):
            seen = meet(caller.clearance, upto)
            part.apart |= {
                its.place
                for its in self.said[talk]
                if its.place <= place and seen.covers(its.message.label)
            }

    @rule(who=people, talk=talks, data=st.data())
    def read_one(self, who: int, talk: int, data: st.DataObject) -> None:
        if its := self._one(talk, data):
            self.house.do(self.read_state.read_one(self.people[who], its.message.id))
            part = self.parts.get((who, talk))
            if part and self.people[who].clearance.covers(its.message.label):
                part.apart.add(its.place)

    @rule(talk=talks, label=st.sampled_from(LABELS), data=st.data())
    def make_more_secret(self, talk: int, label: Label, data: st.DataObject) -> None:
        its = self._one(talk, data)
        if its is None or its.deleted:
            return
        sender = next(who for who in self.people if who.id == its.message.sender)
        raised = join([its.message.label, label])
        if sender.clearance.covers(raised):
            changed = replace(its.message, body="else", label=raised)
            self.house.do(self.messages.edit(sender, changed, NOW))
            its.message = changed

    @rule(talk=talks, data=st.data())
    def delete(self, talk: int, data: st.DataObject) -> None:
        if its := self._one(talk, data):
            sender = next(who for who in self.people if who.id == its.message.sender)
            if sender.clearance.covers(its.message.label):
                self.house.do(self.messages.delete(sender, its.message.id, NOW))
                its.deleted = True

    @rule(who=people, clearance=st.sampled_from(CLEARANCES))
    def clear(self, who: int, clearance: Label) -> None:
        self.people[who] = replace(self.people[who], clearance=clearance)

    @rule(who=people, talk=talks)
    def take_part(self, who: int, talk: int) -> None:
        caller = self.people[who]
        self.house.do(self.conversations.join(caller, self.talks[talk].id, caller.id))
        self.parts.setdefault((who, talk), Part(self.last[talk]))

    @rule(who=people, talk=talks)
    def leave(self, who: int, talk: int) -> None:
        caller = self.people[who]
        if self.parts.pop((who, talk), None):
            self.house.do(self.conversations.leave(caller, self.talks[talk].id, caller.id))

    @rule(who=people, talk=talks, muted=st.booleans())
    def mute(self, who: int, talk: int, muted: bool) -> None:
        if part := self.parts.get((who, talk)):
            caller = self.people[who]
            self.house.do(self.conversations.mute(caller, self.talks[talk].id, muted=muted))
            part.muted = muted

    @rule(most=st.sampled_from([1, 3, 500]))
    def forget_what_is_old(self, most: int) -> None:
        with psycopg.connect(str(self.house.addresses.engine), autocommit=True) as engine:
            asked = "SELECT portico.bridge_forget('1 day', %s)"
            while (row := engine.execute(asked, [most]).fetchone()) and row[0]:
                pass
        self.said = [[its for its in talk if not its.old] for talk in self.said]

    @invariant()
    def the_count_is_what_one_would_find(self) -> None:
        type(self).steps += 1
        for who, caller in enumerate(self.people):
            found = self.house.do(self.read_state.unread(caller))
            total = self.house.do(self.read_state.total(caller))
            assert total.count == sum(each.count for each in found)
            assert total.mentions == sum(each.mentions for each in found)
            assert total.label == join(each.label for each in found)
            told = {each.conversation: (each.count, each.mentions, each.label) for each in found}
            counted = {}
            for talk, conversation in enumerate(self.talks):
                if unread := self._unread(who, talk):
                    labels = join(its.message.label for its in unread)
                    named = sum(who in its.named for its in unread)
                    counted[conversation.id] = (len(unread), named, labels)
            assert told == counted

    def _unread(self, who: int, talk: int) -> list[Said]:
        part = self.parts.get((who, talk))
        if part is None or part.muted:
            return []
        return [
            its
            for its in self.said[talk]
            if not its.deleted
            and its.place > part.past
            and its.place not in part.apart
            and self.people[who].clearance.covers(its.message.label)
        ]

    def _one(self, talk: int, data: st.DataObject) -> Said | None:
        return data.draw(st.sampled_from(self.said[talk])) if self.said[talk] else None


@pytest.mark.requirement("bridge:unread:exact")
def test_the_count_of_what_is_unread_is_exact(embedded_database: Addresses) -> None:
    with asyncio.Runner() as runner:
        pool = open_pool(embedded_database.app, 2)
        runner.run(pool.open())
        Unreads.house = House(runner, embedded_database, Transactions(pool))
        try:
            run_state_machine_as_test(
                Unreads,
                settings=settings(
                    max_examples=EXAMPLES,
                    stateful_step_count=STEPS,
                    deadline=None,
                    suppress_health_check=[*HealthCheck],
                ),
            )
        finally:
            runner.run(pool.close())
    print(f"\n{Unreads.steps} steps")
    assert Unreads.steps >= (20_000 if FULL_SIZE else 200)
