"""Stepping in: who may, and what becomes of the run."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from portico.engine.core.errors import (
    AlreadyAnswered,
    RunNotFound,
    RunNotOver,
    RunOver,
    RunWriteDown,
    StepNotFound,
)
from portico.engine.core.runs import RunStatus, StepState
from portico.guard.core.errors import NotPermitted
from portico.kernel.durable import Durable
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue, NotCanonical
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import an_identity
from tests.engine.room import ANA, BEN, OLGA, VERA, Room

Act = Callable[[Room, Principal, RunId], Awaitable[object]]

ACTS: dict[str, Act] = {
    "cancel": lambda room, who, run: room.cancel_run(who, run),
    "resume": lambda room, who, run: room.resume_run(who, run),
    "fork": lambda room, who, run: room.fork_run(who, run, step="a"),
    "signal": lambda room, who, run: room.signal_run(who, run, "go", None),
}
every_act = pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)


class Steps:
    """Two steps, an answer, a third step; keeps which were done."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failing: set[str] = set()

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        first = await durable.step("a", self._act)
        second = await durable.step("b", self._act)
        said = await durable.wait_for_signal("go") if given.get("ask") else None
        return [first, second, said, await durable.step("c", self._act)]

    async def _act(self, key: str) -> JsonValue:
        name = key.rpartition(":")[2]
        self.done.append(name)
        if name in self.failing:
            raise OSError(f"{name} did not work")
        return key


@pytest.fixture
def work() -> Steps:
    return Steps()


@pytest.fixture
def room(work: Steps) -> Room:
    return Room(work=work)


@every_act
async def test_stepping_in_takes_the_right_to_do_so(act: Act, room: Room) -> None:
    run = await room.start(caller=replace(ANA, clearance=Label.parse("team")))

    for who, scope in (
        (replace(ANA, scopes=frozenset({"runs:read"})), "runs:write"),
        (BEN, "runs:control"),
    ):
        with pytest.raises(NotPermitted) as caught:
            await act(room, who, run)
        assert caught.value.scope == scope
    with pytest.raises(RunNotFound):
        await act(room, replace(OLGA, clearance=Label.parse("public")), run)


async def test_an_operator_may_cancel_for_others(room: Room) -> None:
    run, own = await room.start(), await room.start(caller=VERA)

    found = await room.cancel_run(OLGA, run)
    with pytest.raises(NotPermitted):
        await room.cancel_run(VERA, own)

    assert found.status is RunStatus.CANCELLED
    assert (await room.told(run))[-1].facts["by"] == "olga"


async def test_a_cancelled_run_leaves_the_line(work: Steps, room: Room) -> None:
    run = await room.start()

    await room.cancel_run(ANA, run)
    async with room.working():
        await asyncio.sleep(0.02)

    assert work.done == []
    assert (await room.seen(run)).finished_at is not None


@pytest.mark.requirement("runs:cancel:at-once")
async def test_a_run_that_is_being_carried_out_is_stopped_at_once() -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def endless(key: str) -> JsonValue:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
            return None

        return await durable.step("endless", endless)

    room = Room(work=work)
    run = await room.start()
    async with room.working():
        await begun.wait()
        await room.cancel_run(ANA, run)
        async with asyncio.timeout(30):
            await stopped.wait()

    assert (await room.seen(run)).status is RunStatus.CANCELLED
    assert await room.steps(run) == []


async def test_what_is_over_is_not_cancelled_nor_told_anything(room: Room) -> None:
    run = await room.start()
    await room.leg(run)

    for act in (ACTS["cancel"], ACTS["signal"]):
        with pytest.raises(RunOver):
            await act(room, ANA, run)


@pytest.mark.requirement("runs:resume:where-it-was")
async def test_a_failed_run_goes_on_where_it_was_and_tries_again_what_failed(work: Steps) -> None:
    work.failing = {"b"}
    room = Room(work=work)
    run = await room.start()
    assert (await room.leg(run)).status is RunStatus.FAILED

    work.failing = set()
    resumed = await room.resume_run(ANA, run)
    done = await room.leg(run)

    assert (resumed.status, resumed.failure, resumed.finished_at) == (RunStatus.QUEUED, None, None)
    assert (done.status, done.leg) == (RunStatus.DONE, 2)
    assert work.done == ["a", "b", "b", "c"]


