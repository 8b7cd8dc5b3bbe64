"""What is around a run and not to be had is no failure of its steps; and what was begun is looked
for before anything that could refuse it by now."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import Activation, ClaimedActivation, Run, RunStatus, Step, as_it_is
from portico.engine.execution import Execution
from portico.gateway.calls import CallTool
from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.calls import CallClaim, CallId, ResultId, StoredResult
from portico.gateway.core.errors import ResultNotFound, UpstreamDown, UpstreamTimedOut
from portico.guard.core.approvals import AnswerKind, Resolution
from portico.guard.core.errors import KeyEnded, Refused
from portico.guard.core.vault import VaultClosed
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.gateway import MemoryCallHistory, MemoryResults
from portico.workflows.core.plan_report import StepStatus, WorkflowStatus
from portico.workflows.run_context import SealedOutputs
from portico.workflows.step_calls import ProgressChannel
from tests.engine.journals import Through
from tests.gateway.open_room import DELETE, READ, WRITE
from tests.workflows.plan_room import ANA, DiesBefore, PlanRoom, plan, states, step, step_of
from tests.workflows.test_runs import CLEAR

LONG = "a" * 64
Reading = Callable[..., Awaitable[Run]]


@pytest.fixture
def reading(room: PlanRoom, monkeypatch: pytest.MonkeyPatch) -> Reading:
    """A leg in which `Results.get` fails at its `at`-th time, or is slow; the first is the plan."""

    async def leg(
        run: RunId,
        error: Exception | None = None,
        *,
        slow: bool = False,
        at: int = 2,
        for_good: bool = False,
    ) -> Run:
        real, number = MemoryResults.get, 0

        async def get(
            results: MemoryResults, caller: Any, result: ResultId, now: Any
        ) -> StoredResult:
            nonlocal number
            number += 1
            if slow:
                await asyncio.sleep(0.1)  # longer than a run is quiet before it is put away
            if error is not None and (number == at or (for_good and number > at)):
                raise error
            return await real(results, caller, result, now)

        with monkeypatch.context() as patch:
            patch.setattr(MemoryResults, "get", get)
            return await room.leg(run)

    return leg


async def killed_after_it_paid(room: PlanRoom) -> RunId:
    first = step("pay", WRITE, on_error={"fallback": "other"})
    run = await room.start(plan(first, step("other", WRITE)))
    await room.killed(run, DiesBefore(room, "pay"))
    assert room.writes == {"write /pay": 1}
    return run


async def approved(room: PlanRoom) -> RunId:
    first = step("gone", DELETE, on_error={"fallback": "other"})
    run = await room.run(plan(first, step("other", WRITE)))
    await room.approved(await room.show(run), "gone")
    assert room.writes == {"delete /gone": 1}
    return run


async def test_a_run_is_not_put_away_while_a_step_reads_what_it_is_given(
    room: PlanRoom, reading: Reading
) -> None:
    given = {"path": {"$from": "first.json.path"}}
    use = step("use", WRITE, arguments=given, after=["x"])
    run = await room.run(plan(step("x", DELETE), step("y", DELETE), step("first"), use))
    await room.approved(await room.show(run), "x")

    left = await reading(run, slow=True)

    assert list(left.waits_for) == ["~approval:y:1"]
    assert room.writes == {"delete /x": 1, "write /first": 1}


async def test_nor_while_it_reads_the_plan_of_a_saved_one(room: PlanRoom, reading: Reading) -> None:
    await room.save(clear=CLEAR)
    run = await room.run(plan({"id": "outer", "tool": "workflows.clear"}, step("y", DELETE)))
    await room.approved(await room.show(run), "outer")

    left = await reading(run, slow=True)

    assert sorted(left.waits_for) == ["~approval:outer/gone:2", "~approval:y:1"]


async def test_a_saved_workflow_stays_one_whatever_becomes_of_its_server(room: PlanRoom) -> None:
    await room.save(clear=CLEAR)
    outer: JsonObject = {"id": "outer", "tool": "workflows.clear"}
    run = await room.run(plan(outer, step("after", WRITE, after=["outer"]), step("y", DELETE)))
    report = await room.show(run)
    for name in ("outer", "y"):
        await room.approved(report, name)
    await room.leg(run)

    for where, server in list(room.world.servers.items()):
        if server.name == "workflows":
            room.world.servers[where] = replace(server, label=Label([*Level][-1]))
    room.bus.wake(ANA.space, CATALOGUE)
    await room.leg(run)

    found = states(await room.show(run))
    assert (found["outer"], found["after"]) == (StepStatus.WAITING, StepStatus.PENDING)
    assert room.writes == {"delete /y": 1}


async def test_a_write_deep_inside_is_asked_about_however_long_its_name(room: PlanRoom) -> None:
    pay = step(LONG, WRITE, arguments={"path": "/pay"}, on_error={"fallback": "other"})
    each: JsonObject = {"for_each": {"in": [1]}}
    await room.save(inner={"steps": [{**pay, **each}, step("other", WRITE)]})
    for name, inner in (("middle", "inner"), ("outer", "middle")):
        called: JsonObject = {"id": LONG, "tool": f"workflows.{inner}", **each}
        await room.save(**{name: {"steps": [called]}})
    real: Any = room.upstreams.replies[WRITE.ref]

    def lost(arguments: JsonObject) -> Any:
        real(arguments)
        raise UpstreamTimedOut("files.write", 1.0)

    room.upstreams.replies[WRITE.ref] = lost
    run = await room.start(plan({"id": LONG, "tool": "workflows.outer", **each}))
    left = await room.leg(run)

    assert left.status is RunStatus.WAITING
    assert max(map(len, left.waits_for)) <= 200
    assert room.writes == {"write /pay": 1}
    await room.resolve(run, left.waits_for[0].removeprefix("~uncertain:")[:-2], Resolution.DONE)
    assert (await room.leg(run)).status is RunStatus.DONE
    assert room.writes == {"write /pay": 1}


@pytest.mark.parametrize(
    "error", [StoreUnavailable("it restarts"), ResultNotFound("res")], ids=["away", "gone"]
)
async def test_what_was_approved_and_made_has_not_failed_because_it_cannot_be_read(
    room: PlanRoom, reading: Reading, error: Exception
) -> None:
    run = await approved(room)

    await reading(run, error)

    report = await room.show(run)
    assert (report.status, room.writes) == (WorkflowStatus.DONE, {"delete /gone": 1})
    assert step_of(report, "gone").state is StepStatus.DONE


async def test_with_a_closed_vault_nothing_is_decided_and_it_goes_on_once_that_is_open(
    room: PlanRoom, reading: Reading
) -> None:
    run = await approved(room)
    broken = await reading(run, VaultClosed())
    assert broken.status is RunStatus.FAILED
    assert (broken.failure and broken.failure.code) == VaultClosed.code

    await room.resumed(run)

    report = await room.show(run)
    assert (report.status, room.writes) == (WorkflowStatus.DONE, {"delete /gone": 1})


async def refuse(_: CallTool, caller: Any, ref: Any, arguments: JsonObject, **more: Any) -> Any:
    """As if somebody had made a rule meanwhile."""
    raise Refused(str(ref), "a-rule", "not today", who=caller.name, key=caller.key)


@pytest.mark.parametrize(
    ("refused", "error", "state"),
    [
        (True, None, StepStatus.DONE),
        (False, StoreUnavailable("it restarts"), StepStatus.DONE),
        (True, ResultNotFound("res"), StepStatus.UNCERTAIN),
    ],
    ids=["refused by now", "away for a moment", "refused, and nobody kept its answer"],
)
async def test_what_was_begun_is_found_before_anything_could_refuse_it(
    room: PlanRoom,
    reading: Reading,
    monkeypatch: pytest.MonkeyPatch,
    *,
    refused: bool,
    error: Exception | None,
    state: StepStatus,
) -> None:
    run = await killed_after_it_paid(room)
    if refused:
        monkeypatch.setattr(CallTool, "__call__", refuse)

    await reading(run, error)

    report = await room.show(run)
    assert (step_of(report, "pay").state, room.writes) == (state, {"write /pay": 1})
    assert (report.status is WorkflowStatus.DONE) == (state is StepStatus.DONE)


@pytest.mark.parametrize("error", [VaultClosed(), KeyEnded("bot's")], ids=["vault", "key"])
async def test_what_was_begun_has_not_failed_because_it_cannot_be_looked_at(
    room: PlanRoom, reading: Reading, error: Exception
) -> None:
    run = await killed_after_it_paid(room)

    broken = await reading(run, error)

    assert broken.status is RunStatus.FAILED
    assert room.writes == {"write /pay": 1}
    assert "pay" not in {each.name for each in await room.runs.steps(ANA, run)}


async def test_what_is_done_stays_done_though_what_it_was_given_cannot_be_read(
    room: PlanRoom, reading: Reading
) -> None:
    given = {"path": {"$from": "first.json.path"}}
    pay = step("pay", WRITE, arguments=given, on_error={"fallback": "other"})
    run = await room.run(plan(step("first"), pay, step("other", WRITE), step("gone", DELETE)))
    await room.approved(await room.show(run), "gone")

    await reading(run, StoreUnavailable("it restarts"))

    report = await room.show(run)
    assert report.status is WorkflowStatus.DONE
    assert room.writes == {"write /first": 1, "delete /gone": 1}
    assert states(report)["other"] is StepStatus.NOT_NEEDED


async def test_what_is_kept_no_longer_ends_the_run_and_is_no_failure_of_a_step(
    room: PlanRoom, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"path": {"$from": "gone.json.path"}}
    pay = step("pay", WRITE, arguments=given, on_error={"fallback": "other"})
    last = step("last", after=["pay"])
    run = await room.run(plan(step("gone", DELETE), pay, step("other", WRITE), last))
    await room.approved(await room.show(run), "gone")
    with monkeypatch.context() as patch:
        patch.setattr(SealedOutputs, "_remember", lambda *_given: None)
        ended = await reading(run, ResultNotFound("res"), at=3, for_good=True)

    assert (ended.status, ended.failure and ended.failure.code) == (
        RunStatus.FAILED,
        ResultNotFound.code,
    )
    assert room.writes == {"delete /gone": 1}
    await room.resumed(run)
    assert room.writes == {"delete /gone": 1, "write /gone": 1}
    assert (await room.show(run)).status is WorkflowStatus.DONE


async def test_one_item_that_cannot_go_on_leaves_the_others_to_their_ends(
    room: PlanRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them is a saved workflow, and what one gave cannot be read, while others write."""
    inner: JsonObject = {"steps": [step("pay", WRITE, arguments={"path": {"$from": "inputs.to"}})]}
    inner = {**inner, "inputs": {"to": {"type": "string"}}, "required": ["to"]}
    await room.save(inner=inner)
    each: JsonObject = {
        "id": "each",
        "tool": "workflows.inner",
        "for_each": {"in": ["/a", "/b", "/c"]},
        "arguments": {"to": {"$from": "item"}},
        "on_error": {"fallback": "other"},
    }
    run = await room.start(plan(each, step("other", WRITE)))
    with monkeypatch.context() as patch:
        got = SealedOutputs.get

        async def get(outputs: SealedOutputs, asker: Any, result: ResultId) -> Any:
            if room.writes:
                raise VaultClosed
            return await got(outputs, asker, result)

        patch.setattr(SealedOutputs, "get", get)
        broken = await room.leg(run)

    assert (broken.failure and broken.failure.code) == VaultClosed.code
    begun = len(room.writes)
    assert begun >= 1
    noted = {each.name for each in await room.runs.steps(ANA, run)}
    assert sum(name.endswith("/pay") for name in noted) == begun
    assert "write /other" not in room.writes


