"""Every way in which something can come out of a debate, and bugs to plant there."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

import psycopg
from psycopg import sql

from portico.adapters.postgres.addresses import Addresses
from portico.debate.core.debates import (
    DebateId,
    DebateSpec,
    DebateStatus,
    GuestAnswer,
    OutcomeSpec,
    ReplaySpec,
)
from portico.debate.core.questions import Preset
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.adapters.postgres.debate_town import DEBATE_TABLES
from tests.storm.bridge_bugs import Bug, without_the_second_wall
from tests.storm.bridge_world import COMMON
from tests.storm.debate_house import debate_house
from tests.storm.debate_writes import KINDS, VOICES, DebateWorld, Held, a_debating_world, write
from tests.storm.leak_oracle import EVERY_LABEL, Leak, covers
from tests.storm.reading import Reading

_HEARD = 0.05
"""Seconds for which somebody follows a debate that is still on."""


@dataclass(slots=True)
class Visit:
    """One question of one reader, who knows the ids, the names and the keys of all there is."""

    world: DebateWorld
    who: Principal
    random: Random
    asked: list[object] = field(default_factory=list)
    wrong: list[Leak] = field(default_factory=list)
    calls: int = 1

    @property
    def cleared(self) -> str:
        return str(self.who.clearance)

    def held(self) -> Held:
        """Of all there is; more often one that they may read."""
        its = self.random.choice(self.world.held)
        for _ in range(12 if self.random.random() < 0.75 else 0):
            if self.world.readable(its, self.who):
                break
            its = self.random.choice(self.world.held)
        self.asked.append(its.id)
        return its

    def one(self) -> DebateId:
        return self.held().id

    def project(self) -> str:
        its = self.random.choice(self.world.projects)
        for _ in range(12 if self.random.random() < 0.75 else 0):
            if covers(str(self.who.clearance), str(its.label)):
                break
            its = self.random.choice(self.world.projects)
        self.asked.append(its.id)
        named = self.random.random() < 0.2
        self.asked += [its.name] if named else []
        return its.name if named else str(its.id)

    def counted(self, way: str, told: int, true: int) -> None:
        """A number, too, tells of what is hidden."""
        if told != true:
            why = f"{told} is told, {true} can be known"
            self.wrong.append(Leak(way, f"{self.who.id}", "a count", why))


async def page(visit: Visit) -> object:
    random = visit.random
    found = await visit.world.house.use_cases.look.page(
        visit.who,
        project=visit.project() if random.random() < 0.3 else None,
        status=random.choice([None, None, DebateStatus.RUNNING, DebateStatus.DECIDED]),
        words=random.choice([None, None, random.choice(COMMON)]),
        after=visit.one() if random.random() < 0.2 else None,
        limit=random.choice([1, 5, 200]),
    )
    return list(found)


async def page_of_all(visit: Visit) -> object:
    found = await visit.world.house.use_cases.look.page(visit.who, limit=500)
    true = sum(visit.world.readable(each, visit.who) for each in visit.world.held)
    visit.counted("page_of_all", len(found), true)
    return list(found)


async def words(visit: Visit) -> object:
    """Somebody who knows a word asks whether it is there."""
    held = visit.held()
    word = visit.random.choice(held.words)
    visit.asked.append(word)
    return await visit.world.house.use_cases.look.page(visit.who, words=word)


async def show(visit: Visit) -> object:
    return await visit.world.house.use_cases.look.one(visit.who, visit.one())


async def parts(visit: Visit) -> object:
    return await visit.world.house.use_cases.look.parts(visit.who, visit.one())


async def turned_out(visit: Visit) -> object:
    return await visit.world.house.use_cases.look.turned_out(visit.who, visit.one())


async def replay(visit: Visit) -> object:
    without = (visit.random.choice(VOICES).name,) if visit.random.random() < 0.3 else ()
    wish = ReplaySpec(preset=visit.random.choice([*Preset]), without=without)
    over = [each for each in visit.world.held if each.over]
    theirs = [each for each in over if visit.world.readable(each, visit.who)]
    held = visit.random.choice(theirs or over or visit.world.held)
    visit.asked.append(held.id)
    return await visit.world.house.use_cases.replay_debate(visit.who, held.id, wish)


async def budget(visit: Visit) -> object:
    """What was spent, by whoever may know of it."""
    project = visit.project()
    told = await visit.world.house.use_cases.budget.show(visit.who, project)
    its = next(each for each in visit.world.projects if project in (str(each.id), each.name))
    true = sum(
        tokens
        for (id_, label), tokens in visit.world.spent.items()
        if id_ == str(its.id) and covers(str(visit.who.clearance), label)
    )
    visit.counted("budget", told[1].tokens, true)
    return told


async def known(visit: Visit) -> object:
    """What the weights of somebody's debate are learnt from."""
    voices = [voice.target for voice in VOICES]
    found = await visit.world.house.doors.outcomes.known(
        visit.who, voices, limit=500, before=datetime.max.replace(tzinfo=UTC)
    )
    true = sum(each.marked and visit.world.readable(each, visit.who) for each in visit.world.held)
    visit.counted("known", len(found), true)
    return found