async def test_a_cancelled_run_goes_on_with_the_wait_it_was_in(work: Steps, room: Room) -> None:
    run = await room.start(ask=True)
    assert (await room.leg(run)).status is RunStatus.WAITING
    await room.cancel_run(ANA, run)

    await room.resume_run(ANA, run)
    assert (await room.leg(run)).status is RunStatus.WAITING
    await room.signal_run(ANA, run, "go", "yes")
    done = await room.leg(run)

    assert done.result == [f"{run}:a", f"{run}:b", "yes", f"{run}:c"]
    assert work.done == ["a", "b", "c"]


async def test_only_what_ended_without_being_done_is_taken_up_again(room: Room) -> None:
    queued, done = await room.start(), await room.start()
    await room.leg(done)

    for run in (queued, done):
        with pytest.raises(RunNotOver):
            await room.resume_run(ANA, run)


@pytest.mark.requirement("runs:fork:from-a-step")
async def test_a_fork_has_done_what_came_before_and_does_the_rest_under_its_own_keys() -> None:
    work = Steps()
    room = Room(work=work)
    source = await room.start(ask=True)
    await room.leg(source)
    await room.signal_run(ANA, source, "go", "yes")
    await room.leg(source)

    forked = await room.fork_run(ANA, source, step="c")
    done = await room.leg(forked.run.id)

    assert done.forked_from == source
    assert done.result == [f"{source}:a", f"{source}:b", "yes", f"{done.id}:c"]
    assert work.done == ["a", "b", "c", "c"]
    assert (await room.seen(source)).status is RunStatus.DONE


async def test_a_fork_is_whose_who_made_it_is_and_sees_no_more_than_they_do(room: Room) -> None:
    source = await room.start(caller=replace(ANA, clearance=Label.parse("restricted")))
    await room.leg(source)

    fork = (await room.fork_run(OLGA, source, step="a")).run

    assert (fork.principal, fork.clearance) == (OLGA.id, OLGA.clearance)


async def test_a_fork_is_of_a_step_that_has_ended_and_made_once_under_one_key(room: Room) -> None:
    source = await room.start(ask=True)
    await room.leg(source)

    for name in ("signal:go", "c", ""):
        with pytest.raises(StepNotFound):
            await room.fork_run(ANA, source, step=name)
    forks = [await room.fork_run(ANA, source, step="b", key="k") for _ in range(2)]

    assert forks[0].run.id == forks[1].run.id
    assert [fork.replayed for fork in forks] == [False, True]


@pytest.mark.requirement("runs:signal:first-counts")
async def test_the_first_answer_to_what_was_asked_counts(room: Room) -> None:
    run = await room.start(ask=True)
    await room.leg(run)

    assert (await room.signal_run(ANA, run, "other", 1)).status is RunStatus.WAITING
    for no_json in (float("nan"), ["\ud800"]):
        with pytest.raises(NotCanonical):
            await room.signal_run(ANA, run, "go", no_json)
    woken = await room.signal_run(ANA, run, "go", 1)
    with pytest.raises(AlreadyAnswered):
        await room.signal_run(OLGA, run, "go", 2)
    done = await room.leg(run)

    assert (woken.status, woken.waits_for) == (RunStatus.QUEUED, ())
    assert done.result == [f"{run}:a", f"{run}:b", 1, f"{run}:c"]


async def test_a_step_in_the_middle_of_a_cancelled_run_is_not_noted() -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def stubborn(key: str) -> JsonValue:
            reached.set()
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                return "done after all"
            return "done"

        return await durable.step("stubborn", stubborn)

    room = Room(work=work)
    run = await room.start()
    async with room.working():
        await reached.wait()
        await room.cancel_run(ANA, run)

    assert (await room.seen(run)).status is RunStatus.CANCELLED
    assert [step for step in await room.steps(run) if step.state is not StepState.OPEN] == []


async def test_a_run_is_told_nothing_that_is_more_secret_than_it_is() -> None:
    room = Room()
    run = await room.start()
    room.world.identities.insert((ANA.space, ANA.id), an_identity("ana"))
    await room.contexts.rise(ANA, Label(Level.CONFIDENTIAL), untrusted=False)

    with pytest.raises(RunWriteDown):
        await room.signal_run(ANA, run, "answer", "what was read")
    elsewhere = replace(ANA, key="another")
    await room.signal_run(elsewhere, run, "answer", "something else")