class WithoutProgress(Through):
    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        if ":progress:" in step.name:
            raise StoreUnavailable("it restarts")
        return await super().finish(taken, step, told)


async def test_how_far_a_call_has_come_is_not_told_at_the_cost_of_the_call(room: PlanRoom) -> None:
    run = await room.start(plan(step("read")))
    taken = await room.runs.claim(Activation(run, 1))
    assert taken is not None
    durable = Execution(
        taken, WithoutProgress(room), room.clock, grace=timedelta(0), clean=as_it_is
    )
    line = ProgressChannel(durable, "read", room.clock)

    await line.progress(1.0, 2.0, None)

    assert [each.name for each in await room.runs.steps(ANA, run)] == []


async def test_an_approved_call_nobody_knows_of_waits_for_a_persons_word(room: PlanRoom) -> None:
    fine = room.upstreams.replies[DELETE.ref]
    room.upstreams.replies[DELETE.ref] = UpstreamTimedOut("files.delete", 1.0)
    run = await room.run(plan(step("gone", DELETE)))
    report = await room.show(run)
    await room.approved(report, "gone")
    for _ in range(3):
        await room.leg(run)
        room.clock.turn(timedelta(days=2))
        room.runs.due(room.clock.now())
    waiting = await room.runs.get(ANA, run)
    names = [each.name for each in await room.runs.steps(ANA, run)]

    assert (waiting.status, waiting.wakes_at) == (RunStatus.WAITING, None)
    assert [name for name in names if "~approved" in name] == ["gone~approved"]
    assert states(await room.show(run)) == {"gone": StepStatus.UNCERTAIN}
    assert "workflow.step_uncertain" in [type_ for type_, _ in await room.told(run)]

    await room.resolve(run, "gone", Resolution.RETRY)
    await room.errand(report, "gone")
    await room.leg(run)
    assert states(await room.show(run)) == {"gone": StepStatus.UNCERTAIN}

    room.upstreams.replies[DELETE.ref] = fine
    await room.resolve(run, "gone", Resolution.RETRY)
    await room.errand(report, "gone")
    await room.leg(run)
    report = await room.show(run)
    assert (report.status, room.writes) == (WorkflowStatus.DONE, {"delete /gone": 1})


