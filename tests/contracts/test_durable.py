"""What every engine promises to works: the one in memory, and DBOS on each database."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.engine.core.errors import (
    AlreadyAnswered,
    KeyReused,
    RunNotFound,
    RunNotOver,
    RunOver,
    StepNotFound,
)
from portico.engine.core.runs import (
    Discreet,
    Failure,
    QueueConfig,
    QueuePlacement,
    RunPosition,
    RunStatus,
    StepState,
)
from portico.engine.runs import Kind, RunSpec
from portico.kernel.durable import Action, Durable
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.json import JsonObject, JsonValue
from tests.contracts.engines import Engine, dbos_engine, inline_engine

QUEUES = [
    QueueConfig(name="narrow", a_process=1, look=timedelta(milliseconds=50)),
    QueueConfig(name="fair", a_partition=1, look=timedelta(milliseconds=50)),
]


class Works:
    """Works of several kinds, and what they did."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.at_once = 0
        self.most_at_once = 0
        self.failing = True
        self.going = asyncio.Event()
        self.free = asyncio.Event()
        self.legs: list[tuple[int, bool]] = []

    def kinds(self) -> list[Kind]:
        works = {
            "chain": self.chain,
            "race": self.race,
            "patient": self.patient,
            "sleepy": self.sleepy,
            "shaky": self.shaky,
            "picky": self.picky,
            "endless": self.endless,
            "first": self.first,
            "busy": self.busy,
            "broken": self.broken,
            "named": self.named,
            "reading": self.reading,
        }
        return [Kind(name=name, work=work) for name, work in works.items()]

    async def chain(self, durable: Durable, given: JsonObject) -> JsonValue:
        return [await durable.step(f"link-{n}", self._does(f"link-{n}")) for n in range(3)]

    async def named(self, durable: Durable, given: JsonObject) -> JsonValue:
        caller = durable.caller
        return [str(caller.id), caller.name, sorted(caller.scopes), str(caller.clearance)]

    async def race(self, durable: Durable, given: JsonObject) -> JsonValue:
        begun = [durable.start(f"runner-{n}", self._does(f"runner-{n}")) for n in range(4)]
        order = []
        while begun:
            first = await durable.wait_any(begun)
            order.append(first.name)
            begun.remove(first)
        return order

    async def patient(self, durable: Durable, given: JsonObject) -> JsonValue:
        await durable.step("before", self._does("before"))
        answer = await durable.wait_for_signal("answer", patience=timedelta(minutes=5))
        await durable.step("after", self._does("after"))
        return {"answer": answer}

    async def sleepy(self, durable: Durable, given: JsonObject) -> JsonValue:
        await durable.sleep("nap", timedelta(seconds=float(str(given["seconds"]))))
        nobody = await durable.wait_for_signal("never", patience=timedelta(seconds=0.2))
        return {"nobody": nobody}

    async def shaky(self, durable: Durable, given: JsonObject) -> JsonValue:
        await durable.step("firm", self._does("firm"))
        await durable.step("shaky", self._fails)
        return "held"

    async def picky(self, durable: Durable, given: JsonObject) -> JsonValue:
        await durable.step("firm", self._does("firm"))
        raise Discreet(Failure("Picky", "Not what was wanted.", step="firm"))

    async def endless(self, durable: Durable, given: JsonObject) -> JsonValue:
        async def last(key: str) -> JsonValue:
            self.going.set()
            await asyncio.Event().wait()
            return None

        return await durable.step("last", last)

    async def first(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Has its place until it is let go: those who come meanwhile stand behind it together."""

        async def stay(key: str) -> JsonValue:
            self.going.set()
            await self.free.wait()
            return None

        return await durable.step("stay", stay)

    async def busy(self, durable: Durable, given: JsonObject) -> JsonValue:
        async def act(key: str) -> JsonValue:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self.done.append(str(given["name"]))
            await asyncio.sleep(0.05)
            self.at_once -= 1
            return None

        return await durable.step("busy", act)

    async def reading(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Beside a wait: for longer than it takes until a run that only waits is put away."""
        self.legs.append((durable.leg, durable.again))

        async def read() -> None:
            with durable.busy():
                await asyncio.sleep(0.3)
            await durable.step("read", self._does("read"))

        async with asyncio.TaskGroup() as group:
            group.create_task(read())
            answer = group.create_task(durable.wait_for_signal("answer"))
        return answer.result()

    async def broken(self, durable: Durable, given: JsonObject) -> JsonValue:
        raise ValueError("It was never whole.")

    def _does(self, name: str) -> Action:
        async def act(key: str) -> JsonValue:
            self.done.append(name)
            return {"name": name, "key": key}

        return act

    async def _fails(self, key: str) -> JsonValue:
        self.done.append("shaky")
        if self.failing:
            raise ConnectionError("The other side is away.")
        return "held"


@pytest.fixture
def works() -> Works:
    return Works()


@pytest.fixture
async def engine(addresses: Addresses | None, works: Works) -> AsyncIterator[Engine]:
    if addresses is None:
        async with inline_engine(works.kinds(), QUEUES) as made:
            yield made
        return
    async with dbos_engine(addresses, works.kinds(), QUEUES) as made:
        yield made


@pytest.mark.requirement("engine:contract:one-suite")
async def test_a_run_does_its_steps_and_gives_what_it_came_to(engine: Engine, works: Works) -> None:
    """To those who may see it; one that is done is not resumed, nor forked from elsewhere."""
    run = await engine.started("chain")

    ended = await engine.over(run.id)

    assert ended.status is RunStatus.DONE
    assert ended.result == [{"name": f"link-{n}", "key": f"{run.id}:link-{n}"} for n in range(3)]
    assert works.done == ["link-0", "link-1", "link-2"]
    steps = await engine.book.steps(engine.ana, run.id)
    assert [(step.name, step.number, step.state) for step in steps] == [
        (f"link-{n}", n + 1, StepState.DONE) for n in range(3)
    ]
    for stranger in (engine.stranger, engine.uncleared):
        with pytest.raises(RunNotFound):
            await engine.book.get(stranger, run.id)
        found = await engine.book.page(stranger, statuses=[], kind=None, before=None, limit=9)
        assert found == []
    with pytest.raises(RunNotOver):
        await engine.resume(engine.ana, run.id)
    with pytest.raises(StepNotFound):
        await engine.fork(engine.ana, run.id, step="nothing")


async def test_the_same_key_starts_one_run(engine: Engine, works: Works) -> None:
    wish = RunSpec(kind="chain", key="k")

    one, other = await asyncio.gather(*(engine.start(engine.ana, wish) for _ in range(2)))
    await engine.over(one.id)
    third = await engine.start(engine.ana, wish)

    assert one.id == other.id == third.id
    assert third.status is RunStatus.DONE
    assert works.done == ["link-0", "link-1", "link-2"]
    with pytest.raises(KeyReused):
        await engine.start(engine.ana, RunSpec(kind="chain", key="k", input={"a": 2}))


async def test_steps_begun_together_end_in_an_order_that_is_kept(engine: Engine) -> None:
    run = await engine.started("race")

    ended = await engine.over(run.id)

    steps = await engine.book.steps(engine.ana, run.id)
    assert ended.result == [step.name for step in steps]


async def test_a_run_waits_for_somebody_and_goes_on_with_the_first_answer(
    engine: Engine, works: Works
) -> None:
    run = await engine.started("patient")
    waiting = await engine.waiting(run.id)

    await engine.signal(engine.ana, run.id, "answer", {"yes": True})
    with pytest.raises((AlreadyAnswered, RunOver)):
        await engine.signal(engine.ana, run.id, "answer", {"yes": False})
    ended = await engine.over(run.id)

    assert list(waiting.waits_for) == ["answer"]
    assert ended.result == {"answer": {"yes": True}}
    assert works.done == ["before", "after"]


async def test_an_answer_that_comes_before_the_question_is_kept_for_it(engine: Engine) -> None:
    engine.hold()
    run = await engine.started("patient")
    await engine.signal(engine.ana, run.id, "answer", "early")
    engine.let_go()

    ended = await engine.over(run.id)

    assert ended.result == {"answer": "early"}


@pytest.mark.parametrize("seconds", [0.1, 2.5], ids=["sat out", "put away"])
async def test_a_run_sleeps_and_gives_up_waiting_in_time(engine: Engine, seconds: float) -> None:
    run = await engine.started("sleepy", {"seconds": seconds})

    ended = await engine.over(run.id)

    assert ended.result == {"nobody": None}
    assert ended.finished_at is not None
    assert (ended.finished_at - ended.created_at).total_seconds() >= seconds


async def test_what_failed_is_tried_again_when_it_is_resumed_and_what_is_done_is_not(
    engine: Engine, works: Works
) -> None:
    run = await engine.started("shaky")
    failed = await engine.over(run.id)
    works.failing = False

    await engine.resume(engine.ana, run.id)
    ended = await engine.over(run.id)

    assert failed.status is RunStatus.FAILED
    assert failed.failure is not None
    assert (failed.failure.type, failed.failure.code) == ("StepFailed", "step_failed")
    assert ended.result == "held"
    assert works.done == ["firm", "shaky", "shaky"]


async def test_a_step_that_came_to_its_end_is_not_tried_again_although_the_run_failed_for_it(
    engine: Engine, works: Works
) -> None:
    run = await engine.started("picky")
    failed = await engine.over(run.id)

    await engine.resume(engine.ana, run.id)
    ended = await engine.over(run.id)

    assert failed.failure is not None
    assert failed.failure.step == "firm"
    assert ended.status is RunStatus.FAILED
    assert works.done == ["firm"]


async def test_a_fork_has_done_what_came_before_and_does_the_rest_under_keys_of_its_own(
    engine: Engine, works: Works
) -> None:
    run = await engine.started("chain")
    await engine.over(run.id)

    fork = (await engine.fork(engine.ana, run.id, step="link-1")).run
    ended = await engine.over(fork.id)

    assert works.done == ["link-0", "link-1", "link-2", "link-1", "link-2"]
    assert ended.forked_from == run.id
    assert ended.result == [
        {"name": "link-0", "key": f"{run.id}:link-0"},
        {"name": "link-1", "key": f"{fork.id}:link-1"},
        {"name": "link-2", "key": f"{fork.id}:link-2"},
    ]


async def test_a_fork_with_named_steps_has_done_those_and_no_others(
    engine: Engine, works: Works
) -> None:
    run = await engine.started("chain")
    source = await engine.over(run.id)
    new = replace(
        source,
        id=RunId.of_claim(source.space, source.principal, "fork", "key"),
        status=RunStatus.QUEUED,
        forked_from=run.id,
        result=None,
        started_at=None,
        finished_at=None,
        leg=1,
        attempts=0,
    )
    steps = ["link-0", "link-2", "nothing"]

    fork, turn = await engine.runs.fork_with(engine.ana, run.id, new, steps=steps, asked="a" * 64)
    assert turn is not None
    await engine.line.join(turn)
    ended = await engine.over(fork.id)
    again, none = await engine.runs.fork_with(engine.ana, run.id, new, steps=steps, asked="a" * 64)

    assert works.done == ["link-0", "link-1", "link-2", "link-1"]
    links: Any = ended.result
    assert [each["key"] for each in links] == [
        f"{run.id}:link-0",
        f"{fork.id}:link-1",
        f"{run.id}:link-2",
    ]
    assert (again.id, none) == (fork.id, None)
    with pytest.raises(KeyReused):
        await engine.runs.fork_with(engine.ana, run.id, new, steps=[], asked="b" * 64)


async def test_what_is_to_be_done_anew_is_forgotten_when_it_is_resumed(
    engine: Engine, works: Works
) -> None:
    """And whoever takes it up again lends it what they may now."""
    run = await engine.started("shaky")
    await engine.over(run.id)
    works.failing = False
    less = replace(engine.ana, scopes=frozenset({"runs:write"}))

    turn = await engine.runs.resume(less, run.id, anew=["firm"], given={"asker": "ana"})
    await engine.line.join(turn)

    ended = await engine.over(run.id)
    assert works.done == ["firm", "shaky", "firm", "shaky"]
    assert (ended.input, ended.scopes) == ({"asker": "ana"}, frozenset({"runs:write"}))


async def test_a_run_that_is_being_carried_out_ends_when_it_is_cancelled(
    engine: Engine, works: Works
) -> None:
    run = await engine.started("endless")
    async with asyncio.timeout(30):
        await works.going.wait()

    cancelled = await engine.cancel(engine.ana, run.id)
    await engine.nothing_runs()

    assert cancelled.status is RunStatus.CANCELLED
    with pytest.raises(RunOver):
        await engine.cancel(engine.ana, run.id)


async def test_a_run_that_waits_ends_when_it_is_cancelled(engine: Engine, works: Works) -> None:
    run = await engine.started("patient")
    await engine.waiting(run.id)

    await engine.cancel(engine.ana, run.id)

    with pytest.raises(RunOver):
        await engine.signal(engine.ana, run.id, "answer", "late")
    assert (await engine.book.get(engine.ana, run.id)).status is RunStatus.CANCELLED
    assert works.done == ["before"]


async def test_runs_are_listed_newest_first_by_what_became_of_them(engine: Engine) -> None:
    done = [await engine.started("chain") for _ in range(3)]
    broken = await engine.started("broken")
    for run in [*done, broken]:
        await engine.over(run.id)

    first = await engine.book.page(engine.ana, statuses=[], kind=None, before=None, limit=2)
    rest = await engine.book.page(
        engine.ana, statuses=[], kind=None, before=first[-1].position, limit=9
    )
    failed = await engine.book.page(
        engine.ana, statuses=[RunStatus.FAILED], kind=None, before=None, limit=9
    )

    assert [run.id for run in [*first, *rest]] == [broken.id, *(run.id for run in done[::-1])]
    assert [run.id for run in failed] == [broken.id]
    assert failed[0].failure is not None
    told = (failed[0].failure.type, failed[0].failure.message)
    assert told == ("ValueError", "It was never whole.")

    async def page(of: PrincipalId, before: RunPosition | None = None) -> list[RunId]:
        found = await engine.book.page(
            engine.ana, statuses=[], kind=None, before=before, limit=2, of=of
        )
        return [run.id for run in found]

    assert await page(engine.ana.id) == [broken.id, done[2].id]
    assert await page(PrincipalId(UUID(int=1))) == []
    forgotten = RunPosition(done[1].created_at, RunId(UUID(int=0)))
    assert await page(engine.ana.id, forgotten) == [done[0].id]


async def test_a_list_can_say_how_many_steps_are_over(engine: Engine) -> None:
    done, waiting = await engine.started("chain"), await engine.started("patient")
    await engine.over(done.id)
    await engine.waiting(waiting.id)

    over = await engine.book.progress(engine.ana, [done.id, waiting.id])

    for run in (done.id, waiting.id):
        steps = await engine.book.steps(engine.ana, run)
        assert over.get(run, 0) == sum(step.state is not StepState.OPEN for step in steps)
    assert not any((await engine.book.progress(engine.stranger, [done.id])).values())


async def test_a_narrow_queue_lets_one_go_at_a_time_the_most_urgent_first(
    engine: Engine, works: Works
) -> None:
    await engine.started("first", place=QueuePlacement(queue="narrow"))
    await works.going.wait()
    runs = [
        await engine.started(
            "busy", {"name": name}, QueuePlacement(queue="narrow", priority=priority)
        )
        for name, priority in [("late", 30), ("soon", 10), ("then", 20)]
    ]
    works.free.set()
    for run in runs:
        await engine.over(run.id)

    assert works.most_at_once == 1
    assert works.done == ["soon", "then", "late"]


async def test_runs_with_the_same_partition_key_take_turns(engine: Engine, works: Works) -> None:
    engine.hold()
    runs = [
        await engine.started("busy", {"name": key}, QueuePlacement(queue="fair", partition=key))
        for key in ["a", "a", "a", "b", "b", "b"]
    ]
    engine.let_go()
    for run in runs:
        await engine.over(run.id)

    assert works.most_at_once <= 2
    assert sorted(works.done) == ["a", "a", "a", "b", "b", "b"]


async def test_a_run_that_is_busy_is_not_put_away_while_it_waits(
    engine: Engine, works: Works
) -> None:
    """A work knows in whose name it is done."""
    ana, named = engine.ana, await engine.started("named")
    run = await engine.started("reading")

    waiting = await engine.waiting(run.id)
    await engine.signal(engine.ana, run.id, "answer", "yes")
    ended = await engine.over(run.id)

    assert list(waiting.waits_for) == ["answer"]
    assert works.done == ["read"]
    assert works.legs == [(1, False), (2, True)]
    assert ended.result == "yes"
    over = await engine.over(named.id)
    assert over.result == [str(ana.id), ana.name, sorted(ana.scopes), str(ana.clearance)]
