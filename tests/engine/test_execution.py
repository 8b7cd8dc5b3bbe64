"""What a piece of work can rely on while it is carried out, put away, and taken up again."""

import asyncio
import contextlib
from dataclasses import replace
from datetime import timedelta
from typing import Literal, get_args

import pytest

from portico.engine import execution
from portico.engine.core.errors import StepFailed
from portico.engine.core.runs import Activation, RunStatus, StepState, as_it_is
from portico.kernel.durable import Action, Durable
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.redaction import Redaction
from tests.engine.journals import AwayNowAndThen, Barring, Meanwhile, SlowToPark
from tests.engine.room import ANA, LONG, Room

Way = Literal["step", "begin", "sleep", "signal", "tell"]


def giving(value: JsonValue) -> Action:
    async def action(_key: str) -> JsonValue:
        return value

    return action


def failing(error: Exception) -> Action:
    async def action(_key: str) -> JsonValue:
        raise error

    return action


class Interrupted:
    """A work that is stopped in its middle the first time, and goes through the second time."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.stopped = False

    async def here(self) -> None:
        if not self.stopped:
            self.stopped = True
            self.reached.set()
            await asyncio.Event().wait()


@pytest.mark.parametrize("first", get_args(Way))
@pytest.mark.parametrize("second", get_args(Way))
async def test_no_name_is_used_twice(first: Way, second: Way) -> None:
    async def use(durable: Durable, how: Way) -> None:
        match how:
            case "step":
                await durable.step("signal:x", giving(1))
            case "begin":
                await durable.start("signal:x", giving(1)).result()
            case "sleep":
                await durable.sleep("signal:x", timedelta(0))
            case "signal":
                await durable.wait_for_signal("x", patience=timedelta(0))
            case "tell":
                await durable.publish("signal:x", "x.y", {})

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        await use(durable, first)
        await use(durable, second)
        return "twice"

    ended = await Room(work=work).ran()

    assert ended.status is RunStatus.FAILED
    assert (ended.failure and ended.failure.code) == "step_named_twice"


@pytest.mark.requirement("runs:steps:once")
async def test_a_step_that_is_done_gives_what_it_gave_and_is_not_done_again() -> None:
    interrupted, done = Interrupted(), list[str]()

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def action(key: str) -> JsonValue:
            done.append(key)
            return len(done)

        first = await durable.step("a", action)
        begun = durable.start("b", action)
        second = await begun.result()
        await interrupted.here()
        return [first, second, await durable.step("c", action)]

    room = Room(work=work)
    run = await room.start()
    await room.crash(run, interrupted.reached)
    ended = await room.leg(run)

    assert ended.result == [1, 2, 3]
    assert done == [f"{run}:a", f"{run}:b", f"{run}:c"]
    assert ended.attempts == 2


@pytest.mark.requirement("runs:steps:failures-kept")
@pytest.mark.parametrize("how", ["step", "begin"])
async def test_a_failure_is_the_same_the_first_time_and_each_time_after(how: str) -> None:
    interrupted, caught = Interrupted(), list[StepFailed]()

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        action = failing(OSError("no space left"))
        try:
            if how == "step":
                await durable.step("a", action)
            await durable.start("b", action).result()
        except StepFailed as error:
            caught.append(error)
        await interrupted.here()
        return str(caught[-1])

    room = Room(work=work)
    run = await room.start()
    await room.crash(run, interrupted.reached)
    ended = await room.leg(run)

    first, second = caught
    assert (str(first), first.failure) == (str(second), second.failure)
    assert (first.failure.type, first.failure.message) == ("OSError", "no space left")
    assert first.__cause__ is second.__cause__ is None
    assert ended.result == str(first)


async def test_the_log_says_how_a_run_failed_and_not_what_it_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever reads the log need not be cleared for the run."""

    async def work(durable: Durable, _given: JsonObject) -> JsonValue:
        return await durable.step("write", failing(OSError("the merger is on")))

    room = Room(work=work)
    run = await room.start()

    await room.leg(run)

    (line,) = [record.getMessage() for record in caplog.records if record.name == "portico.engine"]
    assert line == f"{run} failed: StepFailed (step_failed) in the step 'write'"


