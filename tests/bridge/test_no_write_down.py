"""Whatever is read and written, and by whom: nothing flows down."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portico.bridge.core.conversations import Conversation
from portico.bridge.core.messages import Message, NewMessage
from portico.bridge.core.projects import Project
from portico.bridge.taint import TaintRecorder
from portico.guard.core.principals import Role
from portico.kernel.errors import PorticoError
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind
from tests.bridge.flow_oracle import FlowOracle, Leak
from tests.bridge.talk_room import TalkRoom

LABELS: Final = [
    None,
    PUBLIC,
    *map(Label.parse, ["team", "confidential", "team+legal", "confidential+legal"]),
]
CLEARANCES: Final = [label for label in LABELS if label is not None]


@dataclass(frozen=True, slots=True)
class Step:
    verb: int
    who: int
    which: int
    label: int


class Trace:
    """Several who read and write, and the oracle that looks on."""

    def __init__(self, room: TalkRoom) -> None:
        self.room = room
        self.oracle = FlowOracle()
        agent, person = PrincipalKind.AGENT, PrincipalKind.PERSON
        self.people = [
            room.enters("high", CLEARANCES[4], kind=agent),
            room.enters("mid", CLEARANCES[2], kind=agent),
            room.enters("legal", CLEARANCES[3], kind=agent),
            room.enters("low", CLEARANCES[1], kind=agent),
            room.enters("ana", CLEARANCES[4], kind=person, roles=[Role.OPERATOR]),
            room.enters("bob", CLEARANCES[1], kind=person),
        ]
        self.projects: list[Project] = []
        self.talks: list[Conversation] = []
        self.said: list[Message] = []
        self.verbs: Sequence[Callable[[Step, Principal], Awaitable[None]]] = [
            self._project,
            self._talk,
            self._say,
            self._say,
            self._answer,
            self._edit,
            self._delete,
            self._read,
            self._read,
            self._back,
            self._list,
            self._inbox,
            self._search,
            self._acknowledge,
            self._join,
            self._leave,
            self._rename,
            self._versions,
            self._clear,
        ]

    async def take(self, step: Step) -> None:
        verb = self.verbs[step.verb % len(self.verbs)]
        with suppress(PorticoError):  # refused: nothing was told, nothing was done
            await verb(step, self.people[step.who % len(self.people)])

    def _task(self, who: Principal, place: object) -> str:
        """A person has one for each place; a program one in all."""
        return f"{who.name} at {place}" if who.kind is PrincipalKind.PERSON else who.name

    def _reads(self, who: Principal, place: object, texts: Iterable[str]) -> None:
        self.oracle.read(self._task(who, place), str(who.clearance), texts)

    async def _project(self, step: Step, who: Principal) -> None:
        text = self.oracle.text(self._task(who, "a new project"), most=90)
        made = await self.room.create_project(who, text, text, LABELS[step.label % len(LABELS)])
        self.oracle.wrote(self._task(who, "a new project"), made.name, str(made.label))
        self.projects.append(made)

    async def _talk(self, step: Step, who: Principal) -> None:
        if not self.projects:
            return
        project = self.projects[step.which % len(self.projects)].id
        task = self._task(who, project)
        made = await self.room.create_conversation(
            who,
            project,
            self.oracle.text(task, most=190),
            label=LABELS[step.label % len(LABELS)],
            closed=step.label % 3 == 0,
            participants=[self.people[step.which % len(self.people)].id],
        )
        self.oracle.wrote(task, made.title, str(made.label))
        self.talks.append(made)

    async def _say(self, step: Step, who: Principal) -> None:
        if self.talks:
            talk = self.talks[step.which % len(self.talks)].id
            await self._sends(who, NewMessage(conversation=talk, body=""), step)

    async def _answer(self, step: Step, who: Principal) -> None:
        if self.said:
            to = self.said[step.which % len(self.said)]
            await self._sends(
                who, NewMessage(conversation=to.conversation, body="", reply_to=to.id), step
            )

    async def _sends(self, who: Principal, wanted: NewMessage, step: Step) -> None:
        task = self._task(who, wanted.conversation)
        body = self.oracle.text(task)
        label = LABELS[step.label % len(LABELS)]
        sent = await self.room.send_message(who, replace(wanted, body=body, label=label))
        self.oracle.wrote(task, sent.message.body, str(sent.message.label))
        self.said.append(sent.message)

    async def _edit(self, step: Step, who: Principal) -> None:
        if self.said:
            was = self.said[step.which % len(self.said)]
            task = self._task(who, was.conversation)
            now = await self.room.edit_message(who, was.id, self.oracle.text(task))
            self.oracle.wrote(task, now.body, str(now.label))

    async def _delete(self, step: Step, who: Principal) -> None:
        if self.said:
            was = self.said[step.which % len(self.said)]
            label = self.room.world.messages[who.space, was.id].message.label
            await self.room.delete_message(who, was.id)
            self.oracle.did(self._task(who, was.conversation), str(label))

    async def _read(self, step: Step, who: Principal) -> None:
        if self.talks:
            talk = self.talks[step.which % len(self.talks)].id
            upto = LABELS[step.label % len(LABELS)]
            page = await self.room.read_messages(who, [talk], upto=upto)
            self._reads(who, talk, [message.body for message in page.messages])

    async def _back(self, step: Step, who: Principal) -> None:
        if self.talks:
            talk = self.talks[step.which % len(self.talks)].id
            page = await self.room.look_back(who, talk, limit=1 + step.label % 3)
            self._reads(who, talk, [message.body for message in page.messages])

    async def _list(self, step: Step, who: Principal) -> None:
        projects = await self.room.list_projects(who, upto=LABELS[step.label % len(LABELS)])
        self._reads(who, "inbox", [its.name for its in projects])
        talks = await self.room.list_conversations(who)
        self._reads(who, "inbox", [its.title for its in talks])

    async def _inbox(self, step: Step, who: Principal) -> None:
        inbox = await self.room.show_inbox(who, upto=LABELS[step.label % len(LABELS)])
        self._reads(who, "inbox", [item.conversation.title for item in inbox.unread])

    async def _search(self, step: Step, who: Principal) -> None:
        hits = await self.room.search(
            who, f"w{step.which}", upto=LABELS[step.label % len(LABELS)], by_meaning=step.which > 20
        )
        self._reads(who, "inbox", [hit.message.body for hit in hits])

    async def _acknowledge(self, step: Step, who: Principal) -> None:
        if self.said:
            was = self.said[step.which % len(self.said)]
            label = self.room.world.messages[who.space, was.id].message.label
            await self.room.acknowledge(who, was.id)
            self.oracle.did(self._task(who, was.conversation), str(label))

    async def _join(self, step: Step, who: Principal) -> None:
        if self.talks:
            talk = self.talks[step.which % len(self.talks)]
            await self.room.join(who, talk.id)
            self.oracle.did(self._task(who, talk.id), str(talk.label))

    async def _leave(self, step: Step, who: Principal) -> None:
        if self.talks:
            talk = self.talks[step.which % len(self.talks)]
            await self.room.leave(who, talk.id, self.people[step.label % len(self.people)].id)
            self.oracle.did(self._task(who, talk.id), str(talk.label))

    async def _rename(self, step: Step, who: Principal) -> None:
        if self.talks and step.label % 2:
            talk = self.talks[step.which % len(self.talks)]
            title = self.oracle.text(self._task(who, talk.id), most=190)
            now = await self.room.change_conversation(who, talk.id, title=title)
            self.oracle.wrote(self._task(who, talk.id), title, str(now.label))
        elif self.projects:
            project = self.projects[step.which % len(self.projects)]
            name = self.oracle.text(self._task(who, project.id), most=90)
            changed = await self.room.change_project(who, project.id, name=name)
            self.oracle.wrote(self._task(who, project.id), name, str(changed.label))

    async def _versions(self, step: Step, who: Principal) -> None:
        if self.said:
            was = self.said[step.which % len(self.said)]
            versions = await self.room.show_versions(who, was.id)
            self._reads(who, was.conversation, [version.body for version in versions])

    async def _clear(self, step: Step, who: Principal) -> None:
        place = self.people.index(who)
        clearance = CLEARANCES[step.label % len(CLEARANCES)]
        if step.which % 4 == 0:
            self.people[place] = self.room.cleared_for(who, clearance)


NUMBERS = st.integers(0, 40)
STEPS = st.lists(st.builds(Step, NUMBERS, NUMBERS, NUMBERS, NUMBERS), min_size=30, max_size=120)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
async def test_nothing_flows_down_in_any_trace(steps: list[Step]) -> None:
    trace = Trace(TalkRoom())

    for step in steps:
        await trace.take(step)


class Forgetful(TaintRecorder):
    """Hands out without a note of it."""

    async def read(
        self, caller: Principal, labels: Iterable[Label], *, untrusted: bool = False
    ) -> None:
        pass


async def told_on(room: TalkRoom) -> None:
    """A reader of secrets says what they have read where more can read it."""
    trace = Trace(room)
    boss, reader = trace.people[4], trace.people[0]
    for label in ("team", "confidential"):
        project = await room.create_project(boss, label, label=Label.parse(label))
        trace.talks.append(await room.create_conversation(boss, project.id, label))
    low, high = (trace.talks.index(talk) for talk in trace.talks)
    await trace.take(Step(trace.verbs.index(trace._say), 4, high, 0))
    await trace.take(Step(trace.verbs.index(trace._read), trace.people.index(reader), high, 0))
    await trace.take(Step(trace.verbs.index(trace._say), trace.people.index(reader), low, 0))


async def test_the_oracle_finds_a_reader_of_whom_no_note_is_taken() -> None:
    with pytest.raises(Leak):
        await told_on(TalkRoom(marking=Forgetful))


async def test_with_notes_the_same_is_raised(room: TalkRoom) -> None:
    await told_on(room)

    assert [str(said.message.label) for said in room.world.messages.values()] == [
        "confidential",
        "confidential",
    ]
