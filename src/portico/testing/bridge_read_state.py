"""How far everybody has read, and what can be found, in memory: by looking at each message."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from portico.bridge.core.conversations import ConversationId, Unread, UnreadTotal
from portico.bridge.core.messages import Message, MessageId
from portico.bridge.core.projects import ProjectId
from portico.bridge.search import Hit, Meaning
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal
from portico.testing.bridge_walls import sees, sees_conversation, takes_part
from portico.testing.world import MemoryWorld, Said, TakesPart


class MemoryReadState:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def read_to(
        self,
        caller: Principal,
        conversation: ConversationId,
        place: int,
        *,
        upto: Label | None = None,
    ) -> None:
        known = self._world.conversations.get((caller.space, conversation))
        part = self._world.participants.get((caller.space, conversation, caller.id))
        if known is None or part is None or not caller.clearance.covers(known.conversation.label):
            return
        place = min(place, known.last)
        if upto is None:
            read_to = max(part.read_to, place)
            apart = frozenset(at for at in part.apart if at > read_to)
            changed = replace(part, read_to=read_to, apart=apart)
        else:
            seen = {
                said.place
                for said in self._of(caller, conversation)
                if said.place <= place and sees(self._world, caller, said, upto)
            }
            changed = replace(part, apart=part.apart | {at for at in seen if at > part.read_to})
        self._world.participants[caller.space, conversation, caller.id] = changed

    async def read_one(self, caller: Principal, message: MessageId) -> None:
        said = self._world.messages.get((caller.space, message))
        if said is None or not sees(self._world, caller, said):
            return
        if takes_part(self._world, caller, said.message.conversation):
            place = (caller.space, said.message.conversation, caller.id)
            part = self._world.participants[place]
            if said.place > part.read_to:
                self._world.participants[place] = replace(part, apart=part.apart | {said.place})

    async def unread(
        self,
        caller: Principal,
        *,
        upto: Label | None = None,
        conversations: Collection[ConversationId] | None = None,
    ) -> Sequence[Unread]:
        counted = [
            self._unread(caller, conversation, part, upto)
            for (space, conversation, who), part in self._world.participants.items()
            if (space, who) == (caller.space, caller.id)
            and not part.muted
            and (conversations is None or conversation in conversations)
        ]
        return [unread for unread in counted if unread is not None]

    async def total(self, caller: Principal) -> UnreadTotal:
        counted = await self.unread(caller)
        return UnreadTotal(
            count=sum(each.count for each in counted),
            mentions=sum(each.mentions for each in counted),
            label=join([each.label for each in counted]),
        )

    def _unread(
        self, caller: Principal, conversation: ConversationId, part: TakesPart, upto: Label | None
    ) -> Unread | None:
        known = self._world.conversations[caller.space, conversation]
        if known.conversation.archived_at or not sees_conversation(self._world, caller, known):
            return None
        found = [
            said.message
            for said in self._of(caller, conversation)
            if said.place > part.read_to
            and said.place not in part.apart
            and said.message.deleted_at is None
            and sees(self._world, caller, said, upto)
        ]
        if not found:
            return None
        return Unread(
            conversation=conversation,
            count=len(found),
            mentions=sum(caller.id in (*its.mentions, *its.addressed) for its in found),
            label=join([its.label for its in found]),
        )

    def _of(self, caller: Principal, conversation: ConversationId) -> list[Said]:
        return [
            said
            for (space, _), said in self._world.messages.items()
            if (space, said.message.conversation) == (caller.space, conversation)
        ]


class MemoryMessageSearch:
    def __init__(self, world: MemoryWorld, meaning: Meaning | None = None) -> None:
        self._world = world
        self._meaning = meaning

    async def by_words(
        self,
        caller: Principal,
        words: str,
        *,
        project: ProjectId | None,
        conversation: ConversationId | None,
        upto: Label | None,
        limit: int,
    ) -> Sequence[Hit]:
        wanted = _words(words)
        found = [
            message
            for message in self._visible(caller, project, conversation, upto)
            if wanted and wanted <= _words(message.body)
        ]
        found.sort(key=lambda message: (message.sent_at, message.id.value), reverse=True)
        return [
            Hit(message=message, score=1 / (place + 1))
            for place, message in enumerate(found[:limit])
        ]

    async def by_meaning(
        self,
        caller: Principal,
        vector: Sequence[float],
        *,
        project: ProjectId | None,
        conversation: ConversationId | None,
        upto: Label | None,
        limit: int,
    ) -> Sequence[Hit]:
        if self._meaning is None:
            return []
        found = self._visible(caller, project, conversation, upto)
        vectors = await self._meaning([message.body for message in found])
        hits = [
            Hit(message=message, score=sum(a * b for a, b in zip(vector, its, strict=True)))
            for message, its in zip(found, vectors, strict=True)
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.message.id.value))
        return hits[:limit]

    def _visible(
        self,
        caller: Principal,
        project: ProjectId | None,
        conversation: ConversationId | None,
        upto: Label | None,
    ) -> list[Message]:
        return [
            said.message
            for (space, _), said in self._world.messages.items()
            if space == caller.space
            and said.message.deleted_at is None
            and sees(self._world, caller, said, upto)
            and conversation in (None, said.message.conversation)
            and project in (None, self._project(caller, said.message))
        ]

    def _project(self, caller: Principal, message: Message) -> ProjectId:
        return self._world.conversations[caller.space, message.conversation].conversation.project


def _words(text: str) -> frozenset[str]:
    spaced = "".join(letter if letter.isalnum() else " " for letter in text.lower())
    return frozenset(spaced.split())