async def test_a_failure_that_nobody_catches_is_how_the_run_ends() -> None:
    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        return await durable.step("a", failing(OSError("no space left")))

    ended = await Room(work=work).ran()

    assert (ended.status, ended.result) == (RunStatus.FAILED, None)
    assert str(ended.failure).count("no space left") == 1
    assert ended.finished_at is not None


async def test_a_step_is_tried_as_often_as_was_said_under_the_same_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portico.engine.execution._FIRST_PAUSE", 0.001)
    keys: list[str] = []

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def action(key: str) -> JsonValue:
            keys.append(key)
            if len(keys) < 3:
                raise OSError("not yet")
            return "there"

        return await durable.step("a", action, tries=3)

    room = Room(work=work)
    run = await room.start()
    ended = await room.leg(run)

    assert (ended.status, ended.result) == (RunStatus.DONE, "there")
    assert keys == [f"{run}:a"] * 3


async def test_a_run_is_not_over_before_what_it_began_is() -> None:
    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def slow(_key: str) -> JsonValue:
            await asyncio.sleep(0.02)
            return "slow"

        durable.start("stray", slow)
        return "done"

    room = Room(work=work)
    run = await room.start()
    ended = await room.leg(run)

    assert ended.result == "done"
    assert [(step.name, step.state) for step in await room.steps(run)] == [
        ("stray", StepState.DONE)
    ]


async def test_something_is_told_once() -> None:
    interrupted = Interrupted()

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        await durable.publish("said", "debate.said", {"text": "hello"})
        await interrupted.here()
        return None

    room = Room(work=work)
    run = await room.start()
    await room.crash(run, interrupted.reached)
    await room.leg(run)

    told = [entry for entry in await room.told(run) if entry.type == "debate.said"]
    assert [entry.details for entry in told] == [{"text": "hello"}]


async def test_a_step_that_takes_long_is_announced_and_a_short_one_is_not() -> None:
    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def long(_key: str) -> JsonValue:
            with room.bus.listen(ANA.space, str(run)) as news:
                while all(entry.type != "step.started" for entry in await room.told(run)):
                    await news.wait()
            return None

        await durable.step("short", giving(None))
        await durable.step("long", long)
        return None

    room = Room(work=work)
    run = await room.start()
    await room.leg(run)

    told = [(entry.type, entry.details.get("step")) for entry in await room.told(run)]
    assert told == [
        ("run.queued", None),
        ("run.started", None),
        ("step.done", "short"),
        ("step.started", "long"),
        ("step.done", "long"),
        ("run.done", None),
    ]


async def waiting_work(durable: Durable, given: JsonObject) -> JsonValue:
    patience = given.get("patience")
    return await durable.wait_for_signal(
        "go", patience=None if patience is None else timedelta(seconds=float(str(patience)))
    )


@pytest.fixture
def room() -> Room:
    """In which runs wait for a signal."""
    return Room(work=waiting_work)


async def test_what_nobody_answered_in_time_can_be_waited_for_again() -> None:
    async def work(durable: Durable, _given: JsonObject) -> JsonValue:
        short = timedelta(0)
        first = await durable.wait_for_signal("go", patience=short, name="go:1")
        return [first, await durable.wait_for_signal("go", name="go:2")]

    room = Room(work=work)

    async with room.working():
        run = await room.start()
        await room.until(run, RunStatus.WAITING)
        await room.signal_run(ANA, run, "go", "gone")
        ended = await room.until(run, RunStatus.DONE)

    assert ended.result == [None, "gone"]