async def test_items_that_were_rejected_or_left_out_make_it_partial(room: PlanRoom) -> None:
    each = step("each", DELETE, arguments={"path": {"$from": "item"}}, for_each={"in": ["/a"]})
    run = await room.run(plan({**each, "on_error": "skip"}))
    report = await room.show(run)
    await room.answer(report, "each", AnswerKind.REJECT)
    await room.leg(run)

    assert (await room.show(run)).status is WorkflowStatus.PARTIAL


async def test_a_step_that_somebody_left_out_makes_it_partial(room: PlanRoom) -> None:
    room.upstreams.replies[WRITE.ref] = UpstreamTimedOut("files.write", 1.0)
    run = await room.run(plan(step("pay", WRITE), step("first")))
    await room.resolved(run, "pay", Resolution.SKIP)

    assert (await room.show(run)).status is WorkflowStatus.PARTIAL


async def test_items_are_put_together_when_their_turn_comes(room: PlanRoom) -> None:
    given = {"path": {"$text": "${index}${first.json.path}"}, "odd": {"$from": "item.no"}}
    each = step("each", arguments=given, for_each={"in": [{"no": 1}, {}, {"no": 3}], "at_once": 1})
    report = await room.ran(plan(step("first"), each))

    assert report.status is WorkflowStatus.FAILED
    assert room.made == {"read /first": 1, "read 0/first": 1}
    assert (report.error and report.error.step) == "each[1]"


