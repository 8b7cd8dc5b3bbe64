"""Runs: start, list, wait, cancel, resume."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.engine import runs as wait_for_run
from portico.engine.core.errors import (
    AlreadyAnswered,
    InvalidInput,
    KeyReused,
    KindNotFound,
    RunNotFound,
    RunNotOver,
    RunOver,
    RunWriteDown,
    StepNotFound,
    TopicRefused,
)
from portico.engine.core.runs import QueuePlacement, RunPosition, RunStatus, StepState
from portico.engine.runs import Kind, RunSpec
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import NotPermitted
from portico.kernel.durable import Durable
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue, NotCanonical
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import a_space, an_identity
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.engine.room import ANA, BEN, OLGA, VERA, Room, nothing

WISH = RunSpec(kind="work", input={"a": 1}, key="k1")


async def test_a_run_begins_as_its_starters_and_stands_in_line(room: Room) -> None:
    run = await room.start_run(ANA, WISH)

    assert (run.principal, run.space, run.clearance) == (ANA.id, ANA.space, ANA.clearance)
    assert (run.status, run.leg, run.attempts, run.input) == (RunStatus.QUEUED, 1, 0, {"a": 1})
    assert [entry.type for entry in await room.told(run.id)] == ["run.queued"]
    async with room.working():
        await room.until(run.id, RunStatus.DONE)


@pytest.mark.requirement("runs:start:once")
async def test_asking_twice_under_one_key_starts_one_run(room: Room) -> None:
    first = await room.start_for_people(ANA, WISH)
    second = await room.start_for_people(ANA, WISH)
    await room.leg(first.run.id)
    third = await room.start_for_people(ANA, WISH)

    assert first.run.id == second.run.id == third.run.id
    assert [each.replayed for each in (first, second, third)] == [False, True, True]
    assert third.run.status is RunStatus.DONE
    assert len(await room.list_runs(ANA, limit=10)) == 1
    without = [await room.start_for_people(ANA, replace(WISH, key=None)) for _ in range(2)]
    assert without[0].run.id != without[1].run.id
    assert [each.replayed for each in without] == [False, False]


@pytest.mark.requirement("runs:start:once")
async def test_a_key_that_comes_back_with_another_wish_is_refused(room: Room) -> None:
    await room.start_run(ANA, WISH)

    for who, wish in (
        (ANA, replace(WISH, input={"a": 2})),
        (ANA, replace(WISH, label=PUBLIC)),
        (replace(ANA, clearance=PUBLIC), WISH),
    ):
        with pytest.raises(KeyReused):
            await room.start_run(who, wish)


@pytest.mark.requirement("runs:start:once")
async def test_a_key_is_ones_own_and_for_one_kind() -> None:
    room = Room(Kind(name="other", work=nothing))

    mine = await room.start_run(ANA, WISH)
    theirs = await room.start_run(BEN, WISH)
    of_another_kind = await room.start_run(ANA, replace(WISH, kind="other"))

    assert len({mine.id, theirs.id, of_another_kind.id}) == 3

    def check(given: JsonObject) -> None:
        raise InvalidInput("picky", [])

    room = Room(Kind(name="picky", work=nothing, check=check))

    with pytest.raises(InvalidInput):
        await room.start_run(ANA, RunSpec(kind="picky"))

    assert await room.list_runs(ANA, limit=10) == []


@pytest.mark.parametrize(
    ("clearance", "asked", "given"),
    [
        ("restricted+finance", None, "team"),
        ("team", None, "team"),
        ("public", None, "public"),
        ("restricted+finance", "restricted+finance", "restricted+finance"),
        ("restricted", "public", "public"),
    ],
)
async def test_a_run_is_as_secret_as_asked_or_the_teams(
    clearance: str, asked: str | None, given: str
) -> None:
    caller = replace(ANA, clearance=Label.parse(clearance))
    label = None if asked is None else Label.parse(asked)

    run = await Room().start_run(caller, replace(WISH, label=label))

    assert str(run.label) == given


@pytest.mark.parametrize("label", [Label(Level.CONFIDENTIAL), Label(Level.TEAM, frozenset({"x"}))])
async def test_nobody_starts_a_run_above_their_clearance(label: Label) -> None:
    with pytest.raises(TopicRefused):
        await Room().start_run(ANA, replace(WISH, label=label))


@pytest.mark.parametrize("caller", [VERA, replace(ANA, scopes=frozenset({"runs:read"}))])
async def test_starting_one_needs_the_scope(caller: Principal) -> None:
    with pytest.raises(NotPermitted):
        await Room().start_for_people(caller, WISH)


async def test_people_start_only_the_kinds_that_are_for_them_and_that_there_are() -> None:
    room = Room(Kind(name="inner", work=nothing))

    with pytest.raises(KindNotFound) as hidden:
        await room.start_for_people(OLGA, RunSpec(kind="inner"))
    with pytest.raises(KindNotFound) as unknown:
        await room.start_run(ANA, RunSpec(kind="?"))

    assert hidden.value.fix == "The kinds are: work"
    assert unknown.value.fix == "The kinds are: inner, work"
    assert (await room.start_run(OLGA, RunSpec(kind="inner"))).kind == "inner"


async def test_a_run_stands_where_its_kind_says_unless_it_is_told_otherwise() -> None:
    place = QueuePlacement(queue="slow", partition="a", priority=3)
    room = Room(Kind(name="slow", work=nothing, placement=place))

    usual = await room.start_run(ANA, RunSpec(kind="slow"))
    special = await room.start_run(ANA, RunSpec(kind="slow", placement=QueuePlacement(priority=-1)))

    assert (usual.placement, special.placement) == (place, QueuePlacement(priority=-1))


async def test_what_was_read_in_a_task_is_under_a_run_that_is_started_in_it(room: Room) -> None:
    room.world.identities.insert((OLGA.space, OLGA.id), an_identity("olga"))
    secret = Label(Level.CONFIDENTIAL)
    olga = replace(OLGA, clearance=secret)
    await room.contexts.raise_taint(olga, secret, untrusted=False)

    started = await room.start_for_people(olga, replace(WISH, label=None))
    with pytest.raises(RunWriteDown) as caught:
        await room.start_for_people(olga, replace(WISH, key="other", label=PUBLIC))

    assert started.run.label == secret
    assert "is confidential; the run is public" in str(caught.value)


AN_HOUR, A_MOMENT, AT_ONCE = timedelta(hours=1), timedelta(milliseconds=40), timedelta(0)
NOBODY = replace(ANA, scopes=frozenset[str]())
STRANGER = as_principal(an_identity("zoe", space=a_space("elsewhere")))
UNKNOWN = RunId.mint(BEGINNING, SeededEntropy("unknown"))


async def three_steps(durable: Durable, given: JsonObject) -> JsonValue:
    async def action(key: str) -> JsonValue:
        return key

    for number in range(3):
        await durable.step(f"s{number}", action)
    return await durable.wait_for_signal("go")


async def listed(
    room: Room,
    caller: Principal = ANA,
    *,
    statuses: Sequence[RunStatus] = (),
    kind: str | None = None,
    before: RunPosition | None = None,
) -> list[RunId]:
    found = await room.list_runs(caller, statuses=statuses, kind=kind, before=before, limit=10)
    return [run.id for run, _ in found]


async def test_runs_are_listed_newest_first_from_where_one_stands() -> None:
    room, runs = Room(), []
    for _ in range(4):
        room.clock.turn(timedelta(seconds=1))
        runs.append(await room.start())

    assert await listed(room) == runs[::-1]
    stands = (await room.seen(runs[2])).position
    assert await listed(room, before=stands) == [runs[1], runs[0]]
    assert await listed(room, before=replace(stands, run=UNKNOWN)) == [runs[1], runs[0]]
    assert len(await room.list_runs(ANA, limit=2)) == 2


async def test_runs_are_listed_by_status_and_kind_and_say_how_many_steps_are_over() -> None:
    room = Room(Kind(name="other", work=nothing))
    done, queued, other = await room.start(), await room.start(), await room.start("other")
    await room.leg(done)

    assert set(await listed(room, statuses=[RunStatus.QUEUED])) == {queued, other}
    assert await listed(room, statuses=[RunStatus.DONE, RunStatus.FAILED]) == [done]
    assert await listed(room, kind="other") == [other]

    room = Room(work=three_steps)
    run, _queued = await room.start(), await room.start()
    await room.leg(run)

    found = {each.id: over for each, over in await room.list_runs(ANA, limit=10)}

    assert found == {run: 3, _queued: 0}


async def test_what_is_above_a_caller_is_not_there(room: Room) -> None:
    above = replace(ANA, clearance=Label.parse("confidential"))
    wish = RunSpec(kind="work", label=Label.parse("confidential"))
    hidden, open_ = (await room.start_run(above, wish)).id, await room.start()

    assert await listed(room, BEN) == [open_]
    assert await listed(room, STRANGER) == []
    for run in (hidden, UNKNOWN):
        with pytest.raises(RunNotFound):
            await room.show_run(BEN, run)
    with pytest.raises(RunNotFound):
        await room.show_run(STRANGER, open_)


async def test_a_run_is_shown_with_its_steps_in_the_order_in_which_they_ended() -> None:
    room = Room(work=three_steps)
    run = await room.start()
    await room.leg(run)

    found, steps = await room.show_run(VERA, run)

    assert found.status is RunStatus.WAITING
    assert [(step.name, step.number) for step in steps] == [
        ("s0", 1),
        ("s1", 2),
        ("s2", 3),
        ("signal:go", 0),
    ]
    assert steps[0].output == f"{run}:s0"


async def test_looking_needs_the_scope(room: Room) -> None:
    run = await room.start()

    with pytest.raises(NotPermitted):
        await room.list_runs(NOBODY, limit=10)
    with pytest.raises(NotPermitted):
        await room.show_run(NOBODY, run)


async def test_whoever_waits_is_told_at_once_and_not_by_looking_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wait_for_run, "_LOOK", AN_HOUR.total_seconds())
    room = Room(work=three_steps)
    run = await room.start()

    async with asyncio.timeout(30), room.working():
        waiting = asyncio.ensure_future(room.wait_for_run(ANA, run, AN_HOUR))
        await room.until(run, RunStatus.WAITING)
        await room.cancel_run(ANA, run)
        found = await waiting

    assert found.status is RunStatus.CANCELLED


async def test_whoever_waits_gets_a_run_when_it_has_ended_or_their_patience_has(room: Room) -> None:
    run = await room.start()

    found = [await room.wait_for_run(ANA, run, patience) for patience in (AT_ONCE, A_MOMENT)]

    assert [each.status for each in found] == [RunStatus.QUEUED, RunStatus.QUEUED]

    async with room.working():
        ended = await room.wait_for_run(ANA, run, AN_HOUR)

    assert ended.status is RunStatus.DONE


async def test_one_waits_for_ones_own_without_a_scope_and_for_anothers_with_it(room: Room) -> None:
    run = await room.start()

    assert (await room.wait_for_run(NOBODY, run, AT_ONCE)).id == run
    assert (await room.wait_for_run(OLGA, run, AT_ONCE)).id == run
    with pytest.raises(NotPermitted):
        await room.wait_for_run(replace(BEN, scopes=frozenset()), run, AT_ONCE)


@pytest.mark.parametrize("kind", [PrincipalKind.AGENT, PrincipalKind.PERSON])
async def test_a_program_that_reads_a_run_has_read_what_it_is_about(kind: PrincipalKind) -> None:
    room = Room()
    run = await room.seen(await room.start())
    reader = replace(ANA, kind=kind)
    room.world.identities.insert((ANA.space, ANA.id), an_identity("ana"))

    await room.show_run(reader, run.id)

    task = await room.contexts.get(reader)
    read = kind is PrincipalKind.AGENT
    assert (task.label, task.untrusted) == ((run.label, True) if read else (PUBLIC, False))


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
def stepped_work() -> Steps:
    return Steps()


@pytest.fixture
def steps_room(stepped_work: Steps) -> Room:
    return Room(work=stepped_work)


@every_act
async def test_stepping_in_takes_the_right_to_do_so(act: Act, steps_room: Room) -> None:
    run = await steps_room.start(caller=replace(ANA, clearance=Label.parse("team")))

    for who, scope in (
        (replace(ANA, scopes=frozenset({"runs:read"})), "runs:write"),
        (BEN, "runs:control"),
    ):
        with pytest.raises(NotPermitted) as caught:
            await act(steps_room, who, run)
        assert caught.value.scope == scope
    with pytest.raises(RunNotFound):
        await act(steps_room, replace(OLGA, clearance=Label.parse("public")), run)


async def test_an_operator_may_cancel_for_others(steps_room: Room) -> None:
    run, own = await steps_room.start(), await steps_room.start(caller=VERA)

    found = await steps_room.cancel_run(OLGA, run)
    with pytest.raises(NotPermitted):
        await steps_room.cancel_run(VERA, own)

    assert found.status is RunStatus.CANCELLED
    assert (await steps_room.told(run))[-1].details["by"] == "olga"


async def test_a_cancelled_run_leaves_the_line(stepped_work: Steps, steps_room: Room) -> None:
    run = await steps_room.start()

    await steps_room.cancel_run(ANA, run)
    async with steps_room.working():
        await asyncio.sleep(0.02)

    assert stepped_work.done == []
    assert (await steps_room.seen(run)).finished_at is not None


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


async def test_what_is_over_is_not_cancelled_nor_told_anything(steps_room: Room) -> None:
    run = await steps_room.start()
    await steps_room.leg(run)

    for act in (ACTS["cancel"], ACTS["signal"]):
        with pytest.raises(RunOver):
            await act(steps_room, ANA, run)


@pytest.mark.requirement("runs:resume:where-it-was")
async def test_a_failed_run_goes_on_where_it_was_and_tries_again_what_failed(
    stepped_work: Steps,
) -> None:
    stepped_work.failing = {"b"}
    room = Room(work=stepped_work)
    run = await room.start()
    assert (await room.leg(run)).status is RunStatus.FAILED

    stepped_work.failing = set()
    resumed = await room.resume_run(ANA, run)
    done = await room.leg(run)

    assert (resumed.status, resumed.failure, resumed.finished_at) == (RunStatus.QUEUED, None, None)
    assert (done.status, done.leg) == (RunStatus.DONE, 2)
    assert stepped_work.done == ["a", "b", "b", "c"]


async def test_a_cancelled_run_goes_on_with_the_wait_it_was_in(
    stepped_work: Steps, steps_room: Room
) -> None:
    run = await steps_room.start(ask=True)
    assert (await steps_room.leg(run)).status is RunStatus.WAITING
    await steps_room.cancel_run(ANA, run)

    await steps_room.resume_run(ANA, run)
    assert (await steps_room.leg(run)).status is RunStatus.WAITING
    await steps_room.signal_run(ANA, run, "go", "yes")
    done = await steps_room.leg(run)

    assert done.result == [f"{run}:a", f"{run}:b", "yes", f"{run}:c"]
    assert stepped_work.done == ["a", "b", "c"]


async def test_only_what_ended_without_being_done_is_taken_up_again(steps_room: Room) -> None:
    queued, done = await steps_room.start(), await steps_room.start()
    await steps_room.leg(done)

    for run in (queued, done):
        with pytest.raises(RunNotOver):
            await steps_room.resume_run(ANA, run)


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


async def test_a_fork_is_whose_who_made_it_is_and_sees_no_more_than_they_do(
    steps_room: Room,
) -> None:
    source = await steps_room.start(caller=replace(ANA, clearance=Label.parse("restricted")))
    await steps_room.leg(source)

    fork = (await steps_room.fork_run(OLGA, source, step="a")).run

    assert (fork.principal, fork.clearance) == (OLGA.id, OLGA.clearance)


async def test_a_fork_is_of_a_step_that_has_ended_and_made_once_under_one_key(
    steps_room: Room,
) -> None:
    source = await steps_room.start(ask=True)
    await steps_room.leg(source)

    for name in ("signal:go", "c", ""):
        with pytest.raises(StepNotFound):
            await steps_room.fork_run(ANA, source, step=name)
    forks = [await steps_room.fork_run(ANA, source, step="b", key="k") for _ in range(2)]

    assert forks[0].run.id == forks[1].run.id
    assert [fork.replayed for fork in forks] == [False, True]


@pytest.mark.requirement("runs:signal:first-counts")
async def test_the_first_answer_to_what_was_asked_counts(steps_room: Room) -> None:
    run = await steps_room.start(ask=True)
    await steps_room.leg(run)

    assert (await steps_room.signal_run(ANA, run, "other", 1)).status is RunStatus.WAITING
    for no_json in (float("nan"), ["\ud800"]):
        with pytest.raises(NotCanonical):
            await steps_room.signal_run(ANA, run, "go", no_json)
    woken = await steps_room.signal_run(ANA, run, "go", 1)
    with pytest.raises(AlreadyAnswered):
        await steps_room.signal_run(OLGA, run, "go", 2)
    done = await steps_room.leg(run)

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
    await room.contexts.raise_taint(ANA, Label(Level.CONFIDENTIAL), untrusted=False)

    with pytest.raises(RunWriteDown):
        await room.signal_run(ANA, run, "answer", "what was read")
    elsewhere = replace(ANA, key="another")
    await room.signal_run(elsewhere, run, "answer", "something else")
