"""What a project remembers, and what was added to its messages, in memory."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from portico.bridge.core.attachments import Attachment, Digest
from portico.bridge.core.errors import AttachmentNotFound, MemoryNotFound
from portico.bridge.core.memory import Remembered, ToRemember, next_version
from portico.bridge.core.messages import secrecy
from portico.bridge.core.projects import ProjectId
from portico.kernel.clock import Clock
from portico.kernel.json import JsonValue, kept
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.bridge_walls import check_label, project_there
from portico.testing.kernel import TickingClock
from portico.testing.world import MemoryWorld, RowRefused


class MemoryMemory:
    def __init__(self, world: MemoryWorld, clock: Clock | None = None) -> None:
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
    ) -> Remembered:
        project_there(self._world, caller, wanted.project)
        check_label(self._world, caller, label)
        last = self._last(caller, wanted.project, wanted.key, label)
        return self._add(
            caller,
            Remembered(
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

    async def get(self, caller: Principal, project: ProjectId, key: str) -> Remembered:
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
    ) -> Sequence[Remembered]:
        found = {
            its.key: its
            for its in sorted(self._there(caller, project), key=lambda its: secrecy(its.label))
            if its.key.startswith(prefix) and (after is None or its.key > after)
        }
        return [found[key] for key in sorted(found)][:limit]

    async def find(
        self, caller: Principal, project: ProjectId, words: str, limit: int
    ) -> Sequence[Remembered]:
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
    ) -> Sequence[Remembered]:
        every = [its for its in self._visible(caller, project) if its.key == key]
        every.sort(key=lambda its: (secrecy(its.label), its.version), reverse=True)
        return every[:limit]

    def _add(self, caller: Principal, its: Remembered) -> Remembered:
        place = (caller.space, its.project, its.key, its.label, its.version)
        self._world.memories.insert(place, its)
        return its

    def _visible(self, caller: Principal, project: ProjectId) -> Sequence[Remembered]:
        return [
            its
            for (space, of, *_), its in self._world.memories.items()
            if (space, of) == (caller.space, project) and caller.clearance.covers(its.label)
        ]

    def _there(self, caller: Principal, project: ProjectId) -> Sequence[Remembered]:
        now = self._clock.now()
        last: dict[tuple[str, Label], Remembered] = {}
        for its in sorted(self._visible(caller, project), key=lambda its: its.version):
            last[its.key, its.label] = its
        return [its for its in last.values() if its.there(now)]

    def _last(
        self, caller: Principal, project: ProjectId, key: str, label: Label
    ) -> Remembered | None:
        every = [
            its
            for place, its in self._world.memories.items()
            if place[:4] == (caller.space, project, key, label)
        ]
        return max(every, key=lambda its: its.version, default=None)


class MemoryAttachments:
    def __init__(self, world: MemoryWorld) -> None:
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
