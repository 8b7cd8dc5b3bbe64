"""What every store of lowered messages keeps to: a copy and its record, upon a person's yes."""

from dataclasses import dataclass, replace

import pytest

from portico.bridge.core.conversations import Conversation
from portico.bridge.core.declassification import (
    Declassification,
    DeclassificationId,
    Lowered,
    digest_of,
    pin_of,
)
from portico.bridge.core.errors import Archived, NotApproved, WriteDown
from portico.bridge.core.messages import Message, MessageId
from portico.guard.core.access_request import Action
from portico.guard.core.approvals import Approval, Outcome
from portico.guard.core.authentication import as_principal
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import an_identity
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.bridge_people import FINANCE, TEAM, a_project, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation, at, bodies, edited, message_id, say
from tests.contracts.doors import Doors
from tests.guard.approvals import an_approval, approved

MIDDLE = Label(Level.CONFIDENTIAL)
WORDS = "Grüße von [e-mail]."


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Mia wants what she said for those in finance to be read by the team; root may say yes."""

    doors: Doors
    root: Principal
    mia: Principal
    low: Principal
    talk: Conversation
    said: Message

    async def asked(self) -> Approval:
        context = (await self.doors.contexts.get(self.mia)).id
        pin = pin_of(self.said.id, FINANCE, TEAM, WORDS)
        approval = replace(
            an_approval(self.mia),
            action=Action.DECLASSIFY,
            context=context,
            pin=pin,
            label=FINANCE,
        )
        return await self.doors.approvals.add(self.mia, approval, b"")

    async def said_yes(self, approval: Approval, by: Principal | None = None) -> Approval:
        yes = approved(approval, by or self.root)
        assert await self.doors.approvals.answer(self.root, yes, at(1))
        return yes

    async def claimed(self) -> Approval:
        yes = await self.said_yes(await self.asked())
        assert await self.doors.approvals.claim(self.mia, yes.id, at(2))
        return yes

    def record(self, approval: Approval, name: str = "copy") -> Declassification:
        return Declassification(
            id=DeclassificationId.mint(BEGINNING, SeededEntropy(f"record {name}")),
            source=self.said.id,
            copy=message_id(name),
            before=FINANCE,
            after=TEAM,
            rules=("e-mail",),
            asked_by=self.mia.id,
            approved_by=self.root.id,
            approval=approval.id,
            at=at(3),
            digest=digest_of(WORDS),
            signature="ed25519:…",
        )

    @property
    def copy(self) -> Lowered:
        return Lowered(conversation=self.talk.id, text=WORDS)

    async def read(self) -> list[str]:
        """By the team."""
        return await bodies(self.doors, self.low, self.talk)


async def a_scene(doors: Doors, *, closed: bool = False, space: str = "home") -> Scene:
    root = await cleared_root(doors, space)
    mia = await joined(doors, root, "mia", FINANCE)
    low = await joined(doors, root, "low")
    talk = await a_conversation(doors, mia, await a_project(doors, root), closed=closed)
    placed = await say(doors, mia, talk, "Grüße von a@b.co.", label=FINANCE, untrusted=True)
    await doors.contexts.raise_taint(mia, FINANCE, untrusted=False)
    return Scene(doors=doors, root=root, mia=mia, low=low, talk=talk, said=placed.message)


async def test_the_copy_is_at_the_end_and_the_record_beside_it(doors: Doors) -> None:
    scene = await a_scene(doors)
    await say(doors, scene.low, scene.talk, "Hello?")
    record = scene.record(await scene.claimed())

    await doors.declassifications.add(scene.mia, record, scene.copy)

    assert await scene.read() == ["Hello?", WORDS]
    copy = (await doors.messages.get(scene.low, record.copy)).message
    assert (copy.label, copy.sender, copy.sent_at) == (TEAM, scene.mia.id, at(3))
    assert copy.untrusted
    assert await doors.declassifications.of(scene.mia, scene.said.id) == [record]
    assert await doors.declassifications.of(scene.root, record.copy) == [record]

    low, cleared = [await doors.messages.get(who, record.copy) for who in (scene.low, scene.root)]
    assert cleared == low  # what it is a copy of is told by the record alone
    assert str(scene.said.id) not in str(cleared)
    elsewhere = await cleared_root(doors, "elsewhere")
    assert await doors.declassifications.of(scene.low, record.copy) == []
    assert await doors.declassifications.of(elsewhere, record.source) == []


async def test_the_task_of_whoever_asked_is_as_high_as_before(doors: Doors) -> None:
    scene = await a_scene(doors)
    record = scene.record(await scene.claimed())

    async with doors.together(scene.mia):
        await doors.declassifications.add(scene.mia, record, scene.copy)
        with pytest.raises(WriteDown):
            await say(doors, scene.mia, scene.talk, "And by the way …", label=TEAM)

    assert (await doors.contexts.get(scene.mia)).label == FINANCE
    assert await scene.read() == [WORDS]


async def test_a_yes_is_good_for_one_copy(doors: Doors) -> None:
    scene = await a_scene(doors)
    yes = await scene.claimed()
    await doors.declassifications.add(scene.mia, scene.record(yes), scene.copy)
    done = replace(yes, outcome=Outcome.DONE, ended_at=at(3))
    assert await doors.approvals.end(scene.mia, done)

    with pytest.raises(NotApproved):
        await doors.declassifications.add(scene.mia, scene.record(yes, "second"), scene.copy)
    assert await scene.read() == [WORDS]


async def test_a_yes_is_to_exactly_this(doors: Doors) -> None:
    scene = await a_scene(doors)
    eve = await joined(doors, scene.root, "eve", FINANCE)
    record, copy = scene.record(await scene.claimed()), scene.copy
    another = type(record.approval)(scene.said.id.value)

    for caller, other, words in (
        (scene.mia, record, replace(copy, text="Grüße von a@b.co.")),
        (scene.mia, replace(record, after=MIDDLE), copy),
        (scene.mia, replace(record, after=Label(Level.PUBLIC)), copy),
        (scene.mia, replace(record, source=MessageId.of_digest(b"no")), copy),
        (scene.mia, replace(record, approval=another), copy),
        (eve, record, copy),
    ):
        with pytest.raises(NotApproved):
            await doors.declassifications.add(caller, other, words)
    assert await scene.read() == []


async def test_without_a_yes_that_was_claimed_nothing_is_lowered(doors: Doors) -> None:
    scene = await a_scene(doors)
    asked = await scene.asked()
    with pytest.raises(NotApproved):
        await doors.declassifications.add(scene.mia, scene.record(asked), scene.copy)

    yes = await scene.said_yes(asked)
    with pytest.raises(NotApproved):
        await doors.declassifications.add(scene.mia, scene.record(yes), scene.copy)
    assert await scene.read() == []


@pytest.mark.parametrize("whose", ["mia", "bot"])
async def test_ones_own_yes_and_that_of_a_program_are_none(doors: Doors, whose: str) -> None:
    scene = await a_scene(doors)
    space = await doors.spaces.get(scene.root)
    bot = an_identity("bot", space=space, kind=PrincipalKind.AGENT)
    await doors.principals.add(scene.root, bot)
    by = scene.mia if whose == "mia" else as_principal(bot)
    yes = await scene.said_yes(await scene.asked(), by)
    assert await doors.approvals.claim(scene.mia, yes.id, at(2))

    with pytest.raises(NotApproved):
        await doors.declassifications.add(scene.mia, scene.record(yes), scene.copy)
    assert await scene.read() == []


async def test_a_yes_to_a_call_or_of_those_who_may_not_read_it_is_none(doors: Doors) -> None:
    for changes in ({"label": FINANCE}, {"label": TEAM, "action": Action.DECLASSIFY}):
        scene = await a_scene(doors, space=str(changes["label"]))
        pin = pin_of(scene.said.id, FINANCE, TEAM, WORDS)
        asked = replace(an_approval(scene.mia), pin=pin, **changes)
        await doors.approvals.add(scene.mia, asked, b"")
        yes = await scene.said_yes(asked)
        assert await doors.approvals.claim(scene.mia, yes.id, at(2))

        with pytest.raises(NotApproved):
            await doors.declassifications.add(scene.mia, scene.record(yes), scene.copy)


async def test_what_was_raised_or_deleted_since_is_not_lowered(doors: Doors) -> None:
    scene = await a_scene(doors)
    record = scene.record(await scene.claimed())
    law = Label(Level.RESTRICTED, frozenset({"finance"}))
    mia = replace(scene.mia, clearance=law)
    await doors.messages.edit(mia, edited(scene.said, scene.said.body, law), at(2))

    with pytest.raises(NotApproved):
        await doors.declassifications.add(mia, record, scene.copy)
    await doors.messages.delete(mia, scene.said.id, at(2))
    with pytest.raises(NotApproved):
        await doors.declassifications.add(mia, record, scene.copy)


async def test_nothing_is_said_where_nothing_is_said_or_heard_any_more(doors: Doors) -> None:
    """In an archived conversation, or by whoever has left a closed one."""
    scene, shut = await a_scene(doors), await a_scene(doors, closed=True, space="shut")
    record = scene.record(await scene.claimed())
    await doors.conversations.put(scene.root, replace(scene.talk, archived_at=at(2)))

    with pytest.raises(Archived):
        await doors.declassifications.add(scene.mia, record, scene.copy)
    assert await doors.declassifications.of(scene.mia, scene.said.id) == []

    record, outside = shut.record(await shut.claimed()), replace(shut.mia, place="elsewhere")
    await doors.conversations.leave(outside, shut.talk.id, shut.mia.id)
    with pytest.raises(NotApproved):
        await doors.declassifications.add(shut.mia, record, shut.copy)
