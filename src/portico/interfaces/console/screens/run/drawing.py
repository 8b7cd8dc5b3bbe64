"""The values of the run page and of its parts, from what is known of the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request

from portico.engine.core.errors import RunNotFound
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.screens.run.figures import figures_of
from portico.interfaces.console.screens.run.look import (
    Looked,
    look,
    name_of_principal,
    plan_of,
    question_of,
)
from portico.interfaces.console.screens.run.of_plan import owner_of
from portico.interfaces.console.screens.run.plan_view import Way, nodes_at, plan_view
from portico.interfaces.console.screens.run.seen import (
    Seen,
    asks,
    chosen,
    powers_of,
    status_badge,
)
from portico.interfaces.console.screens.run.step_look import step_view
from portico.interfaces.console.screens.run.step_view import mark_of
from portico.interfaces.console.screens.run.tasks import Task
from portico.interfaces.console.screens.run.timeline import Timeline, timeline_of
from portico.interfaces.console.screens.run.units import Units, units_of, zoom_of
from portico.kernel.ids import BadId, RunId
from portico.kernel.principal import PrincipalKind

MOST_PARTS: Final = 24
"""Units that are told at once: so a part stays small, however large the run is."""
_MOST_ASKED: Final = 200


@dataclass(frozen=True, slots=True)
class Sight:
    """Which of it somebody looks at."""

    desk: Desk
    looked: Looked
    way: Way
    units: Units
    wanted: str | None

    @property
    def seen(self) -> Seen:
        return self.looked.seen

    @property
    def chosen(self) -> Task | None:
        return chosen(self.seen, self.wanted)

    @property
    def timeline(self) -> Timeline:
        seen = self.seen
        return timeline_of(
            self.units.units, seen.tasks, self.desk.now, over=seen.over, critical=seen.critical
        )


def run_of(request: Request) -> RunId:
    """Raises `RunNotFound`."""
    text = str(request.path_params["run"])
    try:
        return RunId.parse(text)
    except BadId as error:
        raise RunNotFound(text) from error


async def sight_of(desk: Desk, request: Request, step: str | None = None) -> Sight:
    """Raises `NotPermitted`, `RunNotFound`."""
    run, asked = run_of(request), request.query_params
    looked = await look(desk, run)
    find = asked.get("find", "").strip()[:200]
    units = units_of(looked.seen.tasks, zoom_of(asked.get("zoom", "")), find)
    way = Way(f"/runs/{run}", ".".join(map(str, units.zoom)), find)
    return Sight(desk, looked, way, units, step or asked.get("step") or None)


async def page_values(sight: Sight) -> dict[str, Any]:
    desk, looked = sight.desk, sight.looked
    plan = await plan_of(desk, looked.seen)
    intent = plan.get("intent")
    return {
        **head_values(sight),
        **await inspector_values(sight, plan),
        "plan": plan_view(sight.units, desk.now, sight.way, _name(sight.chosen)),
        "timeline": sight.timeline,
        "who": await name_of_principal(desk, looked.seen.principal),
        "wish": intent
        if isinstance(intent, str)
        else _asked(looked.seen) or await question_of(desk, looked.seen),
        "source": plan.get("code") if looked.seen.kind == "program" else None,
    }


def head_values(sight: Sight) -> dict[str, Any]:
    desk, seen = sight.desk, sight.seen
    waits = asks(seen.tasks)
    person = desk.caller.kind is PrincipalKind.PERSON
    return {
        "run": seen,
        "way": sight.way,
        "units": sight.units,
        "badge_of": status_badge(seen, None if waits is None else waits.state),
        "figures": figures_of(seen, desk.now),
        "may": powers_of(seen, desk.caller, person=person),
    }


async def inspector_values(sight: Sight, plan: Mapping[str, Any]) -> dict[str, Any]:
    task = sight.chosen
    if task is None:
        return {"step": None, "problem": None, "typed": None}
    view = await step_view(sight.desk, sight.looked, task, plan)
    return {"step": view, "problem": None, "typed": None}


def part_values(sight: Sight, asked: Mapping[str, str]) -> dict[str, Any]:
    """Of the steps that something happened to, and of those that could begin because of it."""
    units, now, timeline = sight.units, sight.desk.now, sight.timeline
    told, more = _changed(sight, asked.get("steps", ""))
    anew = []
    if asked.get("shape") != units.shape:
        anew, told, more = ["plan", "timeline"], [], []
    elif asked.get("scale") != timeline.scale:
        anew = ["timeline"]
    task = sight.chosen
    mark = None if task is None else f"{task.name} {mark_of(task)}"
    if mark != asked.get("mark") and mark is not None:
        anew.append("inspector")
    return {
        **head_values(sight),
        "nodes": nodes_at(units, told, now, sight.way, _name(task)),
        "rows": [] if "timeline" in anew else [(at, timeline.rows[at]) for at in told],
        "timeline": timeline,
        "anew": anew,
        "more": more,
        "picked": _name(task),
    }


def _changed(sight: Sight, text: str) -> tuple[Sequence[int], Sequence[str]]:
    """The numbers of the units, and the names that have to be asked for again."""
    units = sight.units.units
    if text == "*":
        names = [unit.first.name for unit in units]
    else:
        names = [owner_of(name, sight.seen.kind) for name in text.split(",") if name]
    place = {task.name: at for at, unit in enumerate(units) for task in unit.tasks}
    after: dict[str, list[int]] = {}
    for at, unit in enumerate(units):
        for need in unit.needs:
            after.setdefault(need, []).append(at)
    found: dict[int, None] = {}
    for name in names[:_MOST_ASKED]:
        here = place.get(name)
        if here is not None:
            found |= {here: None} | dict.fromkeys(after.get(units[here].key, ()))
    numbers = list(found)
    rest = [units[at].first.name for at in numbers[MOST_PARTS:]]
    return numbers[:MOST_PARTS], [*rest, *names[_MOST_ASKED:]]


def _name(task: Task | None) -> str | None:
    return None if task is None else task.name


def _asked(seen: Seen) -> str | None:
    """What an agent was asked."""
    said = () if seen.trace is None else seen.trace.said
    return said[0].text if said else None
