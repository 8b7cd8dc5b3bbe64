"""Conversations: create, list, open, take part."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.bridge.core.conversations import Conversation, ConversationId, Participant
from portico.bridge.core.errors import flaws_of_line, raise_if_invalid
from portico.bridge.core.messages import (
    Message,
    MessageId,
    check_shared,
    flaws_of_limit,
    flaws_of_people,
    label_of,
)
from portico.bridge.core.projects import ProjectId
from portico.bridge.core.taint import about_archive, about_membership
from portico.bridge.ports import Conversations, Messages, Projects
from portico.bridge.projects import OpenProject
from portico.bridge.taint import TaintRecorder, in_view_context, looking
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class OpenConversation:
    conversations: Conversations
    taint: TaintRecorder

    async def __call__(
        self, caller: Principal, conversation: ConversationId
    ) -> tuple[Principal, Conversation]:
        """The caller in front of it. Raises `ConversationNotFound`."""
        there = in_view_context(caller, conversation)
        found = await self.conversations.get(there, conversation)
        await self.taint.read(there, [found.label])
        return there, found


@dataclass(frozen=True, slots=True)
class OpenMessage:
    messages: Messages
    taint: TaintRecorder

    async def __call__(self, caller: Principal, message: MessageId) -> tuple[Principal, Message]:
        """The caller in front of its conversation. Raises `MessageNotFound`."""
        found = (await self.messages.get(caller, message)).message
        there = in_view_context(caller, found.conversation)
        await self.taint.read_messages(there, [found])
        return there, found


_TITLE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateConversation:
    open_project: OpenProject
    conversations: Conversations
    taint: TaintRecorder
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy

    async def __call__(
        self,
        caller: Principal,
        project: ProjectId,
        title: str,
        *,
        label: Label | None = None,
        closed: bool = False,
        participants: Sequence[PrincipalId] = (),
    ) -> Conversation:
        """Its maker takes part. Raises `NotPermitted`, `InvalidBridgeInput`, `ProjectNotFound`,
        `PrincipalNotFound`, `Archived`, `WriteDown`, `BelowContainer`, `AboveClearance`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        raise_if_invalid(
            [
                *flaws_of_line("title", title, most=_TITLE),
                *flaws_of_people("participants", participants),
            ]
        )
        caller, inside = await self.open_project.to_write(caller, project)
        mark = await self.taint.at(caller)
        labelled = label_of(label, inside=inside.label, mark=mark.label, clearance=caller.clearance)
        now = self.clock.now()
        conversation = Conversation(
            id=ConversationId.mint(now, self.entropy),
            project=project,
            title=title,
            label=labelled.label,
            closed=closed,
            made_by=caller.id,
            made_at=now,
            active_at=now,
        )
        async with self.unit_of_work(caller):
            await self.conversations.add(caller, conversation)
            for who in participants:
                await self.conversations.join(caller, conversation.id, who)
                if closed:
                    await self.audit.note(caller, about_membership("joined", conversation, who))
        return conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowConversation:
    open_conversation: OpenConversation

    async def __call__(self, caller: Principal, conversation: ConversationId) -> Conversation:
        """Raises `NotPermitted`, `ConversationNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        _, found = await self.open_conversation(caller, conversation)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeConversation:
    conversations: Conversations
    open_conversation: OpenConversation
    taint: TaintRecorder
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock

    async def __call__(
        self,
        caller: Principal,
        conversation: ConversationId,
        *,
        title: str | None = None,
        archived: bool | None = None,
    ) -> Conversation:
        """Raises `NotPermitted`, `InvalidBridgeInput`, `ConversationNotFound`, `WriteDown`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        raise_if_invalid([] if title is None else flaws_of_line("title", title, most=_TITLE))
        caller, was = await self.open_conversation(caller, conversation)
        if archived is not None and was.made_by != caller.id:
            require_scope(caller, Scope.BRIDGE_MANAGE)
        check_shared(was.label, (await self.taint.at(caller)).label)
        changed = replace(was, title=was.title if title is None else title)
        if archived is not None and archived != (was.archived_at is not None):
            changed = replace(changed, archived_at=self.clock.now() if archived else None)
        async with self.unit_of_work(caller):
            await self.conversations.put(caller, changed)
            if changed.archived_at != was.archived_at:
                entry = about_archive("conversation", was.id, changed.archived_at)
                await self.audit.note(caller, entry)
        return changed


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConversations:
    projects: Projects
    conversations: Conversations
    taint: TaintRecorder

    async def __call__(
        self,
        caller: Principal,
        *,
        project: ProjectId | None = None,
        archived: bool = False,
        after: str | None = None,
        limit: int = 50,
        upto: Label | None = None,
    ) -> Sequence[Conversation]:
        """Of one project, or of all; the one with the latest news first. Raises `NotPermitted`,
        `InvalidBridgeInput`, `ProjectNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(flaws_of_limit(limit))
        caller = looking(in_view_context(caller, project), upto)
        labels: list[Label] = []
        if project is not None:
            labels.append((await self.projects.get(caller, str(project))).label)
        found = await self.conversations.page(
            caller, project, archived=archived, after=after, limit=limit
        )
        await self.taint.read(caller, [*labels, *(each.label for each in found)])
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ListParticipants:
    conversations: Conversations
    open_conversation: OpenConversation

    async def __call__(
        self, caller: Principal, conversation: ConversationId
    ) -> Sequence[Participant]:
        """Raises `NotPermitted`, `ConversationNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_conversation(caller, conversation)
        return await self.conversations.participants(caller, conversation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """That somebody takes part is there for everybody to see who sees the conversation."""

    conversations: Conversations
    open_conversation: OpenConversation
    taint: TaintRecorder
    unit_of_work: UnitOfWork
    audit: Audit

    async def __call__(
        self, caller: Principal, conversation: ConversationId, who: PrincipalId | None = None
    ) -> None:
        """The caller, or somebody whom they let in. Raises `NotPermitted`,
        `ConversationNotFound`, `PrincipalNotFound`, `WriteDown`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        caller, found = await self.open_conversation(caller, conversation)
        check_shared(found.label, (await self.taint.at(caller)).label)
        whom = who or caller.id
        async with self.unit_of_work(caller):
            await self.conversations.join(caller, conversation, whom)
            await _noted(self.audit, caller, "joined", found, whom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    conversations: Conversations
    open_conversation: OpenConversation
    taint: TaintRecorder
    unit_of_work: UnitOfWork
    audit: Audit

    async def __call__(
        self, caller: Principal, conversation: ConversationId, who: PrincipalId | None = None
    ) -> None:
        """The caller; or somebody else, by whoever began it or has to keep order. Raises
        `NotPermitted`, `ConversationNotFound`, `NotTakingPart`, `WriteDown`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        caller, found = await self.open_conversation(caller, conversation)
        whom = who or caller.id
        if caller.id not in (whom, found.made_by):
            require_scope(caller, Scope.BRIDGE_MANAGE)
        check_shared(found.label, (await self.taint.at(caller)).label)
        async with self.unit_of_work(caller):
            await _noted(self.audit, caller, "left", found, whom)
            await self.conversations.leave(caller, conversation, whom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mute:
    conversations: Conversations

    async def __call__(
        self, caller: Principal, conversation: ConversationId, *, muted: bool
    ) -> None:
        """For the caller alone, who alone is told. Raises `NotPermitted`,
        `ConversationNotFound`, `NotTakingPart`."""
        require_scope(caller, Scope.BRIDGE_READ)
        await self.conversations.mute(
            in_view_context(caller, conversation), conversation, muted=muted
        )


async def _noted(
    audit: Audit, caller: Principal, done: str, conversation: Conversation, who: PrincipalId
) -> None:
    if conversation.closed:
        await audit.note(caller, about_membership(done, conversation, who))