@pytest.mark.requirement("runs:waits:hold-nothing")
async def test_runs_that_wait_hold_no_task(room: Room) -> None:
    async with room.working():
        before = asyncio.all_tasks()
        runs = [await room.start() for _ in range(100)]
        for run in runs:
            await room.until(run, RunStatus.WAITING)
        async with asyncio.timeout(30):
            while asyncio.all_tasks() != before:  # noqa: ASYNC110 # the last are just leaving
                await asyncio.sleep(0.001)

        for number, run in enumerate(runs):
            await room.signal_run(ANA, run, "go", number)
        results = [(await room.until(run, RunStatus.DONE)).result for run in runs]

    assert results == list(range(100))


async def test_an_answer_that_came_before_it_was_asked_for_is_not_waited_for(room: Room) -> None:
    run = await room.start()

    await room.signal_run(ANA, run, "go", {"early": True})
    ended = await room.leg(run)

    assert (ended.status, ended.result, ended.leg) == (RunStatus.DONE, {"early": True}, 1)


async def test_an_answer_while_it_is_being_carried_out_is_heard_and_not_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        return await durable.wait_for_signal("go", patience=LONG)

    monkeypatch.setattr(execution, "_LOOK", LONG.total_seconds())
    room = Room(work=work)
    run = await room.start()
    carry = replace(room.run_leg(), grace=LONG)  # within which it is not put away
    async with asyncio.timeout(30):
        carrying = asyncio.ensure_future(carry(Activation(run, 1)))
        while not await room.steps(run):  # noqa: ASYNC110 # seen only from outside
            await asyncio.sleep(0)
        await room.signal_run(ANA, run, "go", "now")
        await carrying

    ended = await room.seen(run)
    assert (ended.result, ended.leg) == ("now", 1)


async def test_whoever_gets_no_answer_in_time_gets_none(room: Room) -> None:
    run = await room.start(patience=3600)

    async with room.working():
        parked = await room.until(run, RunStatus.WAITING)
        room.clock.turn(LONG)
        ended = await room.until(run, RunStatus.DONE)

    assert parked.wakes_at == parked.created_at + LONG
    assert (ended.result, ended.leg) == (None, 2)


async def test_an_answer_in_time_counts_however_late_it_is_read(room: Room) -> None:
    run = await room.start(patience=3600)
    await room.leg(run)

    await room.signal_run(ANA, run, "go", "in time")
    room.clock.turn(2 * LONG)
    ended = await room.leg(run)

    assert ended.result == "in time"

    run = await room.start()
    await room.leg(run)

    await room.run_leg()(Activation(run, 1))

    assert (await room.seen(run)).status is RunStatus.WAITING


async def test_a_wait_that_ended_without_an_answer_stays_so() -> None:
    interrupted = Interrupted()

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        said = await durable.wait_for_signal("go", patience=timedelta(0))
        await interrupted.here()
        return said

    room = Room(work=work)
    run = await room.start()
    await room.crash(run, interrupted.reached)
    await room.signal_run(ANA, run, "go", "too late")

    assert (await room.leg(run)).result is None


async def test_the_time_of_a_sleep_counts_from_when_it_was_first_come_to() -> None:
    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        await durable.sleep("night", LONG)
        return "morning"

    room = Room(work=work)
    run = await room.start()
    first = await room.leg(run)
    room.clock.turn(LONG / 2)
    (turn,) = [Activation(run, first.leg)]
    assert not room.runs.due(room.clock.now())
    room.clock.turn(LONG / 2)
    assert [each.activation for each in room.runs.due(room.clock.now())] == [turn]
    ended = await room.leg(run)

    (step,) = await room.steps(run)
    assert (ended.result, step.state) == ("morning", StepState.DONE)
    assert step.finished_at == step.started_at + LONG


async def test_a_short_sleep_is_sat_out() -> None:
    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        await durable.sleep("nap", timedelta(milliseconds=5))
        return None

    room = Room(work=work)
    room.clock = type(room.clock)(step=timedelta(milliseconds=1))
    ended = await room.leg(await room.start())

    assert (ended.status, ended.leg) == (RunStatus.DONE, 1)


