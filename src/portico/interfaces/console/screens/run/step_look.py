"""What the inspector of one step is drawn from: what is kept of it, for whoever may read that."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from portico.agents.core.traces import WholeTrace
from portico.engine.core.errors import StepNotFound
from portico.gateway.core.calls import ResultId, claim_of
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import ResultNotFound
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.screens.approvals.request_view import Asked, asked
from portico.interfaces.console.screens.approvals.standing import effect_badge
from portico.interfaces.console.screens.run.lineage import Lines, lined
from portico.interfaces.console.screens.run.look import PLACE, Looked
from portico.interfaces.console.screens.run.of_trace import turn_of, use_of
from portico.interfaces.console.screens.run.step_view import (
    Evidence,
    StepView,
    attempts_of,
    evidence_of,
    facts_of_turn,
    facts_of_use,
    gave_of,
    given_of,
    items_of,
    mark_of,
    mishap_of,
    shown_whole,
    step_of_plan,
    uncertain_calls,
)
from portico.interfaces.console.screens.run.tasks import State, Task
from portico.interfaces.console.screens.run.timeline import seconds_words
from portico.interfaces.console.wording import as_json
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject

_CALLING: Final = frozenset({"workflow", "program"})
_LATEST: Final = 100
"""Calls of a tool among which the one of a step is looked for."""
_WITHIN: Final = timedelta(days=1)
_PAGE: Final = 20_000


@dataclass(frozen=True, slots=True)
class OutputPage:
    text: str
    page: int
    pages: int


async def step_view(desk: Desk, looked: Looked, task: Task, plan: JsonObject) -> StepView:
    """`plan`: as its run was started with it, if whoever looks may know."""
    seen = looked.seen
    view = StepView(
        task=task,
        mark=mark_of(task),
        attempts=attempts_of(task),
        after=[each.name for each in seen.tasks if task.name in each.needs][:20],
        items=items_of(task, looked.journal),
        asked=await _asked(desk, task),
        private=seen.kind in _CALLING and not seen.mine,
    )
    if task.state is State.UNCERTAIN:
        view = replace(view, uncertain=uncertain_calls(task, looked.journal))
    if seen.kind in _CALLING:
        view = await _with_values(desk, looked, view, plan)
    elif seen.trace is not None:
        view = _with_trace(view, seen.trace)
    else:
        row = next((row for row in looked.journal if row.name == task.name), None)
        if row is not None and row.output is not None:
            view = replace(view, gave=gave_of(as_json(row.output), size=None, whole=True))
    return await _with_tool(desk, looked, view)


async def _asked(desk: Desk, task: Task) -> Asked | None:
    if task.approval is None:
        return None
    with suppress(PorticoError):
        found = await desk.house.gateway.approvals.show_approval(
            desk.at(PLACE), ApprovalId.parse(task.approval)
        )
        return asked(found, desk.caller, desk.now)
    return None


async def _with_values(desk: Desk, looked: Looked, view: StepView, plan: JsonObject) -> StepView:
    task = view.task
    given, lineage, facts = given_of(step_of_plan(plan, task.name))
    view = replace(view, given=given, lineage=lineage, facts=facts)
    kept = await _page(desk, task.handle, 1) if looked.seen.mine else None
    if task.state is State.DONE and kept is not None:
        return replace(view, gave=gave_of(kept, size=task.size, whole=True))
    return replace(view, error=mishap_of(task, kept))


async def _page(desk: Desk, handle: str | None, number: int) -> str | None:
    if handle is None:
        return None
    with suppress(PorticoError):
        read = desk.house.gateway.read_result
        return (await read(desk.at(PLACE), ResultId.parse(handle), page=number)).text
    return None


def _with_trace(view: StepView, trace: WholeTrace) -> StepView:
    number, place = turn_of(view.task.name), use_of(view.task.name)
    turn = next((each for each in trace.turns if each.number == number), None)
    if turn is not None:
        return replace(
            view,
            facts=facts_of_turn(turn),
            said=turn.text or None,
            thought=turn.thought or None,
        )
    use = next((each for each in trace.uses if (each.turn, each.place) == place), None)
    if use is None:
        return view
    view = replace(view, facts=facts_of_use(use), given=lined(use.arguments))
    return replace(view, gave=gave_of(use.text, size=None, whole=True))


async def _with_tool(desk: Desk, looked: Looked, view: StepView) -> StepView:
    """What is known of its tool; nothing of one that is gone, or not for whoever looks."""
    task, gateway, caller = view.task, desk.house.gateway, desk.at(PLACE)
    if not task.server or turn_of(task.name) is not None:
        return view
    with suppress(PorticoError):
        ref = ToolRef.parse(task.tool)
        tool = (await gateway.show_tool(caller, ref)).tool
        view = replace(view, effect=effect_badge(tool.effect))
        view = replace(view, server=await _doing(desk, ref))
        view = replace(view, called=await _called(desk, looked, task, ref, tool.effect))
        view = replace(view, evidence=await _evidence(desk, looked, task, ref))
    return view


async def _doing(desk: Desk, ref: ToolRef) -> str | None:
    figures = await desk.house.gateway.show_figures(
        desk.at(PLACE), server=ref.server, within=_WITHIN
    )
    its = next((each for each in figures if each.name in {ref.name, str(ref)}), None)
    if its is None:
        return None
    return f"p95 {seconds_words(its.p95.total_seconds())} · {its.calls} calls today"


async def _called(
    desk: Desk, looked: Looked, task: Task, ref: ToolRef, effect: Effect
) -> Lines | None:
    """What it was called with, of one that may have changed something: those are written down."""
    run = looked.run
    if effect.reads_only or run is None or not task.spans or task.approval is not None:
        return None
    claim = claim_of(run.id, task.name, run.leg)
    ids = {claim.id, *claim.earlier}
    latest = await desk.house.gateway.list_calls(
        desk.at(PLACE), ref=ref, before=task.ended, limit=_LATEST
    )
    call = next((each for each in latest if each.id in ids), None)
    return None if call is None else lined(call.arguments)


async def _evidence(desk: Desk, looked: Looked, task: Task, ref: ToolRef) -> Sequence[Evidence]:
    if not task.needs:
        return ()
    tools = [each.tool for each in looked.seen.tasks if each.name in task.needs]
    near = await desk.house.gateway.graph.neighbours(desk.at(PLACE), ref, 50)
    return evidence_of(near.before, tools)


async def output_page(desk: Desk, looked: Looked, step: str, number: int) -> OutputPage:
    """All that it gave; of a step that keeps it sealed, to whoever started the run.
    Raises `ResultNotFound`, `StepNotFound`."""
    task = looked.seen.task(step)
    if task is None:
        raise StepNotFound(step[:100])
    if looked.seen.kind in _CALLING:
        if task.handle is None:
            raise ResultNotFound(step[:100])
        read = desk.house.gateway.read_result
        found = await read(desk.at(PLACE), ResultId.parse(task.handle), page=number)
        text = shown_whole(found.text) if found.pages == 1 else found.text
        return OutputPage(text, found.page, found.pages)
    if looked.seen.trace is not None:
        place = use_of(step)
        uses = looked.seen.trace.uses
        texts = [each.text for each in uses if (each.turn, each.place) == place]
    else:
        texts = [as_json(row.output) for row in looked.journal if row.name == step]
    pages = [texts[0][at : at + _PAGE] for at in range(0, len(texts[0]), _PAGE)] if texts else []
    number = min(max(number, 1), max(len(pages), 1))
    return OutputPage(pages[number - 1] if pages else "", number, max(len(pages), 1))
