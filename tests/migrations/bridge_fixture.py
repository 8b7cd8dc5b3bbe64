"""A little of everything that is kept on the bridge, for the database fixtures."""

from dataclasses import replace
from datetime import timedelta

from portico.adapters.postgres.bridge.conversations import (
    PostgresConversations,
    PostgresPresences,
    PostgresProjects,
)
from portico.adapters.postgres.bridge.leases import PostgresLeases
from portico.adapters.postgres.bridge.memory import PostgresAttachments, PostgresMemory
from portico.adapters.postgres.bridge.messages import PostgresMessages
from portico.adapters.postgres.bridge.work_items import PostgresWorks
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.attachments import Attachment, Digest
from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.leases import LeaseId, LeaseSpec
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.messages import MessageId, NewMessage, ReplyRequest
from portico.bridge.core.presence import PresenceStatus
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.core.work_items import NewWorkItem, WorkItemId
from portico.bridge.ports import Stamp
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal
from portico.testing.memory_store import SeededEntropy, TickingClock


async def fill_bridge(
    transactions: Transactions,
    admin: Principal,
    other: PrincipalId,
    clock: TickingClock,
    entropy: SeededEntropy,
) -> None:
    now, label = clock.now(), admin.clearance
    project = Project(
        id=ProjectId.mint(now, entropy),
        name="größe",
        label=label,
        made_by=admin.id,
        made_at=now,
        active_at=now,
    )
    await PostgresProjects(transactions).add(admin, project)
    await _fill_talk(transactions, admin, other, project, entropy)
    wanted = ToRemember(project=project.id, key="build/target", value={"os": "linux"})
    await PostgresMemory(transactions, clock).put(admin, wanted, label, now)
    attachment = Attachment(
        digest=Digest.of(b"x"),
        label=label,
        name="x.txt",
        media_type="text/plain",
        size=1,
        by=admin.id,
        at=now,
    )
    await PostgresAttachments(transactions).put(admin, attachment, b"x")
    wish = LeaseSpec(project=project.id, resource="src/**")
    await PostgresLeases(transactions).take(admin, LeaseId.mint(now, entropy), wish)
    work = NewWorkItem(project=project.id, title="Tidy up")
    await PostgresWorks(transactions).add(admin, WorkItemId.mint(now, entropy), work, label, now)
    until = now + timedelta(minutes=2)
    await PostgresPresences(transactions).say(
        admin, project.id, PresenceStatus.THERE, "hello", until
    )


async def _fill_talk(
    transactions: Transactions,
    admin: Principal,
    other: PrincipalId,
    project: Project,
    entropy: SeededEntropy,
) -> None:
    messages, now = PostgresMessages(transactions), project.made_at
    conversations = PostgresConversations(transactions, TickingClock())
    talk = Conversation(
        id=ConversationId.mint(now, entropy),
        project=project.id,
        title="plans",
        label=project.label,
        made_by=admin.id,
        made_at=now,
        active_at=now,
    )
    await conversations.add(admin, talk)
    await conversations.join(admin, talk.id, other)
    asked = NewMessage(
        conversation=talk.id,
        body="Grüß Gott, who comes?",
        mentions=(other,),
        addressed=(other,),
        acknowledge=ReplyRequest(until=now),
        key="k",
    )
    stamp = Stamp(id=MessageId.mint(now, entropy), label=talk.label, at=now)
    first = (await messages.send(admin, asked, stamp)).message
    await messages.edit(admin, replace(first, body="Grüß Gott, who comes today?"), now)
    await messages.acknowledge(admin, first.id, now)
    answer = NewMessage(conversation=talk.id, body="I do.", reply_to=first.id)
    again = replace(stamp, id=MessageId.mint(now, entropy))
    await messages.send(admin, answer, again)
