"""What a plan decides follows from what is noted: not from what can be read at the moment."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.run import RunStatus
from portico.gateway.core.call import CallClaim, CallId, KeptResult, ResultId
from portico.gateway.core.errors import ResultNotFound, UpstreamDown, UpstreamTimedOut
from portico.gateway.core.plan.report import StepStanding, WorkflowReport, WorkflowStatus
from portico.guard.core.approval import AnswerKind, Resolution
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal
from portico.testing.calls import MemoryCallHistory
from portico.testing.gateway import MemoryResults
from tests.gateway.open_room import DELETE, READ, WRITE
from tests.gateway.workflows.plan_room import ANA, PlanRoom, plan, step

_GET = MemoryResults.get


def states(report: WorkflowReport) -> dict[str, StepStanding]:
    return {each.id: each.state for each in report.steps}


async def test_what_is_done_stays_done_though_what_it_was_given_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = PlanRoom()
    pay = step(
        "pay",
        WRITE,
        arguments={"path": {"$from": "first.json.path"}},
        on_error={"fallback": "other"},
    )
    run = await room.run(plan(step("first"), pay, step("other", WRITE), step("gone", DELETE)))
    report = await room.show(run)
    await room.approved(report, "gone")
    reads = 0

    async def get(
        self: MemoryResults, caller: Principal, result: ResultId, now: datetime
    ) -> KeptResult:
        nonlocal reads
        reads += 1
        if reads == 2:  # the plan is the first
            raise StoreUnavailable("it restarts")
        return await _GET(self, caller, result, now)

    monkeypatch.setattr(MemoryResults, "get", get)
    await room.leg(run)
    monkeypatch.undo()
    report = await room.show(run)

    assert report.status is WorkflowStatus.DONE
    assert room.writes == {"write /first": 1, "delete /gone": 1}
    assert states(report)["other"] is StepStanding.NOT_NEEDED


async def test_what_is_kept_no_longer_ends_the_run_and_is_no_failure_of_a_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = PlanRoom()
    pay = step(
        "pay",
        WRITE,
        arguments={"path": {"$from": "gone.json.path"}},
        on_error={"fallback": "other"},
    )
    run = await room.run(
        plan(step("gone", DELETE), pay, step("other", WRITE), step("last", after=["pay"]))
    )
    report = await room.show(run)
    await room.approved(report, "gone")
    reads = 0

    async def get(
        self: MemoryResults, caller: Principal, result: ResultId, now: datetime
    ) -> KeptResult:
        nonlocal reads
        reads += 1
        if reads > 2:  # the plan, and what was approved
            raise ResultNotFound(str(result))
        return await _GET(self, caller, result, now)

    monkeypatch.setattr(
        "portico.gateway.workflows.outputs.SealedOutputs._remember", lambda *_given: None
    )
    monkeypatch.setattr(MemoryResults, "get", get)
    ended = await room.leg(run)
    monkeypatch.undo()

    assert (ended.status, ended.failure and ended.failure.code) == (
        RunStatus.FAILED,
        ResultNotFound.code,
    )
    assert room.writes == {"delete /gone": 1}
    await room.resumed(run)
    assert room.writes == {"delete /gone": 1, "write /gone": 1}
    assert (await room.show(run)).status is WorkflowStatus.DONE


async def test_of_what_was_approved_nobody_knows_and_it_waits_for_a_word_and_looks_no_more() -> (
    None
):
    room = PlanRoom()
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
    assert states(await room.show(run)) == {"gone": StepStanding.UNCERTAIN}
    assert "workflow.step_uncertain" in [type_ for type_, _ in await room.told(run)]

    await room.resolve(run, "gone", Resolution.RETRY)
    await room.errand(report, "gone")
    await room.leg(run)
    assert states(await room.show(run)) == {"gone": StepStanding.UNCERTAIN}

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
    assert report.error is not None
    assert report.error.step == "each[1]"


async def test_a_step_that_would_take_too_much_to_put_together_fails(
    room: PlanRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.gateway.core.plan.effort.MOST_OF_STEP", 500_000)
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
    begun = MemoryCallHistory.begun

    async def counted(
        self: MemoryCallHistory, caller: Principal, claims: Sequence[CallClaim]
    ) -> Collection[CallId]:
        nonlocal asked
        asked += len(claims)
        return await begun(self, caller, claims)

    monkeypatch.setattr(MemoryCallHistory, "begun", counted)
    room.upstreams.replies[READ.ref] = UpstreamDown("files", "it is away")
    each = {"in": {"$from": "inputs.many"}, "most": 1000}
    left_out = [step(f"s{n}", WRITE, for_each=each, after=["read"]) for n in range(20)]
    report = await room.ran(
        plan(step("read"), step("w", WRITE, after=["read"]), *left_out, inputs={"many": {}}),
        inputs={"many": [1]},
    )

    assert report.status is WorkflowStatus.FAILED
    assert asked == 1
