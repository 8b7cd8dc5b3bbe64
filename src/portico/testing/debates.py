"""Debates, their guests, budgets and outcomes in memory."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from portico.adapters.postgres.debate.mapping import talk_topic
from portico.bridge.core.errors import ProjectNotFound, WriteDown
from portico.bridge.core.projects import Project, ProjectId
from portico.debate.core.debaters import Debater, DebaterReply, DebaterRequest, Persona
from portico.debate.core.debates import (
    Debate,
    DebateId,
    DebateStatus,
    Decision,
    KnownOutcome,
    Note,
    Outcome,
    Seat,
    WholeDebate,
)
from portico.debate.core.errors import (
    DebateNotFound,
    DebateOver,
    NoAnswerExpected,
    NoSeatLeft,
    NotSeated,
    PersonaNotFound,
)
from portico.debate.core.questions import Cap
from portico.debate.core.vote_weights import known_of
from portico.kernel.budget import NOTHING, Cost, Tokens
from portico.kernel.ids import InvalidId, PrincipalId
from portico.kernel.json import JsonObject, JsonValue, kept
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal
from portico.testing.bridge_conversations import check_label, mark, project_there
from portico.testing.memory_store import (
    InMemoryStore,
    KnownNote,
    KnownQuestion,
    Reservation,
    RowRefused,
)


def readable(caller: Principal, debate: Debate) -> bool:
    mine = debate.started_by == caller.id
    return caller.clearance.covers(debate.label) and (mine or not debate.private)


def found(world: InMemoryStore, caller: Principal, debate: DebateId) -> Debate:
    """Raises `DebateNotFound`."""
    its = world.debates.get((caller.space, debate))
    if its is None or not readable(caller, its):
        raise DebateNotFound(str(debate))
    return its


def at_table(world: InMemoryStore, guest: Principal, debate: DebateId) -> Debate:
    """One that they may read or could sit in. Raises `DebateNotFound`."""
    its = world.debates.get((guest.space, debate))
    if its is None or not guest.clearance.covers(its.label):
        raise DebateNotFound(str(debate))
    if not its.guests and not readable(guest, its):
        raise DebateNotFound(str(debate))
    return its


def check_mark(world: InMemoryStore, caller: Principal, label: Label) -> None:
    """Of what has no label of its own. Raises `WriteDown`."""
    read = mark(world, caller)
    if not label.covers(read):
        raise WriteDown(label, read, shared=True)


def project_of(world: InMemoryStore, caller: Principal, project: str) -> Project:
    """Raises `ProjectNotFound`."""
    try:
        id_ = ProjectId.parse(project)
    except InvalidId as error:
        raise ProjectNotFound(project) from error
    return project_there(world, caller, id_)


def seated(world: InMemoryStore, caller: Principal, debate: DebateId) -> Sequence[Debater]:
    return [
        voice
        for (space, id_, _), voice in world.debate_seats.items()
        if (space, id_) == (caller.space, debate)
    ]


def seen(world: InMemoryStore, caller: Principal, debate: Debate) -> Debate:
    """With the guests who have sat down since."""
    return replace(debate, debaters=(*debate.debaters, *seated(world, caller, debate.id)))


def whole_of(world: InMemoryStore, caller: Principal, debate: Debate) -> WholeDebate:
    notes = [
        known.note
        for (space, id_, _), known in world.debate_notes.items()
        if (space, id_) == (caller.space, debate.id)
    ]
    return WholeDebate(seen(world, caller, debate), tuple(notes))


def committed(world: InMemoryStore, caller: Principal, debate: DebateId) -> Cost:
    """What is spent or reserved; of an analysis with its parts."""
    costs = [
        held.cost
        for (space, id_, _), held in world.debate_reservations.items()
        if space == caller.space and debate in (id_, held.whole)
    ]
    return sum(costs, start=NOTHING)


class MemoryBlackboard:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def add(self, caller: Principal, debate: Debate) -> None:
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

    async def join(self, caller: Principal, debate: DebateId, voice: Debater) -> Debater:
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


class MemorySeats:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def ask(self, caller: Principal, debate: DebateId, ask: DebaterRequest) -> None:
        found(self._world, caller, debate)
        check_label(self._world, caller, ask.label)
        for (space, id_, guest), voice in list(self._world.debate_seats.items()):
            if (space, id_, voice.name) == (caller.space, debate, ask.debater.name):
                asked = KnownQuestion(guest, ask)
                self._world.debate_questions.setdefault((space, debate, ask.key), asked)

    async def secrecy(self, guest: Principal, debate: DebateId) -> Label:
        return at_table(self._world, guest, debate).label

    async def seat(self, guest: Principal, debate: DebateId) -> Seat:
        its = at_table(self._world, guest, debate)
        voice = self._world.debate_seats.get((guest.space, debate, guest.id))
        if voice is None:
            raise NotSeated(str(debate))
        asked = [each for each in self._questions(guest, debate) if each.guest == guest.id]
        now = next((each.ask for each in asked if each.reply is None), None)
        now = None if its.status.over else now
        every = self._questions(guest, debate)
        return Seat(
            voice=voice.name,
            question=its.question.text,
            asked=None if now is None else "\n\n".join(filter(None, [now.system, now.prompt])),
            key=None if now is None else now.key,
            schema=None if now is None else now.schema,
            until=its.deadline,
            label=its.label,
            run=its.run,
            turn=len(seated(self._world, guest, debate))
            + sum(each.reply is not None for each in every),
            over=its.status.over,
        )

    async def answer(
        self, guest: Principal, debate: DebateId, key: str, reply: DebaterReply
    ) -> None:
        its = at_table(self._world, guest, debate)
        if (guest.space, debate, guest.id) not in self._world.debate_seats:
            raise NotSeated(str(debate))
        if its.status.over:
            raise DebateOver(str(debate))
        known = self._world.debate_questions.get((guest.space, debate, key))
        if known is None or known.guest != guest.id:
            raise NoAnswerExpected(str(debate))
        if known.reply is None:
            check_mark(self._world, guest, its.label)
            place = (guest.space, debate, key)
            self._world.debate_questions[place] = replace(known, reply=reply)

    async def answered(
        self, caller: Principal, debate: DebateId, keys: Collection[str]
    ) -> Sequence[tuple[str, DebaterReply]]:
        its = self._world.debates.get((caller.space, debate))
        sees_all = its is not None and readable(caller, its)
        return [
            (each.ask.key, each.reply)
            for each in self._questions(caller, debate)
            if each.ask.key in keys
            and each.reply is not None
            and (sees_all or each.guest == caller.id)
        ]

    def _questions(self, caller: Principal, debate: DebateId) -> Sequence[KnownQuestion]:
        return [
            known
            for (space, id_, _), known in self._world.debate_questions.items()
            if (space, id_) == (caller.space, debate)
        ]


class MemoryBudgetLedger:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def reserve(
        self, caller: Principal, debate: DebateId, name: str, cost: Cost
    ) -> tuple[str, ...]:
        its = found(self._world, caller, debate)
        if (caller.space, debate, name) in self._world.debate_reservations:
            return ()
        whole = its if its.part_of is None else self._world.debates[caller.space, its.part_of]
        label = join([its.label, mark(self._world, caller)])
        over = (
            *self._over(caller, its, whole, cost),
            *self._over_project(caller, its, label, cost),
        )
        if not over:
            held = Reservation(cost, whole.id, its.project, label)
            self._world.debate_reservations[caller.space, debate, name] = held
            self._charge(caller, held, cost)
        return over

    def _over(self, caller: Principal, its: Debate, whole: Debate, cost: Cost) -> Iterator[str]:
        if not its.analysis:
            alone = committed(self._world, caller, its.id) + cost
            yield from _passed("debate", alone, its.cap)
        if whole.analysis:
            yield from _passed(
                "analysis", committed(self._world, caller, whole.id) + cost, whole.cap
            )

    def _over_project(
        self, caller: Principal, its: Debate, label: Label, cost: Cost
    ) -> Iterator[str]:
        """Against what those could know of who may read it: a refusal tells of nothing else."""
        if its.project is not None:
            project = ProjectId.parse(its.project)
            cap = self._world.debate_caps.get((caller.space, project), Cap())
            yield from _passed("project", self._spent(caller, project, label)[0] + cost, cap)

    async def settle(self, caller: Principal, debate: DebateId, name: str, cost: Cost) -> None:
        its = found(self._world, caller, debate)
        held = self._world.debate_reservations.get((caller.space, debate, name))
        if held is None or held.settled:
            return
        came = cost if its.unbounded else _least(held.cost, cost)
        settled = replace(held, cost=came, settled=True)
        self._world.debate_reservations[caller.space, debate, name] = settled
        self._charge(caller, held, came, instead_of=held.cost)

    def _charge(
        self, caller: Principal, held: Reservation, cost: Cost, instead_of: Cost = NOTHING
    ) -> None:
        if held.project is not None:
            place = (caller.space, ProjectId.parse(held.project), held.label)
            was = self._world.debate_spending.get(place, NOTHING) + cost
            self._world.debate_spending[place] = Cost(
                tokens=Tokens(was.tokens - instead_of.tokens),
                money=was.money - instead_of.money,
                time=was.time - instead_of.time,
                calls=was.calls - instead_of.calls,
            )

    async def committed(self, caller: Principal, debate: DebateId) -> Cost:
        its = self._world.debates.get((caller.space, debate))
        if its is None or not readable(caller, its):
            return NOTHING
        return committed(self._world, caller, debate)

    async def outstanding(self, caller: Principal, debate: DebateId) -> Mapping[str, Cost]:
        its = self._world.debates.get((caller.space, debate))
        if its is None or not readable(caller, its):
            return {}
        return {
            name: held.cost
            for (space, id_, name), held in sorted(
                self._world.debate_reservations.items(), key=lambda row: row[0][2]
            )
            if (space, id_) == (caller.space, debate) and not held.settled
        }

    async def cap_project(self, caller: Principal, project: str, cap: Cap) -> None:
        its = project_of(self._world, caller, project)
        check_label(self._world, caller, its.label)
        self._world.debate_caps[caller.space, its.id] = cap

    async def project(self, caller: Principal, project: str) -> tuple[Cap, Cost, Label]:
        its = project_of(self._world, caller, project)
        cap = self._world.debate_caps.get((caller.space, its.id), Cap())
        spent, label = self._spent(caller, its.id, caller.clearance)
        return cap, spent, join([its.label, label])

    def _spent(self, caller: Principal, project: ProjectId, max_label: Label) -> tuple[Cost, Label]:
        seen = {
            label: cost
            for (space, id_, label), cost in self._world.debate_spending.items()
            if (space, id_) == (caller.space, project) and max_label.covers(label)
        }
        return sum(seen.values(), start=NOTHING), join(seen)


def _passed(whose: str, whole: Cost, cap: Cap) -> Iterator[str]:
    if cap.tokens is not None and whole.tokens > cap.tokens:
        yield f"{whose}.tokens"
    if cap.money is not None and whole.money > cap.money:
        yield f"{whose}.money"


def _least(held: Cost, came: Cost) -> Cost:
    return Cost(
        tokens=min(held.tokens, came.tokens),
        money=min(held.money, came.money),
        time=came.time,
        calls=min(held.calls, came.calls),
    )


class MemoryOutcomes:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def mark(self, caller: Principal, outcome: Outcome) -> None:
        its = found(self._world, caller, outcome.debate)
        check_label(self._world, caller, its.label)
        number = len(await self.of(caller, outcome.debate))
        self._world.debate_outcomes[caller.space, outcome.debate, number] = outcome

    async def of(self, caller: Principal, debate: DebateId) -> Sequence[Outcome]:
        its = self._world.debates.get((caller.space, debate))
        if its is None or not readable(caller, its):
            return []
        marked = [
            outcome
            for (space, id_, _), outcome in self._world.debate_outcomes.items()
            if (space, id_) == (caller.space, debate)
        ]
        return marked[::-1]

    async def known(
        self, caller: Principal, voices: Collection[str], *, limit: int, before: datetime
    ) -> Sequence[KnownOutcome]:
        every = [
            known_of(whole_of(self._world, caller, its), marked[0])
            for (space, id_), its in self._world.debates.items()
            if space == caller.space
            and (marked := [each for each in await self.of(caller, id_) if each.at <= before])
        ]
        taking_part = [
            each for each in every if {ballot.voice for ballot in each.ballots} & {*voices}
        ]
        return sorted(taking_part, key=lambda each: each.at)[-limit:]


class MemoryPersonas:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def all(self, caller: Principal) -> Sequence[Persona]:
        mine = {
            name: each
            for (space, name), each in self._world.debate_personas.items()
            if space == caller.space
        }
        return [mine[name] for name in sorted(mine)]

    async def put(self, caller: Principal, persona: Persona) -> None:
        check_label(self._world, caller, PUBLIC)
        self._world.debate_personas[caller.space, persona.name] = persona

    async def remove(self, caller: Principal, name: str) -> None:
        if (caller.space, name) not in self._world.debate_personas:
            raise PersonaNotFound(name, [each.name for each in await self.all(caller)])
        check_mark(self._world, caller, PUBLIC)
        del self._world.debate_personas[caller.space, name]