async def test_several_waits_at_once_wake_it_with_the_first_and_each_gets_its_own() -> None:
    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async with asyncio.TaskGroup() as group:
            one = group.create_task(durable.wait_for_signal("one"))
            two = group.create_task(durable.wait_for_signal("two", patience=LONG))
            group.create_task(durable.sleep("night", 2 * LONG))
        return [one.result(), two.result()]

    room = Room(work=work)
    run = await room.start()
    parked = await room.leg(run)
    await room.signal_run(ANA, run, "one", 1)
    again = await room.leg(run)
    room.clock.turn(2 * LONG)
    room.runs.due(room.clock.now())
    ended = await room.leg(run)

    assert (set(parked.waits_for), parked.wakes_at) == ({"one", "two"}, parked.created_at + LONG)
    assert (again.status, again.waits_for) == (RunStatus.WAITING, ("two",))
    assert ended.result == [1, None]


@pytest.mark.requirement("runs:waits:hold-nothing")
async def test_a_run_that_still_does_something_is_not_put_away() -> None:
    go_on = asyncio.Event()

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def busy(_key: str) -> JsonValue:
            await go_on.wait()
            return "busy"

        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(durable.wait_for_signal("go", patience=LONG))
            working = group.create_task(durable.step("busy", busy))
        return [waiting.result(), working.result()]

    room = Room(work=work)
    run = await room.start()
    carrying = asyncio.ensure_future(room.leg(run))
    await asyncio.sleep(0.06)
    during = (await room.seen(run)).status
    go_on.set()
    parked = await carrying
    await room.signal_run(ANA, run, "go", "went")
    ended = await room.leg(run)

    assert (during, parked.status) == (RunStatus.RUNNING, RunStatus.WAITING)
    assert ended.result == ["went", "busy"]


async def test_a_work_that_swallows_being_put_away_is_put_away_all_the_same() -> None:
    swallowed: list[str] = []

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        try:
            return await durable.wait_for_signal("go")
        except asyncio.CancelledError:
            swallowed.append("once")
            return "nothing of the kind"

    room = Room(work=work)
    run = await room.start()
    parked = await room.leg(run)
    await room.signal_run(ANA, run, "go", "yes")
    ended = await room.leg(run)

    assert (parked.status, swallowed) == (RunStatus.WAITING, ["once"])
    assert (ended.status, ended.result) == (RunStatus.DONE, "yes")


async def test_a_work_that_goes_on_after_being_put_away_can_do_nothing_more() -> None:
    done: list[str] = []

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def action(key: str) -> JsonValue:
            done.append(key)
            return None

        try:
            await durable.wait_for_signal("go")
        except asyncio.CancelledError:
            await durable.step("behind their back", action)
        return await durable.step("after", action)

    room = Room(work=work)
    run = await room.start()
    parked = await room.leg(run)

    assert parked.status is RunStatus.WAITING
    assert [step.name for step in await room.steps(run)] == ["signal:go"]


async def test_what_is_begun_while_the_run_is_being_put_away_waits_until_it_goes_on() -> None:
    done: list[str] = []

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def action(key: str) -> JsonValue:
            done.append(key)
            return None

        async def at_the_worst_moment() -> None:
            await journal.parking.wait()
            await durable.start("late", action).result()

        async with asyncio.TaskGroup() as group:
            group.create_task(durable.wait_for_signal("go"))
            group.create_task(at_the_worst_moment())
        return len(done)

    room = Room(work=work)
    journal = SlowToPark(room)
    run = await room.start()
    parked = await room.leg(run, journal)
    done_by_then = [*done]
    await room.signal_run(ANA, run, "go", None)
    ended = await room.leg(run)

    assert (parked.status, done_by_then) == (RunStatus.WAITING, [])
    assert (ended.status, ended.result) == (RunStatus.DONE, 1)