async def join(visit: Visit) -> object:
    return await visit.world.house.use_cases.join_debate(visit.who, visit.one())


async def seat(visit: Visit) -> object:
    """Of those who have one, most of the time; and rather of those who may no longer know of it."""
    taken = [each for each in visit.world.held if visit.who.id in {who.id for who in each.taken}]
    above = [each for each in taken if not visit.world.readable(each, visit.who)]
    held = visit.random.choice(above or taken or visit.world.held)
    visit.asked.append(held.id)
    return await visit.world.house.doors.seats.seat(visit.who, held.id)


async def answer(visit: Visit) -> object:
    """By a guest who has something to say, or nothing."""
    text = visit.random.choice(["", "a", "elephant"])
    wish = GuestAnswer(answer=text, confidence=visit.random.choice([None, 7.0]))
    return await visit.world.house.use_cases.answer_as_guest(visit.who, visit.one(), wish)


async def follow(visit: Visit) -> object:
    told: list[object] = []
    following = visit.world.house.use_cases.follow_debate(visit.who, visit.one())
    with suppress(TimeoutError):
        async with asyncio.timeout(_HEARD), aclosing(following) as each:
            async for one in each:
                told.append(one)  # noqa: PERF401 # what was heard until then counts
    return told


async def mark_outcome(visit: Visit) -> object:
    """Of what is not over, or not theirs to know of; or nothing that could be marked."""
    wish = OutcomeSpec(answer=visit.random.choice(["elephant", None]))
    return await visit.world.house.use_cases.mark_outcome(visit.who, visit.one(), wish)


async def steer(visit: Visit) -> object:
    """Somebody else's debate."""
    cases, one = visit.world.house.use_cases, visit.one()
    asked: Sequence[Callable[[], Awaitable[object]]] = (
        lambda: cases.stop_debate(visit.who, one),
        lambda: cases.share_debate(visit.who, one),
        lambda: cases.remove_debate(visit.who, one),
        lambda: cases.promote_debate(visit.who, one, Label.parse("public")),
    )
    return await visit.random.choice(asked)()


async def estimate(visit: Visit) -> object:
    """About a project, and what it remembers."""
    return await visit.world.house.use_cases.estimate_debate(visit.who, _wish(visit))


async def start(visit: Visit) -> object:
    """By somebody who asks for more than they may: nothing is begun."""
    wish = _wish(visit, label=Label.parse(EVERY_LABEL[-1]))
    if covers(str(visit.who.clearance), EVERY_LABEL[-1]):
        return None
    return await visit.world.house.use_cases.start_debate(visit.who, wish)


def _wish(visit: Visit, **more: Any) -> DebateSpec:
    its = visit.random.choice(visit.world.projects)
    visit.asked.append(its.id)
    keys = visit.world.keys[str(its.id)]
    memory = tuple(visit.random.sample(keys, 1)) if keys else ("nothing",)
    visit.asked += memory
    return DebateSpec(question="Is it so?", project=str(its.id), memory=memory, **more)


async def export(visit: Visit) -> object:
    """All that there is of the space, as the database gives it to them."""
    spaces = visit.world.house.spaces
    return [row async for row in spaces.export(visit.who) if row.table.startswith("debate")]


async def _between(world: DebateWorld) -> None:
    for _ in range(8):
        await write(world)
    await world.change_clearance()


DEBATES = Reading(
    house=debate_house,
    furnished=a_debating_world,
    between=_between,
    visit=Visit,
    ways=(
        page,
        page_of_all,
        words,
        show,
        parts,
        turned_out,
        replay,
        budget,
        known,
        join,
        seat,
        answer,
        mark_outcome,
        steer,
        estimate,
        start,
    ),
    costly=(follow, export),
    telling=1.0,
    only_refused={"start", "answer", "estimate", "mark_outcome", "steer"},
    kinds=KINDS,
    at_once=6,
    a_world=5_000,
)


DEBATE_BUGS = {
    "a page over all labels": Bug("blackboard", ("page",)),
    "one debate of any label": Bug("blackboard", ("read",)),
    "records of any label": Bug("outcomes", ("known",)),
    "a seat at any table": Bug("seats", ("seat",)),
    "a sum over all labels": Bug("purse", ("project",)),
}


def without_the_second_wall_of_debates(addresses: Addresses) -> None:
    without_the_second_wall(addresses)
    with psycopg.connect(str(addresses.admin), autocommit=True) as admin:
        for table in DEBATE_TABLES:
            off = sql.SQL("ALTER TABLE portico.{} DISABLE ROW LEVEL SECURITY")
            admin.execute(off.format(sql.Identifier(table)))
