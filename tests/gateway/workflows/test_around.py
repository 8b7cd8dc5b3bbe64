"""What is around a run and not to be had is no failure of its steps; and what was begun is looked
for before anything that could refuse it by now."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.engine.core.entry import NewEntry
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.run import Leg, RunStatus, Step, Taken, as_it_is
from portico.engine.execution import Execution
from portico.gateway.call_tool import CallTool
from portico.gateway.catalogue import CATALOGUE
from portico.gateway.core.call import KeptResult, ResultId
from portico.gateway.core.errors import ResultNotFound, UpstreamTimedOut
from portico.gateway.core.plan.report import StepStanding, WorkflowReport, WorkflowStatus
from portico.gateway.workflows.outputs import SealedOutputs
from portico.gateway.workflows.progress_line import ProgressLine
from portico.guard.core.approval import Resolution
from portico.guard.core.errors import KeyEnded, Refused
from portico.guard.core.vault_keys import VaultClosed
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.testing.gateway import MemoryResults
from tests.engine.journals import Through
from tests.gateway.open_room import DELETE, WRITE
from tests.gateway.workflows.plan_room import ANA, Died, PlanRoom, plan, step, step_of
from tests.gateway.workflows.test_run_saved import CLEAR, a_room

LONG = "a" * 64


class DiesBeforePayIsNoted(Through):
    async def finish(self, taken: Taken, step: Step, told: NewEntry) -> bool:
        if step.name == "pay":
            raise Died
        return await super().finish(taken, step, told)


class Reading:
    """What `Results.get` does at its `at`-th time; the first is the plan."""

    def __init__(self, patch: pytest.MonkeyPatch, error: Exception | None, at: int = 2) -> None:
        self._error, self._at, self._number = error, at, 0
        real = MemoryResults.get

        async def get(
            results: MemoryResults, caller: Any, result: ResultId, now: Any
        ) -> KeptResult:
            self._number += 1
            if self._error is None:
                await asyncio.sleep(0.1)  # longer than a run is quiet before it is put away
            elif self._number == self._at:
                raise self._error
            return await real(results, caller, result, now)

        patch.setattr(MemoryResults, "get", get)


async def killed_after_it_paid(room: PlanRoom) -> RunId:
    first = step("pay", WRITE, on_error={"fallback": "other"})
    run = await room.start(plan(first, step("other", WRITE)))
    await room.killed(run, DiesBeforePayIsNoted(room))
    assert room.writes == {"write /pay": 1}
    return run


async def approved(room: PlanRoom) -> RunId:
    first = step("gone", DELETE, on_error={"fallback": "other"})
    run = await room.run(plan(first, step("other", WRITE)))
    report = await room.show(run)
    await room.approved(report, "gone")
    assert room.writes == {"delete /gone": 1}
    return run


async def test_a_run_is_not_put_away_while_a_step_reads_what_it_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = PlanRoom()
    given = {"path": {"$from": "first.json.path"}}
    use = step("use", WRITE, arguments=given, after=["x"])
    run = await room.run(plan(step("x", DELETE), step("y", DELETE), step("first"), use))
    report = await room.show(run)
    await room.approved(report, "x")

    with monkeypatch.context() as patch:
        Reading(patch, None)
        left = await room.leg(run)

    assert list(left.waits_for) == ["~approval:y:1"]
    assert room.writes == {"delete /x": 1, "write /first": 1}


async def test_nor_while_it_reads_the_plan_of_a_saved_one(monkeypatch: pytest.MonkeyPatch) -> None:
    room = await a_room(clear=CLEAR)
    outer: JsonObject = {"id": "outer", "tool": "workflows.clear"}
    run = await room.run(plan(outer, step("y", DELETE)))
    report = await room.show(run)
    await room.approved(report, "outer")

    with monkeypatch.context() as patch:
        Reading(patch, None)
        left = await room.leg(run)

    assert sorted(left.waits_for) == ["~approval:outer/gone:2", "~approval:y:1"]


async def test_a_saved_workflow_stays_one_whatever_becomes_of_its_server() -> None:
    room = await a_room(clear=CLEAR)
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

    report = await room.show(run)
    assert step_of(report, "outer").state is StepStanding.WAITING
    assert step_of(report, "after").state is StepStanding.PENDING
    assert room.writes == {"delete /y": 1}


async def test_a_write_deep_inside_of_which_nobody_knows_is_asked_about_however_long_its_name() -> (
    None
):
    room = PlanRoom()
    pay = step(LONG, WRITE, arguments={"path": "/pay"}, on_error={"fallback": "other"})
    each: JsonObject = {"for_each": {"in": [1]}}
    saved = room.gateway.over_http.saved.save_workflow
    await saved(ANA, "inner", {"steps": [{**pay, **each}, step("other", WRITE)]})
    for name, inner in (("middle", "inner"), ("outer", "middle")):
        called: JsonObject = {"id": LONG, "tool": f"workflows.{inner}", **each}
        await saved(ANA, name, {"steps": [called]})
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
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    room = PlanRoom()
    run = await approved(room)

    with monkeypatch.context() as patch:
        Reading(patch, error)
        await room.leg(run)

    report = await room.show(run)
    assert room.writes == {"delete /gone": 1}
    assert report.status is WorkflowStatus.DONE
    assert step_of(report, "gone").state is StepStanding.DONE


async def test_with_a_closed_vault_nothing_is_decided_and_it_goes_on_once_that_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = PlanRoom()
    run = await approved(room)
    with monkeypatch.context() as patch:
        Reading(patch, VaultClosed())
        broken = await room.leg(run)
    assert broken.status is RunStatus.FAILED
    assert broken.failure is not None
    assert broken.failure.code == VaultClosed.code

    await room.resumed(run)

    report = await room.show(run)
    assert (report.status, room.writes) == (WorkflowStatus.DONE, {"delete /gone": 1})


async def refused(monkeypatch: pytest.MonkeyPatch, room: PlanRoom) -> None:
    """As if somebody had made a rule meanwhile."""

    async def call(_: CallTool, caller: Any, ref: Any, arguments: JsonObject, **more: Any) -> Any:
        raise Refused(str(ref), "a-rule", "not today", who=caller.name, key=caller.key)

    monkeypatch.setattr(CallTool, "__call__", call)


async def uncertain(room: PlanRoom, run: RunId) -> WorkflowReport:
    await room.leg(run)
    report = await room.show(run)
    assert step_of(report, "pay").state is StepStanding.UNCERTAIN
    assert room.writes == {"write /pay": 1}
    return report


async def test_what_was_begun_is_found_though_it_would_be_refused_by_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = PlanRoom()
    run = await killed_after_it_paid(room)

    with monkeypatch.context() as patch:
        await refused(patch, room)
        await room.leg(run)

    report = await room.show(run)
    assert (report.status, room.writes) == (WorkflowStatus.DONE, {"write /pay": 1})
    assert step_of(report, "pay").state is StepStanding.DONE


async def test_and_if_nobody_kept_what_it_answered_a_person_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = PlanRoom()
    run = await killed_after_it_paid(room)

    with monkeypatch.context() as patch:
        await refused(patch, room)
        Reading(patch, ResultNotFound("res"))
        await uncertain(room, run)


async def test_what_was_begun_is_looked_for_until_the_store_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = PlanRoom()
    run = await killed_after_it_paid(room)

    with monkeypatch.context() as patch:
        Reading(patch, StoreUnavailable("it restarts"))
        await room.leg(run)

    report = await room.show(run)
    assert (report.status, room.writes) == (WorkflowStatus.DONE, {"write /pay": 1})


@pytest.mark.parametrize("error", [VaultClosed(), KeyEnded("bot's")], ids=["vault", "key"])
async def test_what_was_begun_has_not_failed_because_it_cannot_be_looked_at(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    room = PlanRoom()
    run = await killed_after_it_paid(room)

    with monkeypatch.context() as patch:
        Reading(patch, error)
        broken = await room.leg(run)

    assert broken.status is RunStatus.FAILED
    assert room.writes == {"write /pay": 1}
    assert "pay" not in {each.name for each in await room.runs.steps(ANA, run)}


async def test_one_item_that_cannot_go_on_leaves_the_others_to_their_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of them is a saved workflow, and what one gave cannot be read, while others write."""
    room = PlanRoom()
    inner: JsonObject = {"steps": [step("pay", WRITE, arguments={"path": {"$from": "inputs.to"}})]}
    inner = {**inner, "inputs": {"to": {"type": "string"}}, "required": ["to"]}
    await room.gateway.over_http.saved.save_workflow(ANA, "inner", inner)
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

    assert broken.failure is not None
    assert broken.failure.code == VaultClosed.code
    begun = len(room.writes)
    assert begun >= 1
    noted = {each.name for each in await room.runs.steps(ANA, run)}
    assert sum(name.endswith("/pay") for name in noted) == begun
    assert "write /other" not in room.writes


class WithoutProgress(Through):
    async def finish(self, taken: Taken, step: Step, told: NewEntry) -> bool:
        if ":progress:" in step.name:
            raise StoreUnavailable("it restarts")
        return await super().finish(taken, step, told)


async def test_how_far_a_call_has_come_is_not_told_at_the_cost_of_the_call(room: PlanRoom) -> None:
    run = await room.start(plan(step("read")))
    taken = await room.runs.claim(Leg(run, 1))
    assert taken is not None
    durable = Execution(
        taken, WithoutProgress(room), room.clock, grace=timedelta(0), clean=as_it_is
    )
    line = ProgressLine(durable, "read", room.clock)

    await line.progress(1.0, 2.0, None)

    assert [each.name for each in await room.runs.steps(ANA, run)] == []