async def test_a_step_that_would_take_too_much_to_put_together_fails(
    room: PlanRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.workflows.core.plan.MOST_OF_STEP", 500_000)
    dear = "inputs.big[?a > `-1`] | [?a > `-1`] | length(@)"
    each = step(
        "each",
        arguments={"path": {"$text": "${" + dear + "}"}},
        for_each={"in": {"$from": "inputs.many"}, "most": 1000},
    )
    report = await room.ran(
        plan(each, inputs={"big": {"type": "array"}, "many": {"type": "array"}}),
        inputs={"big": [{"a": number} for number in range(300)], "many": [0] * 200},
    )

    assert report.status is WorkflowStatus.FAILED
    failed = [
        each.failure for each in await room.runs.steps(ANA, RunId.parse(report.run)) if each.failure
    ]
    assert "too_much_effort" in {each.code for each in failed}
    assert 0 < sum(room.made.values()) < 200


async def test_of_what_was_left_out_only_that_is_asked_for_which_may_have_been_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room, asked = PlanRoom(), 0
    begun = MemoryCallHistory.find_started

    async def counted(
        self: MemoryCallHistory, caller: Principal, claims: Sequence[CallClaim]
    ) -> Collection[CallId]:
        nonlocal asked
        asked += len(claims)
        return await begun(self, caller, claims)

    monkeypatch.setattr(MemoryCallHistory, "find_started", counted)
    room.upstreams.replies[READ.ref] = UpstreamDown("files", "it is away")
    each = {"in": {"$from": "inputs.many"}, "most": 1000}
    left_out = [step(f"s{n}", WRITE, for_each=each, after=["read"]) for n in range(20)]
    report = await room.ran(
        plan(step("read"), step("w", WRITE, after=["read"]), *left_out, inputs={"many": {}}),
        inputs={"many": [1]},
    )

    assert report.status is WorkflowStatus.FAILED
    assert asked == 1
