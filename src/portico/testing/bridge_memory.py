"""Memory, leases, work items and declassified copies in memory."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from portico.bridge.core.attachments import Attachment, Digest
from portico.bridge.core.declassification import Declassification, Lowered, pin_of
from portico.bridge.core.errors import (
    AttachmentNotFound,
    LeaseHeld,
    LeaseLost,
    MemoryNotFound,
    MessageNotFound,
    NotApproved,
    WorkNotFound,
)
from portico.bridge.core.leases import (
    WAITS_FOR,
    Lease,
    LeaseId,
    LeaseSpec,
    Waiting,
    check_alike,
    check_free,
    check_number,
    holds,
)
from portico.bridge.core.memory import MemoryEntry, ToRemember, next_version
from portico.bridge.core.messages import Message, MessageId, NewMessage, secrecy
from portico.bridge.core.presence import Presence, PresenceStatus
from portico.bridge.core.projects import ProjectId
from portico.bridge.core.work_items import (
    NewWorkItem,
    WorkEnded,
    WorkItem,
    WorkItemId,
    WorkItemStatus,
    asked_alike,
    claimed,
    handed_over,
    over,
)
from portico.bridge.ports import Stamp
from portico.engine.core.errors import KeyReused
from portico.guard.core.access_request import Action
from portico.guard.core.approvals import Approval, Status
from portico.guard.core.errors import PrincipalNotFound
from portico.kernel.clock import Clock
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonValue, kept
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.bridge_conversations import MemoryMessages, check_label, project_there
from portico.testing.memory_store import (
    InMemoryStore,
    KnownWork,
    RowRefused,
    TickingClock,
    all_or_nothing,
)


class MemoryMemory:
    def __init__(self, world: InMemoryStore, clock: Clock | None = None) -> None:
        self._world = world
        self._clock = clock or TickingClock()

    async def put(
        self,
        caller: Principal,
        wanted: ToRemember,
        label: Label,
        at: datetime,
        *,
        untrusted: bool = False,
    ) -> MemoryEntry:
        project_there(self._world, caller, wanted.project)
        check_label(self._world, caller, label)
        last = self._last(caller, wanted.project, wanted.key, label)
        return self._add(
            caller,
            MemoryEntry(
                project=wanted.project,
                key=wanted.key,
                value=kept(wanted.value),
                label=label,
                version=next_version(wanted, last, at),
                expires_at=wanted.expires_at,
                untrusted=untrusted,
                by=caller.id,
                at=at,
            ),
        )

    async def get(self, caller: Principal, project: ProjectId, key: str) -> MemoryEntry:
        found = [its for its in self._there(caller, project) if its.key == key]
        if not found:
            raise MemoryNotFound(key)
        return max(found, key=lambda its: secrecy(its.label))

    async def forget(
        self, caller: Principal, project: ProjectId, key: str, label: Label, at: datetime
    ) -> None:
        last = self._last(caller, project, key, label)
        if last is None or not last.there(at) or not caller.clearance.covers(label):
            raise MemoryNotFound(key)
        check_label(self._world, caller, label)
        gone = replace(last, value=None, version=last.version + 1, forgotten=True, expires_at=None)
        self._add(caller, replace(gone, untrusted=False, by=caller.id, at=at))

    async def page(
        self, caller: Principal, project: ProjectId, *, prefix: str, after: str | None, limit: int
    ) -> Sequence[MemoryEntry]:
        found = {
            its.key: its
            for its in sorted(self._there(caller, project), key=lambda its: secrecy(its.label))
            if its.key.startswith(prefix) and (after is None or its.key > after)
        }
        return [found[key] for key in sorted(found)][:limit]

    async def find(
        self, caller: Principal, project: ProjectId, words: str, limit: int
    ) -> Sequence[MemoryEntry]:
        wanted = _words(words)
        found = [
            its
            for its in self._there(caller, project)
            if wanted and wanted <= _words(its.key) | _words_of(its.value)
        ]
        found.sort(key=lambda its: (its.key, secrecy(its.label)))
        return sorted(found, key=lambda its: its.at, reverse=True)[:limit]

    async def versions(
        self, caller: Principal, project: ProjectId, key: str, limit: int
    ) -> Sequence[MemoryEntry]:
        every = [its for its in self._visible(caller, project) if its.key == key]
        every.sort(key=lambda its: (secrecy(its.label), its.version), reverse=True)
        return every[:limit]

    def _add(self, caller: Principal, its: MemoryEntry) -> MemoryEntry:
        place = (caller.space, its.project, its.key, its.label, its.version)
        self._world.memories.insert(place, its)
        return its

    def _visible(self, caller: Principal, project: ProjectId) -> Sequence[MemoryEntry]:
        return [
            its
            for (space, of, *_), its in self._world.memories.items()
            if (space, of) == (caller.space, project) and caller.clearance.covers(its.label)
        ]

    def _there(self, caller: Principal, project: ProjectId) -> Sequence[MemoryEntry]:
        now = self._clock.now()
        last: dict[tuple[str, Label], MemoryEntry] = {}
        for its in sorted(self._visible(caller, project), key=lambda its: its.version):
            last[its.key, its.label] = its
        return [its for its in last.values() if its.there(now)]

    def _last(
        self, caller: Principal, project: ProjectId, key: str, label: Label
    ) -> MemoryEntry | None:
        every = [
            its
            for place, its in self._world.memories.items()
            if place[:4] == (caller.space, project, key, label)
        ]
        return max(every, key=lambda its: its.version, default=None)


class MemoryAttachments:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def put(self, caller: Principal, attachment: Attachment, content: bytes) -> None:
        if caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        check_label(self._world, caller, attachment.label)
        place = (caller.space, attachment.digest, attachment.label)
        if place not in self._world.attachments:
            self._world.attachments[place] = attachment, content

    async def about(self, caller: Principal, digest: Digest) -> Attachment:
        return (await self.get(caller, digest))[0]

    async def get(self, caller: Principal, digest: Digest) -> tuple[Attachment, bytes]:
        found = [
            kept_
            for (space, of, label), kept_ in self._world.attachments.items()
            if (space, of) == (caller.space, digest) and caller.clearance.covers(label)
        ]
        if not found:
            raise AttachmentNotFound(str(digest))
        return min(found, key=lambda its: secrecy(its[0].label))


def _words_of(value: JsonValue) -> set[str]:
    if isinstance(value, str):
        return _words(value)
    if isinstance(value, Mapping):
        return _words(" ".join(value)).union(*map(_words_of, value.values()))
    if isinstance(value, Sequence):
        return set[str]().union(*map(_words_of, value))
    return set() if value is None else _words(json.dumps(value))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


class MemoryLeases:
    def __init__(self, world: InMemoryStore, clock: Clock | None = None) -> None:
        self._world = world
        self._clock = clock or TickingClock()

    async def take(self, caller: Principal, id_: LeaseId, wish: LeaseSpec) -> Lease:
        project = project_there(self._world, caller, wish.project)
        check_label(self._world, caller, project.label)
        held, queue = await self.all(caller, wish.project)
        for lease in held:
            if (lease.id, lease.holder) == (id_, caller.id):
                check_alike(wish, lease.resource)
                return lease
        waits = self._world.lease_queue.get((caller.space, wish.project, id_))
        if waits is not None and waits in queue and waits.principal == caller.id:
            check_alike(wish, waits.resource)
        check_number(wish, caller.id, held=held, queue=queue)
        try:
            check_free(wish, caller.id, held=held, queue=queue)
        except LeaseHeld:
            if wish.wait:
                self._wait(caller, id_, wish)
            raise
        self._stop_waiting(caller, wish)
        return self._give(caller, id_, wish)

    async def get(self, caller: Principal, lease: LeaseId) -> Lease:
        found = self._world.leases.get((caller.space, lease))
        if found is None or not found.held(self._clock.now()) or not self._sees(caller, found):
            raise LeaseLost(str(lease))
        return found

    async def renew(
        self, caller: Principal, lease: LeaseId, token: int, *, for_: timedelta
    ) -> Lease:
        found = await self._own(caller, lease, token)
        check_label(self._world, caller, self._world.projects[caller.space, found.project].label)
        renewed = replace(found, expires_at=self._clock.now() + for_)
        self._world.leases[caller.space, lease] = renewed
        return renewed

    async def release(self, caller: Principal, lease: LeaseId, token: int) -> None:
        found = await self._own(caller, lease, token)
        check_label(self._world, caller, self._world.projects[caller.space, found.project].label)
        del self._world.leases[caller.space, lease]

    async def check(
        self, caller: Principal, project: ProjectId, resource: str, token: int
    ) -> Lease:
        for lease in (await self.all(caller, project))[0]:
            if lease.token == token and holds(lease.resource, resource):
                return lease
        raise LeaseLost(resource)

    async def all(
        self, caller: Principal, project: ProjectId
    ) -> tuple[Sequence[Lease], Sequence[Waiting]]:
        project_there(self._world, caller, project)
        now = self._clock.now()
        held = [
            lease
            for (space, _), lease in self._world.leases.items()
            if (space, lease.project) == (caller.space, project) and lease.held(now)
        ]
        queue = [
            waiting
            for (space, of, _), waiting in self._world.lease_queue.items()
            if (space, of) == (caller.space, project) and now < waiting.until
        ]
        return sorted(held, key=lambda its: its.token), sorted(queue, key=lambda its: its.since)

    async def _own(self, caller: Principal, lease: LeaseId, token: int) -> Lease:
        found = await self.get(caller, lease)
        if (found.holder, found.token) != (caller.id, token):
            raise LeaseLost(found.resource)
        return found

    def _sees(self, caller: Principal, lease: Lease) -> bool:
        project = self._world.projects[caller.space, lease.project]
        return caller.clearance.covers(project.label)

    def _give(self, caller: Principal, id_: LeaseId, wish: LeaseSpec) -> Lease:
        token = self._world.lease_tokens.get((caller.space, wish.project), 0) + 1
        now = self._clock.now()
        lease = Lease(
            id=id_,
            project=wish.project,
            resource=wish.resource,
            holder=caller.id,
            holder_name=caller.name,
            token=token,
            taken_at=now,
            expires_at=now + wish.lasts,
            purpose=wish.purpose,
        )
        self._world.lease_tokens[caller.space, wish.project] = token
        self._world.leases[caller.space, id_] = lease
        return lease

    def _wait(self, caller: Principal, id_: LeaseId, wish: LeaseSpec) -> None:
        now = self._clock.now()
        for place, waiting in self._world.lease_queue.items():
            if _waits(caller, wish, place, waiting) and now < waiting.until:
                self._world.lease_queue[place] = replace(waiting, until=now + WAITS_FOR)
                return
        self._world.lease_queue[caller.space, wish.project, id_] = Waiting(
            principal=caller.id,
            name=caller.name,
            resource=wish.resource,
            since=now,
            until=now + WAITS_FOR,
        )

    def _stop_waiting(self, caller: Principal, wish: LeaseSpec) -> None:
        """Also of what has expired since."""
        self._world.lease_queue.drop(lambda place, waiting: _waits(caller, wish, place, waiting))


def _waits(
    caller: Principal,
    wish: LeaseSpec,
    place: tuple[SpaceId, ProjectId, LeaseId],
    waiting: Waiting,
) -> bool:
    return place[:2] == (caller.space, wish.project) and (
        (waiting.principal, waiting.resource) == (caller.id, wish.resource)
    )


class MemoryWorks:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def add(
        self,
        caller: Principal,
        id_: WorkItemId,
        work: NewWorkItem,
        label: Label,
        at: datetime,
        *,
        untrusted: bool = False,
    ) -> WorkItem:
        project_there(self._world, caller, work.project)
        if work.key is not None and (before := self._by_key(caller, work.key)):
            if not asked_alike(before, work):
                raise KeyReused(work.key, before.label)
            return before
        for needed in work.depends:
            if self._told(caller, needed).project != work.project:
                raise WorkNotFound(str(needed))
        check_label(self._world, caller, label)
        added = WorkItem(
            id=id_,
            project=work.project,
            title=work.title,
            body=work.body,
            label=label,
            depends=tuple(dict.fromkeys(work.depends)),
            untrusted=untrusted,
            made_by=caller.id,
            made_at=at,
            changed_at=at,
        )
        self._world.works.insert((caller.space, id_), KnownWork(added, work.key))
        return self._told(caller, id_)

    async def get(self, caller: Principal, work: WorkItemId) -> WorkItem:
        return self._told(caller, work)

    async def page(
        self,
        caller: Principal,
        project: ProjectId,
        *,
        state: WorkItemStatus | None,
        after: WorkItemId | None,
        limit: int,
    ) -> Sequence[WorkItem]:
        every = [
            self._told(caller, known.work.id)
            for known in self._visible(caller)
            if known.work.project == project and state in (None, known.work.state)
        ]
        every.sort(key=lambda its: its.id.value)
        return [its for its in every if after is None or its.id.value > after.value][:limit]

    async def claim(self, caller: Principal, work: WorkItemId, at: datetime) -> WorkItem:
        there = self._told(caller, work)
        return self._put(caller, claimed(there, caller.id, at))

    async def hand_over(
        self, caller: Principal, work: WorkItemId, token: int, to: PrincipalId | None, at: datetime
    ) -> WorkItem:
        there = self._told(caller, work)
        changed = handed_over(there, caller.id, token, to, at)
        if to is not None and (caller.space, to) not in self._world.identities:
            raise PrincipalNotFound(str(to))
        return self._put(caller, changed)

    async def end(
        self, caller: Principal, ended: WorkEnded, at: datetime, *, untrusted: bool = False
    ) -> WorkItem:
        there = self._told(caller, ended.work)
        return self._put(caller, over(there, ended, caller.id, at, untrusted=untrusted))

    def _put(self, caller: Principal, work: WorkItem) -> WorkItem:
        check_label(self._world, caller, work.label)
        known = self._world.works[caller.space, work.id]
        changed = replace(work, depends=known.work.depends)
        self._world.works[caller.space, work.id] = replace(known, work=changed)
        return self._told(caller, work.id)

    def _visible(self, caller: Principal) -> Sequence[KnownWork]:
        return [
            known
            for (space, _), known in self._world.works.items()
            if space == caller.space and caller.clearance.covers(known.work.label)
        ]

    def _told(self, caller: Principal, work: WorkItemId) -> WorkItem:
        """As the caller sees it. Raises `WorkNotFound`."""
        seen = {known.work.id: known.work for known in self._visible(caller)}
        if work not in seen:
            raise WorkNotFound(str(work))
        its = seen[work]
        by = (
            None if its.claimed_by is None else self._world.identities[caller.space, its.claimed_by]
        )
        return replace(
            its,
            depends=tuple(each for each in its.depends if each in seen),
            held_up=any(each not in seen or not seen[each].state.over for each in its.depends),
            claimed_by_name=None if by is None else by.name,
        )

    def _by_key(self, caller: Principal, key: str) -> WorkItem | None:
        mine = [
            known.work
            for known in self._visible(caller)
            if (known.work.made_by, known.key) == (caller.id, key)
        ]
        found = max(mine, key=lambda its: secrecy(its.label), default=None)
        return None if found is None else self._told(caller, found.id)


class MemoryPresences:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def say(
        self,
        caller: Principal,
        project: ProjectId,
        doing: PresenceStatus,
        note: str,
        until: datetime,
    ) -> None:
        check_label(self._world, caller, project_there(self._world, caller, project).label)
        self._world.presences[caller.space, project, caller.id] = Presence(
            principal=caller.id, name=caller.name, doing=doing, note=note, until=until
        )

    async def all(self, caller: Principal, project: ProjectId, now: datetime) -> Sequence[Presence]:
        project_there(self._world, caller, project)
        every = [
            presence
            for (space, of, _), presence in self._world.presences.items()
            if (space, of) == (caller.space, project) and now < presence.until
        ]
        return sorted(every, key=lambda its: its.name)


class MemoryDeclassifications:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world
        self._messages = MemoryMessages(world)

    async def add(self, caller: Principal, record: Declassification, copy: Lowered) -> None:
        """In a task that nobody is at: the one way past the mark."""
        source = await self._source(caller, record)
        kept = self._world.approvals.get((caller.space, record.approval))
        if kept is None or not self._yes(caller, kept.approval, source, record, copy):
            raise NotApproved(str(record.source))
        nowhere = replace(caller, context=None, place=f"approval {record.approval}")
        said = NewMessage(conversation=source.conversation, body=copy.text)
        stamp = Stamp(
            id=record.copy,
            label=record.after,
            at=record.at,
            untrusted=source.untrusted,
        )
        with all_or_nothing():
            await self._messages.send(nowhere, said, stamp)
            self._world.declassifications.insert((caller.space, record.approval), record)

    async def of(self, caller: Principal, message: MessageId) -> Sequence[Declassification]:
        found = [
            record
            for (space, _), record in self._world.declassifications.items()
            if space == caller.space
            and message in (record.source, record.copy)
            and caller.clearance.covers(record.before)
        ]
        return sorted(found, key=lambda record: (record.at, record.id.value))

    async def _source(self, caller: Principal, record: Declassification) -> Message:
        try:
            source = (await self._messages.get(caller, record.source)).message
        except MessageNotFound as gone:
            raise NotApproved(str(record.source)) from gone
        if source.deleted_at is not None or not source.label.covers(record.after):
            raise NotApproved(str(record.source))
        return source

    def _yes(
        self,
        caller: Principal,
        approval: Approval,
        source: Message,
        record: Declassification,
        copy: Lowered,
    ) -> bool:
        answered = approval.answered
        by = None if answered is None else self._world.identities.get((caller.space, answered.by))
        return (
            by is not None
            and by.kind is PrincipalKind.PERSON
            and by.id != caller.id == approval.requester.id
            and approval.action is Action.DECLASSIFY
            and approval.status is Status.APPROVED
            and approval.used
            and approval.outcome is None
            and approval.label.covers(source.label)
            and approval.pin == pin_of(source.id, source.label, record.after, copy.text)
        )


class PlainSigning:
    def sign(self, content: bytes) -> str:
        return f"plain:{hashlib.sha256(content).hexdigest()}"

    def holds(self, content: bytes, signature: str) -> bool:
        return signature == self.sign(content)
