"""Messages are kept for ever unless a space or the installation says otherwise, and then they go
with all that is beside them; what is counted stays exact."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bridge_attachments import PostgresAttachments
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.engine_pool import EnginePool
from portico.adapters.postgres.retention import PostgresRetention
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.bridge.core.attachment import Attachment, Digest
from portico.bridge.core.conversation import Conversation
from portico.bridge.core.errors import AttachmentNotFound, MessageNotFound
from portico.bridge.core.message import NewMessage
from portico.bridge.ports import Stamp
from portico.engine.core.retention import Keep
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import FINANCE, TEAM, a_project, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation, bodies, edited, message_id
from tests.contracts.doors import Doors, postgres_doors

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]

NOW = SystemClock().now()
DAYS = Keep(messages=timedelta(days=30))


@dataclass(frozen=True)
class Room:
    doors: Doors
    retention: PostgresRetention
    attachments: PostgresAttachments

    async def say(
        self,
        caller: Principal,
        talk: Conversation,
        body: str,
        days: int,
        *,
        label: Label = TEAM,
        attached: tuple[Digest, ...] = (),
    ) -> None:
        """So many days ago."""
        stamp = Stamp(id=message_id(body), label=label, at=NOW - timedelta(days=days))
        said = NewMessage(
            conversation=talk.id, body=body, mentions=(caller.id,), attachments=attached
        )
        await self.doors.messages.send(caller, said, stamp)


@pytest.fixture
async def room(embedded_database: Addresses) -> AsyncIterator[Room]:
    engine = EnginePool(str(embedded_database.engine))
    bus = PostgresBus(embedded_database.app, system_entropy)
    async with open_pool(embedded_database.app, 3) as pool, engine.pool:
        transactions = Transactions(pool)
        yield Room(
            postgres_doors(transactions, bus, bus),
            PostgresRetention(engine),
            PostgresAttachments(transactions),
        )


async def test_they_are_kept_unless_somebody_says_otherwise(room: Room) -> None:
    root = await cleared_root(room.doors)
    talk = await a_conversation(room.doors, root, await a_project(room.doors, root))
    await room.say(root, talk, "old", 5000)

    assert (await room.retention.forget(Keep())).messages == 0
    assert await bodies(room.doors, root, talk) == ["old"]


async def test_old_ones_go_and_the_counts_stay_exact(room: Room) -> None:
    doors = room.doors
    root = await cleared_root(doors)
    ana, bob = [await joined(doors, root, name, FINANCE) for name in ("ana", "bob")]
    talk = await a_conversation(doors, root, await a_project(doors, root))
    for who in (ana, bob):
        await doors.conversations.join(who, talk.id, who.id)
    for number, (days, label) in enumerate([(90, TEAM), (60, FINANCE), (40, TEAM), (1, TEAM)]):
        await room.say(root, talk, f"number {number}", days, label=label)
    await doors.messages.edit(
        root, edited((await doors.messages.get(root, message_id("number 1"))).message, "x"), NOW
    )
    await doors.messages.acknowledge(ana, message_id("number 0"), NOW)
    await doors.read_state.read_to(ana, talk.id, 2)
    await doors.read_state.read_one(bob, message_id("number 2"))

    gone = await room.retention.forget(DAYS)

    assert gone.messages == 3
    assert await bodies(doors, ana, talk) == ["number 3"]
    with pytest.raises(MessageNotFound):
        await doors.messages.versions(root, message_id("number 1"))
    for who in (ana, bob):
        [unread] = await doors.read_state.unread(who)
        assert (unread.count, unread.label) == (1, TEAM)
    await room.say(root, talk, "and on", 0)
    assert (await doors.messages.get(root, message_id("and on"))).place == 5
    await doors.read_state.read_to(ana, talk.id, 5)
    assert await doors.read_state.unread(ana) == []
    assert (await room.retention.forget(DAYS)).messages == 0


async def test_an_attachment_goes_with_the_last_message_that_has_it(room: Room) -> None:
    doors = room.doors
    root = await cleared_root(doors)
    talk = await a_conversation(doors, root, await a_project(doors, root))
    long_ago = NOW - timedelta(days=90)
    digests = []
    for content in (b"gone", b"used", b"young"):
        digest = Digest.of(content)
        attachment = Attachment(
            digest=digest,
            label=TEAM,
            name="a.txt",
            media_type="text/plain",
            size=len(content),
            by=root.id,
            at=NOW if content == b"young" else long_ago,
        )
        await room.attachments.put(root, attachment, content)
        digests.append(digest)
    await room.say(root, talk, "old", 90, attached=(digests[0], digests[1]))
    await room.say(root, talk, "new", 1, attached=(digests[1],))

    gone = await room.retention.forget(DAYS)

    assert (gone.messages, gone.attachments) == (1, 1)
    with pytest.raises(AttachmentNotFound):
        await room.attachments.get(root, digests[0])
    for kept in digests[1:]:
        assert (await room.attachments.get(root, kept))[0].digest == kept
