"""Export a project."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import ConversationNotFound
from portico.bridge.core.export import (
    conversation_line,
    memory_line,
    message_line,
    project_line,
    work_line,
)
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.core.work_items import WorkItemId
from portico.bridge.ports import Conversations, Memory, Messages, Projects, Works
from portico.bridge.taint import TaintRecorder, taking_out
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit
from portico.guard.principals import require_scope
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

# Take out what is in a project: all that the caller may see, and nothing else.
#
# It is read page by page, and their task has read each page before they are given it. What is said
# while it goes on may be in it or not.

Lines = AsyncGenerator[JsonObject, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportProject:
    projects: Projects
    conversations: Conversations
    messages: Messages
    memory: Memory
    works: Works
    taint: TaintRecorder
    as_they_are: RevalidatePrincipal
    audit: Audit
    at_once: int = 200
    """Of one kind, on a page."""

    async def __call__(self, caller: Principal, project: ProjectId) -> Lines:
        """Raises `NotPermitted`, `ProjectNotFound`; and while it goes on `KeyEnded` or
        `NotPermitted`, if they may not read it any more."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller = taking_out(caller, project)
        found = await self.projects.get(caller, str(project))
        await self.taint.read(caller, [found.label])
        await self.audit.note(
            caller, AuditEntry(action="bridge.exported", subject=str(project), details={})
        )
        return self._lines(caller, found)

    async def _lines(self, caller: Principal, project: Project) -> Lines:
        yield project_line(project)
        parts = (
            self._talk(caller, project.id),
            self._memory(caller, project.id),
            self._work(caller, project.id),
        )
        for part in parts:
            async with aclosing(part) as lines:
                async for line in lines:
                    yield line

    async def _talk(self, caller: Principal, project: ProjectId) -> Lines:
        seen: set[ConversationId] = set()
        for archived in (False, True):
            while fresh := await self._conversations(caller, project, seen, archived=archived):
                for conversation in fresh:
                    async with aclosing(self._conversation(caller, conversation)) as lines:
                        async for line in lines:
                            yield line

    async def _conversations(
        self, caller: Principal, project: ProjectId, seen: set[ConversationId], *, archived: bool
    ) -> Sequence[ConversationId]:
        """All that were not seen yet. They are listed by their last news, and so change places
        while this goes on: it is looked until there is no other."""
        now, after, fresh = await self._now(caller), None, dict[ConversationId, None]()
        while True:
            page = await self.conversations.page(
                now, project, archived=archived, after=after, limit=self.at_once
            )
            await self.taint.read(now, [each.label for each in page])
            fresh.update((each.id, None) for each in page if each.id not in seen)
            if len(page) < self.at_once:
                break
            after = str(page[-1].id)
        seen.update(fresh)
        return [*fresh]

    async def _conversation(self, caller: Principal, which: ConversationId) -> Lines:
        try:
            now = await self._now(caller)
            conversation = await self.conversations.get(now, which)
        except ConversationNotFound:  # they may not see it any more
            return
        await self.taint.read(now, [conversation.label])
        yield conversation_line(conversation)
        place, more = 0, True
        while more:
            now = await self._now(caller)
            try:
                page = await self.messages.after(
                    now, conversation.id, after=place, limit=self.at_once
                )
            except ConversationNotFound:  # they may not see it any more
                return
            place, more = page.end, page.more
            messages = [placed.message for placed in page.found]
            await self.taint.read_messages(now, messages, inside=[page.inside])
            for message in messages:
                yield message_line(message)

    async def _memory(self, caller: Principal, project: ProjectId) -> Lines:
        """Of each key what they would be given if they asked for it."""
        after: str | None = None
        while True:
            now = await self._now(caller)
            page = await self.memory.page(now, project, prefix="", after=after, limit=self.at_once)
            await self.taint.read(
                now, [each.label for each in page], untrusted=any(each.untrusted for each in page)
            )
            for each in page:
                yield memory_line(each)
            if len(page) < self.at_once:
                return
            after = page[-1].key

    async def _work(self, caller: Principal, project: ProjectId) -> Lines:
        after: WorkItemId | None = None
        while True:
            now = await self._now(caller)
            page = await self.works.page(now, project, state=None, after=after, limit=self.at_once)
            await self.taint.read(
                now, [each.label for each in page], untrusted=any(each.untrusted for each in page)
            )
            for each in page:
                yield work_line(each)
            if len(page) < self.at_once:
                return
            after = page[-1].id

    async def _now(self, caller: Principal) -> Principal:
        """Who takes long to read is who they are by now. Raises `KeyEnded`, `NotPermitted`."""
        now = await self.as_they_are.no_more(caller, key=caller.key, at=caller.context)
        require_scope(now, Scope.BRIDGE_READ)
        return replace(now, place=caller.place)
