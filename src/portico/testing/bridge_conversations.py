"""Projects, conversations and messages in memory, with their visibility."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from portico.bridge.core.conversations import (
    Conversation,
    ConversationId,
    Participant,
    Unread,
    UnreadTotal,
)
from portico.bridge.core.errors import (
    Archived,
    ConversationNotFound,
    MessageNotFound,
    NotTakingPart,
    NotTheirs,
    ProjectNameTaken,
    ProjectNotFound,
    WriteDown,
)
from portico.bridge.core.messages import (
    Acknowledged,
    Message,
    MessageId,
    MessageVersion,
    NewMessage,
    label_of,
)
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.ports import Entered, MessageRange, Placed, Stamp
from portico.bridge.search import Hit, Meaning
from portico.engine.core.errors import KeyReused
from portico.guard.core.access_request import TaintContext
from portico.guard.core.contexts import context_of
from portico.guard.core.errors import ContextNotFound, PrincipalNotFound
from portico.kernel.clock import Clock
from portico.kernel.ids import PrincipalId
from portico.kernel.label import PUBLIC, Label, join, meet
from portico.kernel.principal import Principal
from portico.testing.memory_store import (
    InMemoryStore,
    KnownConversation,
    RowRefused,
    SentMessage,
    TakesPart,
    TickingClock,
)


def visible(caller: Principal, max_label: Label | None = None) -> Label:
    """The most secret that they may see, or want to."""
    return caller.clearance if max_label is None else meet(caller.clearance, max_label)


def check_label(world: InMemoryStore, caller: Principal, label: Label) -> None:
    """As the database does by itself. Raises `WriteDown`, `RowRefused`."""
    if not caller.clearance.covers(label):
        raise RowRefused(f"{label} is above the clearance of {caller.name!r}.")
    read = mark(world, caller)
    if not label.covers(read):
        raise WriteDown(label, read)


def task_of(world: InMemoryStore, caller: Principal) -> TaintContext:
    """Raises `ContextNotFound`."""
    context = context_of(caller)
    known = world.contexts.get((caller.space, context))
    if known is None and caller.context is None:
        return TaintContext(id=context)
    if known is None or known.closed_at is not None or known.principal != caller.id:
        raise ContextNotFound(str(caller.context))
    return TaintContext(id=context, label=known.label, untrusted=known.untrusted)


def mark(world: InMemoryStore, caller: Principal) -> Label:
    """What their task has read."""
    known = world.contexts.get((caller.space, context_of(caller)))
    return PUBLIC if known is None else known.label


def project_there(world: InMemoryStore, caller: Principal, project: ProjectId) -> Project:
    """Raises `ProjectNotFound`."""
    known = world.projects.get((caller.space, project))
    if known is None or not caller.clearance.covers(known.label):
        raise ProjectNotFound(str(project))
    return known


def takes_part(world: InMemoryStore, caller: Principal, conversation: ConversationId) -> bool:
    return (caller.space, conversation, caller.id) in world.participants


def sees_conversation(world: InMemoryStore, caller: Principal, known: KnownConversation) -> bool:
    its = known.conversation
    return caller.clearance.covers(its.label) and (
        not its.closed or takes_part(world, caller, its.id)
    )


def there(
    world: InMemoryStore, caller: Principal, conversation: ConversationId
) -> KnownConversation:
    """Raises `ConversationNotFound`."""
    known = world.conversations.get((caller.space, conversation))
    if known is None or not sees_conversation(world, caller, known):
        raise ConversationNotFound(str(conversation))
    return known


def sees(
    world: InMemoryStore, caller: Principal, said: SentMessage, max_label: Label | None = None
) -> bool:
    """A message: for whoever may see it and the conversation that it is in."""
    known = world.conversations[caller.space, said.message.conversation]
    return visible(caller, max_label).covers(said.message.label) and sees_conversation(
        world, caller, known
    )


class MemoryProjects:
    def __init__(self, world: InMemoryStore) -> None:
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
    def __init__(self, world: InMemoryStore, clock: Clock | None = None) -> None:
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
    def __init__(self, world: InMemoryStore) -> None:
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


class MemoryMessages:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def send(self, caller: Principal, message: NewMessage, stamp: Stamp) -> Entered:
        known = there(self._world, caller, message.conversation)
        task = task_of(self._world, caller)
        inside = known.conversation.label
        before = self._with_key(caller, message)
        if before is not None:
            return _entered(before, inside)
        label = label_of(
            stamp.label, inside=inside, mark=task.label, clearance=caller.clearance
        ).label
        answered = self._answered(caller, message)
        if answered is not None and not label.covers(answered.label):
            raise WriteDown(label, answered.label)
        project = self._world.projects[caller.space, known.conversation.project]
        if known.conversation.archived_at or project.archived_at:
            raise Archived(str(message.conversation))
        said = SentMessage(
            Message(
                id=stamp.id,
                conversation=message.conversation,
                sender=caller.id,
                sender_name=caller.name,
                body=message.body,
                label=label,
                reply_to=message.reply_to,
                thread=None if answered is None else answered.thread or answered.id,
                mentions=(*message.mentions, *stamp.named),
                addressed=message.addressed,
                attachments=message.attachments,
                acknowledge=message.acknowledge,
                untrusted=stamp.untrusted or task.untrusted,
                sent_at=stamp.at,
            ),
            known.last + 1,
            message,
        )
        self._world.messages.insert((caller.space, stamp.id), said)
        self._world.message_places[caller.space, message.conversation, said.position] = stamp.id
        self._world.conversations[caller.space, message.conversation] = replace(
            known, last=said.position, newest={**known.newest, label: stamp.at}
        )
        self._read_own(caller, said)
        return _entered(said, inside)

    async def end(self, caller: Principal, conversation: ConversationId) -> int:
        return there(self._world, caller, conversation).last

    async def get(self, caller: Principal, message: MessageId) -> Placed:
        return _placed(self._there(caller, message))

    async def after(
        self,
        caller: Principal,
        conversation: ConversationId,
        *,
        after: int,
        limit: int,
        max_label: Label | None = None,
        thread: MessageId | None = None,
    ) -> MessageRange:
        known = there(self._world, caller, conversation)
        last = known.last
        found = [
            said
            for said in self._at(caller, conversation, range(after + 1, last + 1))
            if sees(self._world, caller, said, max_label) and thread in (None, said.message.thread)
        ]
        more = len(found) > limit
        shown = found[:limit]
        end = (shown[-1].position if shown else after) if more else max(after, last)
        return MessageRange(
            found=[_placed(said) for said in shown],
            inside=known.conversation.label,
            end=end,
            more=more,
        )

    async def before(
        self,
        caller: Principal,
        conversation: ConversationId,
        *,
        before: int | None,
        limit: int,
        max_label: Label | None = None,
    ) -> MessageRange:
        known = there(self._world, caller, conversation)
        last = known.last
        places = range(1, last + 1 if before is None else min(before, last + 1))
        found = [
            said
            for said in self._at(caller, conversation, places)
            if sees(self._world, caller, said, max_label)
        ]
        shown = found[max(len(found) - limit, 0) :]
        return MessageRange(
            found=[_placed(said) for said in shown],
            inside=known.conversation.label,
            end=shown[0].position if shown else 0,
            more=len(found) > len(shown),
        )

    async def edit(self, caller: Principal, message: Message, at: datetime) -> None:
        was = self._there(caller, message.id)
        if was.message.sender != caller.id:
            raise NotTheirs(str(message.id))
        if was.message.deleted_at is not None:
            raise MessageNotFound(str(message.id))
        if not message.label.covers(was.message.label):
            raise WriteDown(message.label, was.message.label)
        check_label(self._world, caller, message.label)
        changed = replace(
            was.message,
            body=message.body,
            label=message.label,
            untrusted=was.message.untrusted or message.untrusted,
            edited_at=at,
        )
        self._change(caller, was, changed, at)
        if message.label != was.message.label:
            self._rise(caller, changed, at)

    async def delete(
        self, caller: Principal, message: MessageId, at: datetime, *, others: bool = False
    ) -> None:
        was = self._there(caller, message)
        if was.message.sender != caller.id and not others:
            raise NotTheirs(str(message))
        if was.message.deleted_at is not None:
            return
        check_label(self._world, caller, was.message.label)
        gone = replace(was.message, body="", attachments=(), deleted_at=at)
        self._change(caller, was, gone, at)

    async def versions(self, caller: Principal, message: MessageId) -> Sequence[MessageVersion]:
        self._there(caller, message)
        every = [
            version
            for (space, id_, _), version in self._world.message_versions.items()
            if (space, id_) == (caller.space, message) and caller.clearance.covers(version.label)
        ]
        return sorted(every, key=lambda version: version.number)

    async def acknowledge(self, caller: Principal, message: MessageId, at: datetime) -> None:
        said = self._there(caller, message)
        check_label(self._world, caller, said.message.label)
        self._world.message_acks.setdefault((caller.space, message, caller.id), at)

    async def acknowledged(self, caller: Principal, message: MessageId) -> Sequence[Acknowledged]:
        self._there(caller, message)
        every = [
            Acknowledged(by=by, at=at)
            for (space, id_, by), at in self._world.message_acks.items()
            if (space, id_) == (caller.space, message)
        ]
        return sorted(every, key=lambda its: (its.at, its.by.value))

    async def overdue(self, caller: Principal, now: datetime, limit: int) -> Sequence[Placed]:
        late = [
            said
            for (space, _), said in self._world.messages.items()
            if space == caller.space
            and _late(said.message, now)
            and sees(self._world, caller, said)
            and self._concerns(caller, said.message)
        ]
        late.sort(key=lambda said: (said.message.sent_at, said.message.id.value))
        return [_placed(said) for said in late[:limit]]

    def _answered(self, caller: Principal, message: NewMessage) -> Message | None:
        if message.reply_to is None:
            return None
        said = self._there(caller, message.reply_to)
        if said.message.conversation != message.conversation:
            raise MessageNotFound(str(message.reply_to))
        return said.message

    def _with_key(self, caller: Principal, message: NewMessage) -> SentMessage | None:
        if message.key is None:
            return None
        before = [
            said
            for (space, _), said in self._world.messages.items()
            if (space, said.message.sender) == (caller.space, caller.id)
            and said.asked.key == message.key
            and sees(self._world, caller, said)
        ]
        alike = next((said for said in before if said.asked == message), None)
        if before and alike is None:
            raise KeyReused(message.key, before[0].message.label)
        return alike

    def _there(self, caller: Principal, message: MessageId) -> SentMessage:
        said = self._world.messages.get((caller.space, message))
        if said is None or not sees(self._world, caller, said):
            raise MessageNotFound(str(message))
        return said

    def _at(
        self, caller: Principal, conversation: ConversationId, places: range
    ) -> list[SentMessage]:
        ids = (self._world.message_places.get((caller.space, conversation, at)) for at in places)
        return [self._world.messages[caller.space, id_] for id_ in ids if id_ is not None]

    def _read_own(self, caller: Principal, said: SentMessage) -> None:
        place = (caller.space, said.message.conversation, caller.id)
        if not takes_part(self._world, caller, said.message.conversation):
            inside = self._world.conversations[caller.space, said.message.conversation]
            if inside.conversation.label == said.message.label:
                self._world.participants[place] = TakesPart(said.message.sent_at, said.position)
            return
        part = self._world.participants[place]
        if part.read_to == said.position - 1:
            self._world.participants[place] = replace(part, read_to=said.position)
        else:
            self._world.participants[place] = replace(part, apart=part.apart | {said.position})

    def _change(self, caller: Principal, was: SentMessage, changed: Message, at: datetime) -> None:
        numbers = [
            number
            for space, id_, number in self._world.message_versions
            if (space, id_) == (caller.space, changed.id)
        ]
        version = MessageVersion(
            number=max(numbers, default=0) + 1,
            body=was.message.body,
            label=was.message.label,
            by=caller.id,
            at=at,
        )
        self._world.message_versions[caller.space, changed.id, version.number] = version
        self._world.messages[caller.space, changed.id] = replace(was, message=changed)

    def _rise(self, caller: Principal, changed: Message, at: datetime) -> None:
        place = (caller.space, changed.conversation)
        known = self._world.conversations[place]
        newest = max(at, known.newest.get(changed.label, at))
        self._world.conversations[place] = replace(
            known, newest={**known.newest, changed.label: newest}
        )

    def _concerns(self, caller: Principal, message: Message) -> bool:
        owing = [
            who
            for who in message.addressed
            if (caller.space, message.id, who) not in self._world.message_acks
        ]
        return caller.id in owing or (message.sender == caller.id and bool(owing))


def _entered(said: SentMessage, inside: Label) -> Entered:
    return Entered(message=said.message, position=said.position, inside=inside)


def _placed(said: SentMessage) -> Placed:
    return Placed(message=said.message, position=said.position)


def _late(message: Message, now: datetime) -> bool:
    wanted = message.acknowledge
    return (
        message.deleted_at is None
        and wanted is not None
        and wanted.until is not None
        and wanted.until < now
    )


class MemoryReadState:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def read_to(
        self,
        caller: Principal,
        conversation: ConversationId,
        place: int,
        *,
        max_label: Label | None = None,
    ) -> None:
        known = self._world.conversations.get((caller.space, conversation))
        part = self._world.participants.get((caller.space, conversation, caller.id))
        if known is None or part is None or not caller.clearance.covers(known.conversation.label):
            return
        place = min(place, known.last)
        if max_label is None:
            read_to = max(part.read_to, place)
            apart = frozenset(at for at in part.apart if at > read_to)
            changed = replace(part, read_to=read_to, apart=apart)
        else:
            seen = {
                said.position
                for said in self._of(caller, conversation)
                if said.position <= place and sees(self._world, caller, said, max_label)
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
            if said.position > part.read_to:
                self._world.participants[place] = replace(part, apart=part.apart | {said.position})

    async def unread(
        self,
        caller: Principal,
        *,
        max_label: Label | None = None,
        conversations: Collection[ConversationId] | None = None,
    ) -> Sequence[Unread]:
        counted = [
            self._unread(caller, conversation, part, max_label)
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
        self,
        caller: Principal,
        conversation: ConversationId,
        part: TakesPart,
        max_label: Label | None,
    ) -> Unread | None:
        known = self._world.conversations[caller.space, conversation]
        if known.conversation.archived_at or not sees_conversation(self._world, caller, known):
            return None
        found = [
            said.message
            for said in self._of(caller, conversation)
            if said.position > part.read_to
            and said.position not in part.apart
            and said.message.deleted_at is None
            and sees(self._world, caller, said, max_label)
        ]
        if not found:
            return None
        return Unread(
            conversation=conversation,
            count=len(found),
            mentions=sum(caller.id in (*its.mentions, *its.addressed) for its in found),
            label=join([its.label for its in found]),
        )

    def _of(self, caller: Principal, conversation: ConversationId) -> list[SentMessage]:
        return [
            said
            for (space, _), said in self._world.messages.items()
            if (space, said.message.conversation) == (caller.space, conversation)
        ]


class MemoryMessageSearch:
    def __init__(self, world: InMemoryStore, meaning: Meaning | None = None) -> None:
        self._world = world
        self._meaning = meaning

    async def by_words(
        self,
        caller: Principal,
        words: str,
        *,
        project: ProjectId | None,
        conversation: ConversationId | None,
        max_label: Label | None,
        limit: int,
    ) -> Sequence[Hit]:
        wanted = _words(words)
        found = [
            message
            for message in self._visible(caller, project, conversation, max_label)
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
        max_label: Label | None,
        limit: int,
    ) -> Sequence[Hit]:
        if self._meaning is None:
            return []
        found = self._visible(caller, project, conversation, max_label)
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
        max_label: Label | None,
    ) -> list[Message]:
        return [
            said.message
            for (space, _), said in self._world.messages.items()
            if space == caller.space
            and said.message.deleted_at is None
            and sees(self._world, caller, said, max_label)
            and conversation in (None, said.message.conversation)
            and project in (None, self._project(caller, said.message))
        ]

    def _project(self, caller: Principal, message: Message) -> ProjectId:
        return self._world.conversations[caller.space, message.conversation].conversation.project


def _words(text: str) -> frozenset[str]:
    spaced = "".join(letter if letter.isalnum() else " " for letter in text.lower())
    return frozenset(spaced.split())