async def test_what_comes_as_a_run_is_put_away_is_not_missed(room: Room) -> None:
    answered = Meanwhile(room, lambda run: room.signal_run(ANA, run, "go", "just now"))
    cancelled = Meanwhile(room, lambda run: room.cancel_run(ANA, run))

    ended = await room.leg(await room.start(), answered)

    assert (ended.status, ended.result, ended.leg) == (RunStatus.DONE, "just now", 1)
    assert (await room.leg(await room.start(), cancelled)).status is RunStatus.CANCELLED


async def test_a_long_step_of_a_run_that_was_taken_over_is_not_announced_by_the_former() -> None:
    begun = asyncio.Event()

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def long(_key: str) -> JsonValue:
            begun.set()
            await asyncio.sleep(0.3)
            return None

        return await durable.step("long", long)

    room = Room(work=work)
    run = await room.start()
    former = asyncio.ensure_future(room.run_leg()(Activation(run, 1)))
    await begun.wait()
    await room.runs.claim(Activation(run, 1))
    await former

    assert "step.started" not in [entry.type for entry in await room.told(run)]


async def test_a_work_that_cancels_itself_or_is_barred_has_failed(room: Room) -> None:
    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        raise asyncio.CancelledError

    ended = await Room(work=work).ran()

    assert ended.status is RunStatus.FAILED
    assert (ended.failure and ended.failure.type) == "CancelledError"

    run = await room.start()
    ended = await room.leg(run, Barring(room))

    assert ended.status is RunStatus.FAILED
    assert ended.failure is not None
    assert (ended.failure.code, ended.failure.message) == ("run_barred", "ana is disabled")


@pytest.mark.requirement("runs:steps:once")
async def test_whoever_was_taken_over_writes_nothing_more() -> None:
    interrupted, done = Interrupted(), list[str]()

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def action(key: str) -> JsonValue:
            done.append(key)
            await interrupted.here()
            return len(done)

        return await durable.step("a", action)

    room = Room(work=work)
    run = await room.start()
    slow = asyncio.ensure_future(room.leg(run))
    await interrupted.reached.wait()
    ended = await room.leg(run)
    slow.cancel()

    assert (ended.status, ended.result) == (RunStatus.DONE, 2)


async def test_one_who_lost_the_run_ends_without_a_word() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def action(key: str) -> JsonValue:
            first = not begun.is_set()
            begun.set()
            if first:
                await go_on.wait()
            return "first" if first else "second"

        return await durable.step("a", action)

    room = Room(work=work)
    run = await room.start()
    slow = asyncio.ensure_future(room.run_leg()(Activation(run, 1)))
    await begun.wait()
    ended = await room.leg(run)
    go_on.set()
    await slow

    assert ended.result == "second"
    assert (await room.seen(run)).result == "second"
    assert [entry.type for entry in await room.told(run)].count("step.done") == 1


async def test_a_run_that_never_comes_to_an_end_is_stuck_and_can_be_taken_up_by_a_person() -> None:
    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        return "done"

    room = Room(work=work)
    run = await room.start()
    for _ in range(3):
        await room.runs.claim(Activation(run, 1))

    await room.run_leg(most_attempts=3)(Activation(run, 1))
    stuck = await room.seen(run)
    await room.resume_run(ANA, run)
    ended = await room.leg(run)

    assert stuck.status is RunStatus.STUCK
    assert stuck.failure is not None
    assert stuck.failure.code == "run_stuck"
    assert (ended.status, ended.result) == (RunStatus.DONE, "done")


async def test_a_run_of_a_kind_that_is_not_known_here_is_left_to_who_knows_it() -> None:
    room = Room()
    run = await room.start()
    known, room.kinds = room.kinds, type(room.kinds)([])

    left = await room.leg(run)
    room.kinds = known
    ended = await room.leg(run)

    assert (left.status, left.failure) == (RunStatus.RUNNING, None)
    assert ended.status is RunStatus.DONE


