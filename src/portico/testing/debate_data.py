"""Debates and their notes, in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from portico.adapters.postgres.debate.mapping import talk_topic
from portico.debate.core.debaters import Voice
from portico.debate.core.debates import Debate, DebateId, DebateStatus, Decision, Note, WholeDebate
from portico.debate.core.errors import DebateNotFound, DebateOver, NoSeatLeft
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject, JsonValue, kept
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal
from portico.testing.bridge_walls import check_label
from portico.testing.debate_walls import (
    at_table,
    check_mark,
    committed,
    found,
    project_of,
    readable,
    seated,
    seen,
    whole_of,
)
from portico.testing.world import KnownNote, MemoryWorld, RowRefused


class MemoryBlackboard:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def begin(self, caller: Principal, debate: Debate) -> None:
        if debate.project is not None:
            project = project_of(self._world, caller, debate.project)
            if not debate.label.covers(project.label):
                raise RowRefused(f"{debate.id} is less secret than {project.id}.")
        check_label(self._world, caller, debate.label)
        if {debate.started_by, self._starter(caller, debate)} != {caller.id}:
            raise RowRefused(f"{debate.id} is not begun by {caller.name!r}.")
        self._world.debates.setdefault((caller.space, debate.id), debate)

    def _starter(self, caller: Principal, debate: Debate) -> PrincipalId | None:
        """Of what it is a part of."""
        if debate.part_of is None:
            return debate.started_by
        whole = self._world.debates.get((caller.space, debate.part_of))
        return None if whole is None else whole.started_by

    async def read(self, caller: Principal, debate: DebateId) -> WholeDebate:
        its = found(self._world, caller, debate)
        return whole_of(self._world, caller, its)

    async def note(self, caller: Principal, debate: DebateId, note: Note, label: Label) -> Note:
        its = found(self._world, caller, debate)
        place = (caller.space, debate, note.name)
        known = self._world.debate_notes.get(place)
        if known is None:
            check_label(self._world, caller, label)
            if its.status.over:
                raise DebateOver(str(debate))
            known = KnownNote(replace(note, body=_object(kept(note.body))), label)
            self._world.debate_notes[place] = known
            risen = replace(its, label=join([its.label, label]))
            self._world.debates[caller.space, debate] = risen
        return known.note

    async def join(self, caller: Principal, debate: DebateId, voice: Voice) -> Voice:
        its = at_table(self._world, caller, debate)
        seat = (caller.space, debate, caller.id)
        if seat not in self._world.debate_seats:
            if its.status.over:
                raise DebateOver(str(debate))
            if len(seated(self._world, caller, debate)) >= its.guests:
                raise NoSeatLeft(str(debate))
            check_mark(self._world, caller, its.label)
            self._world.debate_seats[seat] = voice
        return self._world.debate_seats[seat]

    async def end(
        self,
        caller: Principal,
        debate: DebateId,
        status: DebateStatus,
        decision: Decision | None,
        *,
        at: datetime,
    ) -> Debate:
        its = found(self._world, caller, debate)
        if not its.status.over:
            check_label(self._world, caller, its.label)
            spent = committed(self._world, caller, debate)
            its = replace(its, status=status, decision=decision, ended_at=at, spent=spent)
            self._world.debates[caller.space, debate] = its
        return seen(self._world, caller, its)

    async def share(self, caller: Principal, debate: DebateId) -> Debate:
        its = found(self._world, caller, debate)
        check_label(self._world, caller, its.label)
        for (space, id_), each in list(self._world.debates.items()):
            if (space, each.started_by) == (caller.space, caller.id) and debate in (
                id_,
                each.part_of,
            ):
                self._world.debates[space, id_] = replace(each, private=False)
        return seen(self._world, caller, found(self._world, caller, debate))

    async def page(
        self,
        caller: Principal,
        *,
        project: str | None,
        status: DebateStatus | None,
        words: str | None,
        after: DebateId | None,
        limit: int,
    ) -> Sequence[Debate]:
        wanted = (words or "").lower().split()
        every = sorted(
            (
                each
                for (space, _), each in self._world.debates.items()
                if space == caller.space and each.part_of is None and readable(caller, each)
            ),
            key=lambda each: (each.started_at, each.id.value),
            reverse=True,
        )
        last = self._world.debates.get((caller.space, after)) if after is not None else None
        return [
            seen(self._world, caller, each)
            for each in every
            if (project is None or each.project == project)
            and (status is None or each.status is status)
            and all(word in each.question.text.lower() for word in wanted)
            and (after is None or (last is not None and _order(each) < _order(last)))
        ][:limit]

    async def parts(self, caller: Principal, debate: DebateId) -> Sequence[Debate]:
        parts = [
            seen(self._world, caller, each)
            for (space, _), each in self._world.debates.items()
            if (space, each.part_of) == (caller.space, debate) and readable(caller, each)
        ]
        return sorted(parts, key=_order)

    async def remove(self, caller: Principal, debate: DebateId) -> None:
        its = found(self._world, caller, debate)
        if its.started_by != caller.id:
            raise DebateNotFound(str(debate))
        check_mark(self._world, caller, its.label)
        gone = {debate, *(each.id for each in await self.parts(caller, debate))}
        topics = {talk_topic(each) for each in gone}
        self._world.streams.drop(lambda place, _: place[0] == caller.space and place[1] in topics)
        self._world.events.drop(lambda place, _: place[0] == caller.space and place[1] in topics)
        for rows in (
            self._world.debates,
            self._world.debate_notes,
            self._world.debate_seats,
            self._world.debate_questions,
            self._world.debate_outcomes,
            self._world.debate_reservations,
        ):
            rows.drop(lambda place, _: place[0] == caller.space and place[1] in gone)


def _order(debate: Debate) -> tuple[datetime, int]:
    return debate.started_at, debate.id.value.int


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, Mapping) else {}
