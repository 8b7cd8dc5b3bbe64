"""How far a run may go, what of it is written down at once, and who finds it again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from portico.engine.core.errors import KeyReused, RunNotFound
from portico.engine.core.runs import Run
from portico.gateway.core.calls import ForRun, claim_of
from portico.gateway.core.errors import UpstreamTimedOut
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.kernel.ids import RunId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.workflows.core.plan_report import Mode
from portico.workflows.execution import RunPlan
from portico.workflows.runs import WorkflowSpec
from tests.gateway.open_room import READ, WRITE
from tests.workflows.plan_room import ANA, PlanRoom, plan, step


@dataclass
class Writing:
    """Several writes as one, and who wrote outside of it."""

    inside: bool = False
    noted: list[tuple[str, bool]] = field(default_factory=list)

    @asynccontextmanager
    async def together(self, _caller: Principal, /) -> AsyncIterator[None]:
        self.inside = True
        try:
            yield
        finally:
            self.inside = False

    async def note(self, caller: Principal, *entries: AuditEntry) -> None:  # alone
        self.noted += [(entry.action, self.inside) for entry in entries]

    async def note_ahead(self, caller: Principal, entry: AuditEntry) -> None:
        await self.note(caller, entry)

    def note_behind(self, caller: Principal, entry: AuditEntry) -> None:
        raise AssertionError


async def test_the_same_key_is_one_run_whichever_engine_it_is_on() -> None:
    room, its = PlanRoom(), plan(step("a"))
    bot = await room.bot()
    one = await room.use.start_workflow(bot, WorkflowSpec(plan=its, key="k"))

    for other in (
        WorkflowSpec(plan=its, key="k", mode=Mode.INLINE),
        WorkflowSpec(plan=its, key="k", label=Label(Level.TEAM)),
        WorkflowSpec(plan=plan(step("b")), key="k"),
    ):
        with pytest.raises(KeyReused):
            await room.use.start_workflow(bot, other)
    again = await room.use.start_workflow(bot, WorkflowSpec(plan=its, key="k"))

    assert (again.run.id, again.replayed) == (one.run.id, True)
    with pytest.raises(RunNotFound):
        await room.doors.engines.inline.book.get(bot, one.run.id)


@pytest.mark.parametrize(("usual", "wished"), [(0.01, 86_400), (86_400, 0.01)])
async def test_a_step_waits_for_a_server_no_longer_than_everybody_does(
    room: PlanRoom, usual: float, wished: float
) -> None:
    call_tool = replace(room.http.call_tool, timeout=timedelta(seconds=usual))
    room.upstreams.hang("files")
    for_run = ForRun(claim=claim_of(RunId(UUID(int=1)), "a", 1), timeout=timedelta(seconds=wished))

    with pytest.raises(UpstreamTimedOut, match=r"0\.01"):
        await call_tool(ANA, READ.ref, {"path": "/a"}, for_run=for_run)


async def test_a_run_ends_before_it_makes_more_calls_than_it_may(room: PlanRoom) -> None:
    kind = room.kinds[1]
    assert isinstance(kind.work, RunPlan)
    act_for = replace(kind.work.act_for, most_calls=3)
    room.kinds[1] = replace(kind, work=replace(kind.work, act_for=act_for))
    each = {"in": ["/x", "/y", "/z"], "at_once": 1}
    write = step(
        "each", WRITE, for_each=each, arguments={"path": {"$from": "item"}}, on_error="skip"
    )
    its = plan(step("a"), {**write, "after": ["a"]})

    report = await room.ran(its)

    assert (report.error and report.error.code) == "too_many_calls"
    assert room.writes == {}


async def test_what_is_done_to_a_run_is_in_the_audit_or_was_not_done() -> None:
    room, writing = PlanRoom(), Writing()
    bot = await room.bot()
    outside: dict[str, Any] = {"audit": writing, "unit_of_work": writing.together}
    use = room.use
    started = await replace(use.start_workflow, **outside)(bot, WorkflowSpec(plan=plan(step("a"))))
    run = started.run.id

    await replace(use.cancel_workflow, **outside)(bot, run)
    await replace(use.resume_workflow, **outside)(bot, run)
    await room.leg(run)
    await replace(use.fork_workflow, **outside)(bot, run, step="a")

    done = ["started", "cancelled", "resumed", "forked"]
    assert writing.noted == [(f"workflow.{each}", True) for each in done]


async def test_of_two_who_start_the_same_at_once_one_is_in_the_audit() -> None:
    room, writing = PlanRoom(), Writing()
    bot = await room.bot()
    start = replace(room.use.start_workflow, audit=writing, unit_of_work=writing.together)
    engines = replace(start.engines, durable=replace(start.engines.durable, book=_Late(room)))
    late = replace(start, engines=engines)
    wish = WorkflowSpec(plan=plan(step("a")), key="k")

    first, second = await start(bot, wish), await late(bot, wish)

    assert (first.run.id, first.replayed) == (second.run.id, False)
    assert second.replayed
    assert [action for action, _ in writing.noted] == ["workflow.started"]


class _Late:
    """A book in which a run that was just added is not seen yet."""

    def __init__(self, room: PlanRoom) -> None:
        self.page, self.steps = room.runs.page, room.runs.steps
        self.progress = room.runs.progress

    async def get(self, caller: Principal, run: RunId) -> Run:  # whoever it is
        raise RunNotFound(str(run))


async def test_ones_own_are_found_behind_any_number_of_others(room: PlanRoom) -> None:
    mine = await room.start(plan(step("a")))
    for _ in range(25):
        await room.use.start_workflow(ANA, WorkflowSpec(plan=plan(step("a"))))

    bot = await room.bot()
    alone = replace(bot, scopes=frozenset(bot.scopes) - {Scope.RUNS_READ})

    own = await room.use.list_workflows(alone, limit=1)
    all_ = await room.use.list_workflows(ANA, limit=30)

    assert [line.run.id for line in own] == [mine]
    assert len(all_) == 26