@pytest.mark.requirement("runs:database:away")
async def test_while_the_database_is_away_nothing_is_lost_and_nothing_done_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portico.engine.execution._PAUSE", 0.001)
    monkeypatch.setattr("portico.engine.execution._PAUSE", 0.001)
    monkeypatch.setattr("portico.engine.execution._PAUSE", 0.001)
    done: list[str] = []

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        async def action(key: str) -> JsonValue:
            done.append(key)
            return len(done)

        first = await durable.step("a", action)
        said = await durable.wait_for_signal("go")
        return [first, said, await durable.step("b", action)]

    room = Room(work=work)
    run, journal = await room.start(), AwayNowAndThen(room)
    parked = await room.leg(run, journal)
    await room.signal_run(ANA, run, "go", "yes")
    ended = await room.leg(run, journal)

    assert parked.status is RunStatus.WAITING
    assert (ended.result, done) == ([1, "yes", 2], [f"{run}:a", f"{run}:b"])


async def test_a_run_says_how_it_began_each_time() -> None:
    interrupted = Interrupted()

    async def work(durable: Durable, given: JsonObject) -> JsonValue:
        await interrupted.here()
        return await durable.wait_for_signal("go")

    room = Room(work=work)
    run = await room.start()
    await room.crash(run, interrupted.reached)
    await room.leg(run)
    await room.signal_run(ANA, run, "go", None)
    await room.leg(run)

    assert [entry.type for entry in await room.told(run)] == [
        "run.queued",
        "run.started",
        "run.taken_over",
        "step.waiting",
        "run.waiting",
        "run.signalled",
        "run.woken",
        "step.done",
        "run.done",
    ]


async def test_a_work_knows_its_run_and_its_steps_give_the_same_before_and_after() -> None:
    async def work(durable: Durable, _given: JsonObject) -> JsonValue:
        said = await durable.step("odd", giving({"pair": (1, 2), "deep": [{"x": None}]}))
        return [str(durable.run), repr(said)]

    room = Room(work=work)
    run = await room.start()

    told = "{'pair': [1, 2], 'deep': [{'x': None}]}"
    assert (await room.leg(run)).result == [str(run), told]


@pytest.mark.parametrize("type_", ["run.done", "step.done", "text.added", "plain", "a.b\n", "A.b"])
async def test_a_work_cannot_tell_what_is_not_its_to_tell(type_: str) -> None:
    async def work(durable: Durable, _given: JsonObject) -> JsonValue:
        await durable.publish("news", type_, {})
        return None

    ended = await Room(work=work).ran()

    assert (ended.failure and ended.failure.code) == "bad_event_type"


@pytest.mark.parametrize(
    "given", [float("nan"), {"a": {1, 2}}, object()], ids=["nan", "set", "object"]
)
async def test_a_step_that_gives_what_cannot_be_kept_has_failed(given: JsonValue) -> None:
    async def work(durable: Durable, _given: JsonObject) -> JsonValue:
        return await durable.step("odd", giving(given))

    ended = await Room(work=work).ran()

    assert (ended.failure and ended.failure.code) == "step_failed"


CANARY = "canary-9f8e7d6c5b4a"


@pytest.mark.requirement("engine:secrets:not-told")
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "as it is"])
async def test_a_secret_in_an_error_is_in_no_event_and_in_no_failure(clean: bool) -> None:
    """Both ways: without the cleaning the same look finds it."""

    async def work(durable: Durable, _given: JsonObject) -> JsonValue:
        await durable.publish("news", "plan.changed", {"deep": [{"key": CANARY}]})
        with contextlib.suppress(StepFailed):
            await durable.step("leaks", failing(ConnectionError(f"refused: {CANARY}")))
        raise RuntimeError(f"while using {CANARY}") from ValueError(CANARY)

    room = Room(work=work, clean=Redaction([CANARY]).clean_json if clean else as_it_is)
    run = await room.start()
    ended = await room.leg(run)

    page = await room.log.read(ANA, str(run), after=0, limit=99)
    steps = await room.runs.steps(ANA, run)
    told = repr([page.entries, ended.failure, [step.failure for step in steps]])
    assert (CANARY in told) is not clean


