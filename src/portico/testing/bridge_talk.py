"""Projects and conversations in memory, and those who take part in them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from portico.bridge.core.conversations import Conversation, ConversationId, Participant
from portico.bridge.core.errors import NotTakingPart, ProjectNameTaken, ProjectNotFound
from portico.bridge.core.projects import Project, ProjectId
from portico.guard.core.errors import PrincipalNotFound
from portico.kernel.clock import Clock
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal
from portico.testing.bridge_walls import check_label, sees_conversation, takes_part, there
from portico.testing.kernel import TickingClock
from portico.testing.world import KnownConversation, MemoryWorld, RowRefused, TakesPart


class MemoryProjects:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def add(self, caller: Principal, project: Project) -> None:
        if caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        check_label(self._world, caller, project.label)
        self._free(caller, project)
        self._world.projects.insert((caller.space, project.id), project)

    async def get(self, caller: Principal, which: str) -> Project:
        named = [its for its in self._visible(caller) if which in (str(its.id), its.name)]
        if not named:
            raise ProjectNotFound(which)
        return max(
            named,
            key=lambda its: (str(its.id) == which, its.label.level, str(its.label), its.id.value),
        )

    async def put(self, caller: Principal, project: Project) -> None:
        was = await self.get(caller, str(project.id))
        changed = replace(
            was,
            name=project.name,
            description=project.description,
            archived_at=project.archived_at,
        )
        self._free(caller, changed)
        self._world.projects[caller.space, was.id] = changed

    async def page(
        self, caller: Principal, *, archived: bool, after: str | None, limit: int
    ) -> Sequence[Project]:
        every = sorted(self._visible(caller), key=lambda its: (its.active_at, its.id.value))
        every.reverse()
        past = _past([str(its.id) for its in every], after)
        return [its for its in every[past:] if (its.archived_at is not None) == archived][:limit]

    def _visible(self, caller: Principal) -> list[Project]:
        return [
            replace(project, active_at=self._active(caller, project))
            for (space, _), project in self._world.projects.items()
            if space == caller.space and caller.clearance.covers(project.label)
        ]

    def _active(self, caller: Principal, project: Project) -> datetime:
        inside = [
            last_said(caller, known)
            for (space, _), known in self._world.conversations.items()
            if space == caller.space
            and known.conversation.project == project.id
            and sees_conversation(self._world, caller, known)
        ]
        return max([project.made_at, *inside])

    def _free(self, caller: Principal, project: Project) -> None:
        for (space, id_), other in self._world.projects.items():
            same = (other.name, other.label) == (project.name, project.label)
            if same and space == caller.space and id_ != project.id:
                raise ProjectNameTaken(project.name, project.label)


class MemoryConversations:
    def __init__(self, world: MemoryWorld, clock: Clock | None = None) -> None:
        self._world = world
        self._clock = clock or TickingClock()

    async def add(self, caller: Principal, conversation: Conversation) -> None:
        project = self._world.projects.get((caller.space, conversation.project))
        if project is None or not caller.clearance.covers(project.label):
            raise ProjectNotFound(str(conversation.project))
        check_label(self._world, caller, conversation.label)
        self._world.conversations.insert(
            (caller.space, conversation.id), KnownConversation(conversation, 0, {})
        )
        self._add(caller, conversation.id, caller.id)

    async def get(self, caller: Principal, conversation: ConversationId) -> Conversation:
        return _told(caller, there(self._world, caller, conversation))

    async def put(self, caller: Principal, conversation: Conversation) -> None:
        known = there(self._world, caller, conversation.id)
        changed = replace(
            known.conversation, title=conversation.title, archived_at=conversation.archived_at
        )
        self._world.conversations[caller.space, conversation.id] = replace(
            known, conversation=changed
        )

    async def page(
        self,
        caller: Principal,
        project: ProjectId | None,
        *,
        archived: bool,
        after: str | None,
        limit: int,
    ) -> Sequence[Conversation]:
        every = self._visible(caller)
        past = _past([str(its.id) for its in every], after)
        return [
            its
            for its in every[past:]
            if (its.archived_at is not None) == archived and project in (None, its.project)
        ][:limit]

    async def some(
        self, caller: Principal, conversations: Collection[ConversationId]
    ) -> Sequence[Conversation]:
        return [its for its in self._visible(caller) if its.id in conversations]

    async def participants(
        self, caller: Principal, conversation: ConversationId
    ) -> Sequence[Participant]:
        there(self._world, caller, conversation)
        every = [
            Participant(
                principal=who,
                name=self._world.identities[space, who].name,
                joined_at=part.joined_at,
                muted=part.muted and who == caller.id,
            )
            for (space, id_, who), part in self._world.participants.items()
            if (space, id_) == (caller.space, conversation)
        ]
        return sorted(every, key=lambda its: (its.joined_at, its.principal.value))

    async def join(self, caller: Principal, conversation: ConversationId, who: PrincipalId) -> None:
        there(self._world, caller, conversation)
        if (caller.space, who) not in self._world.identities:
            raise PrincipalNotFound(str(who))
        self._add(caller, conversation, who)

    async def leave(
        self, caller: Principal, conversation: ConversationId, who: PrincipalId
    ) -> None:
        there(self._world, caller, conversation)
        if (caller.space, conversation, who) not in self._world.participants:
            raise NotTakingPart(str(conversation))
        del self._world.participants[caller.space, conversation, who]

    async def mute(self, caller: Principal, conversation: ConversationId, *, muted: bool) -> None:
        there(self._world, caller, conversation)
        if not takes_part(self._world, caller, conversation):
            raise NotTakingPart(str(conversation))
        place = (caller.space, conversation, caller.id)
        part = self._world.participants[place]
        self._world.participants[place] = replace(part, muted=muted)

    def _visible(self, caller: Principal) -> list[Conversation]:
        every = [
            _told(caller, known)
            for (space, _), known in self._world.conversations.items()
            if space == caller.space and sees_conversation(self._world, caller, known)
        ]
        return sorted(every, key=lambda its: (its.active_at, its.id.value), reverse=True)

    def _add(self, caller: Principal, conversation: ConversationId, who: PrincipalId) -> None:
        place = (caller.space, conversation, who)
        if place not in self._world.participants:
            last = self._world.conversations[caller.space, conversation].last
            self._world.participants[place] = TakesPart(self._clock.now(), last)


class MemoryPeople:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def named(self, caller: Principal, names: Collection[str]) -> Mapping[str, PrincipalId]:
        return {
            identity.name: id_
            for (space, id_), identity in self._world.identities.items()
            if space == caller.space and identity.name in names and identity.known_to(caller)
        }


def last_said(caller: Principal, known: KnownConversation) -> datetime:
    """Of what the caller may see."""
    seen = [at for label, at in known.newest.items() if caller.clearance.covers(label)]
    return max([known.conversation.made_at, *seen])


def _told(caller: Principal, known: KnownConversation) -> Conversation:
    return replace(known.conversation, active_at=last_said(caller, known))


def _past(ids: Sequence[str], after: str | None) -> int:
    if after is None:
        return 0
    return ids.index(after) + 1 if after in ids else len(ids)