class Tidying:
    """A work that has something to do on its way out, however it goes."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, durable: Durable, _given: JsonObject) -> JsonValue:
        async def main(_key: str) -> JsonValue:
            self.begun.set()
            await self.go.wait()
            self.did.append("main")
            return None

        async def release(_key: str) -> JsonValue:
            self.did.append("release")
            return None

        try:
            await durable.step("main", main)
        finally:
            await durable.step("release", release)
        return None


async def test_nothing_is_done_on_the_way_out_of_a_process_that_stops() -> None:
    work = Tidying()
    room = Room(work=work)
    run = await room.start()

    await room.crash(run, work.begun)
    assert work.did == []
    work.go.set()
    ended = await room.leg(run)

    assert work.did == ["main", "release"]
    assert ended.status is RunStatus.DONE


async def test_nothing_is_done_on_the_way_out_of_a_run_that_was_cancelled() -> None:
    work = Tidying()
    room = Room(work=work)
    run = await room.start()
    carrying = asyncio.ensure_future(room.run_leg()(Activation(run, 1)))
    await work.begun.wait()

    await room.cancel_run(ANA, run)
    async with asyncio.timeout(30):
        await carrying

    assert work.did == []


async def test_a_resumed_run_tries_what_ended_it_and_not_what_it_had_coped_with() -> None:
    did: list[str] = []
    mails = [failing(ConnectionError("no")), giving("mailed")]

    async def work(durable: Durable, _given: JsonObject) -> JsonValue:
        try:
            await durable.step("charge A", failing(ConnectionError("refused")))
        except StepFailed:
            did.append("A refused")
            await durable.step("charge B", giving("charged"))
        try:
            return await durable.step("mail", mails[0])
        except StepFailed as error:
            raise RuntimeError("nobody was told") from error

    room = Room(work=work)
    run = await room.start()
    failed = await room.leg(run)
    mails.pop(0)
    await room.resume_run(ANA, run)
    ended = await room.leg(run)

    assert failed.failure is not None
    assert (failed.failure.type, failed.failure.step) == ("RuntimeError", "mail")
    assert ended.result == "mailed"
    assert did == ["A refused", "A refused"]


@pytest.mark.parametrize("name", ["", "a\0b", "two\nlines", "x" * 301, "\ud800"], ids=ascii)
@pytest.mark.parametrize("way", ["step", "begin", "sleep", "signal", "tell"])
async def test_a_name_that_cannot_be_kept_is_refused_before_anything_is_done(
    name: str, way: Way
) -> None:
    done: list[str] = []

    async def act(_key: str) -> JsonValue:
        done.append("done")
        return None

    async def work(durable: Durable, _given: JsonObject) -> JsonValue:
        match way:
            case "step":
                await durable.step(name, act)
            case "begin":
                await durable.start(name, act).result()
            case "sleep":
                await durable.sleep(name, timedelta(0))
            case "signal":
                await durable.wait_for_signal(name or "x" * 201, patience=timedelta(0))
            case "tell":
                await durable.publish(name, "x.y", {})
        return None

    ended = await Room(work=work).ran()

    assert (ended.failure and ended.failure.code) == "bad_step_name"
    assert done == []


async def test_a_run_whose_work_is_through_can_be_cancelled_while_a_step_goes_on() -> None:
    begun = asyncio.Event()

    async def work(durable: Durable, _given: JsonObject) -> JsonValue:
        async def endless(_key: str) -> JsonValue:
            begun.set()
            await asyncio.Event().wait()
            return None

        durable.start("endless", endless)
        return "through"

    room = Room(work=work)
    run = await room.start()
    carrying = asyncio.ensure_future(room.run_leg()(Activation(run, 1)))
    await begun.wait()

    await room.cancel_run(ANA, run)
    async with asyncio.timeout(30):
        await carrying

    assert (await room.seen(run)).status is RunStatus.CANCELLED
