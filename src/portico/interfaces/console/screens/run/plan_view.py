"""The drawing of a plan: boxes that are links, in layers, and what leads from one to another."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from portico.interfaces.console.screens.run.layout import HEIGHT, WIDTH, Dot, Layout, layered
from portico.interfaces.console.screens.run.tasks import State, Task
from portico.interfaces.console.screens.run.timeline import seconds_words
from portico.interfaces.console.screens.run.units import Unit, Units

_PANE: Final = 1140
"""Pixels that the drawing is fitted into, as far as it can still be read then."""
_SMALLEST: Final = 0.66
_LARGEST: Final = 1.0
_TITLE: Final = 19
"""Letters."""
_NOTE: Final = 23
AHEAD: Final = "⚡ ahead"
_MOST_EDGES: Final = 240
"""Where there are more, what follows from others is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    at: int
    """Its number among those that are drawn."""
    x: int
    y: int
    title: str
    note: str
    time: str
    state: State
    ahead: bool
    many: int
    href: str
    step: str | None
    """Of one task: its name."""
    label: str
    """For who does not see it."""
    chosen: bool


@dataclass(frozen=True, slots=True)
class Line:
    source: int
    target: int
    path: str
    look: str
    """`done`, `flow`, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    width: int
    height: int
    shown_width: int
    shown_height: int
    nodes: Sequence[Node]
    lines: Sequence[Line]
    many: bool
    """Whether some are drawn as one."""
    tasks: int
    """That are drawn in all, each or in one with others."""
    box: tuple[int, int] = (WIDTH, HEIGHT)


@dataclass(frozen=True, slots=True)
class Way:
    """What stays the same in every link of a page."""

    path: str
    zoom: str = ""
    find: str = ""

    def to(self, **changes: str | None) -> str:
        given = {"zoom": self.zoom, "find": self.find} | changes
        told = urlencode({name: value for name, value in given.items() if value})
        return f"{self.path}?{told}" if told else self.path


def plan_view(units: Units, now: datetime, way: Way, chosen: str | None = None) -> PlanView:
    drawn = layered(_dots(units.units))
    numbers = {unit.key: at for at, unit in enumerate(units.units)}
    states = {unit.key: unit.state for unit in units.units}
    scale = min(_LARGEST, max(_SMALLEST, _PANE / max(drawn.width, 1)))
    return PlanView(
        width=drawn.width,
        height=drawn.height,
        shown_width=round(drawn.width * scale),
        shown_height=round(drawn.height * scale),
        nodes=[
            node_of(at, unit, drawn, units, now, way, chosen) for at, unit in enumerate(units.units)
        ],
        lines=[
            Line(
                numbers[edge.source],
                numbers[edge.target],
                edge.path,
                line_look(states[edge.source], states[edge.target]),
            )
            for edge in drawn.edges
        ],
        many=any(unit.many for unit in units.units),
        tasks=sum(len(unit.tasks) for unit in units.units),
    )


def nodes_at(
    units: Units, wanted: Sequence[int], now: datetime, way: Way, chosen: str | None
) -> Sequence[Node]:
    """Some of them, where they stand in the drawing of all."""
    drawn = layered(_dots(units.units))
    return [node_of(at, units.units[at], drawn, units, now, way, chosen) for at in wanted]


def node_of(  # noqa: PLR0913, PLR0917 # a box has that many sides
    at: int, unit: Unit, drawn: Layout, units: Units, now: datetime, way: Way, chosen: str | None
) -> Node:
    box = drawn.boxes[unit.key]
    time = "" if unit.many else time_words(unit.first, now)
    note = note_of(unit, _NOTE - (len(time) + 2 if time else 0))
    title = cut(title_of(unit), _TITLE)
    return Node(
        at=at,
        x=box.x,
        y=box.y,
        title=title,
        note=note,
        time=time,
        state=unit.state,
        ahead=all(task.ahead for task in unit.tasks),
        many=len(unit.tasks) if unit.many else 0,
        href=way.to(zoom=units.path(unit), find=None)
        if unit.many
        else way.to(step=unit.first.name),
        step=None if unit.many else unit.first.name,
        label=label_of(unit, title, note, time),
        chosen=chosen in {task.name for task in unit.tasks},
    )


def title_of(unit: Unit) -> str:
    """Its tool, and of many that have the same how many."""
    if not unit.many:
        return unit.first.short
    alike = all(task.tool == unit.first.tool for task in unit.tasks)
    many = len(unit.tasks)
    return f"{unit.first.short} \u00d7 {many}" if alike else f"{many} steps"


def range_of(unit: Unit) -> str:
    """From which to which."""
    first, last = unit.first.name, unit.tasks[-1].name
    number = re.search(r"[0-9]+$", last)
    return f"{first} … {last if number is None else number[0]}"


def note_of(unit: Unit, room: int = _NOTE) -> str:
    """In so many letters."""
    if unit.many:
        failed = f", {unit.failed} failed" if unit.failed else ""
        over = "all over" if unit.over == len(unit.tasks) else f"{unit.over} over"
        return cut(f"{range_of(unit)} · {over}{failed}", room)
    task = unit.first
    items = task.items
    words = task.state.words
    if items is not None and task.state is not State.QUEUED:
        words = f"{words} {items.over}/{items.all}"
    if not task.server:
        return cut(words, room)
    return f"{cut(task.server, max(room - len(words) - 3, 4))} · {words}"


def time_words(task: Task, now: datetime) -> str:
    """How long it was at work; nothing of one that waits for people."""
    took = task.took(now)
    waits = task.state in {State.WAITING, State.UNCERTAIN, State.ASLEEP}
    return "" if took is None or waits else seconds_words(took.total_seconds())


def label_of(unit: Unit, title: str, note: str, time: str) -> str:
    """What is seen, so that who speaks to the page can say it; then what is not."""
    task = unit.first
    ahead = all(each.ahead for each in unit.tasks)
    seen = " ".join(part for part in (title, note, time, AHEAD if ahead else "") if part)
    if unit.many:
        return f"{seen}. Open to see each."
    words = task.state.words
    more = [f"step {task.name}"] if task.name != task.tool else []
    more += [task.tool] if task.short != title or task.server not in note else []
    more += [words] if words not in note else []
    return ", ".join([seen, *more, *(["ran ahead"] if ahead else [])])


def line_look(source: State, target: State) -> str:
    if source is not State.DONE:
        return ""
    return "flow" if target is State.RUNNING else "done"


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _dots(units: Sequence[Unit]) -> Sequence[Dot]:
    if sum(len(unit.needs) for unit in units) <= _MOST_EDGES:
        return [Dot(unit.key, unit.needs) for unit in units]
    reach: dict[str, set[str]] = {}
    by_key = {unit.key: unit for unit in units}
    for unit in units:
        _reached(unit.key, by_key, reach)
    return [
        Dot(
            unit.key,
            [
                need
                for need in unit.needs
                if not any(need in reach[other] for other in unit.needs if other != need)
            ],
        )
        for unit in units
    ]


def _reached(key: str, units: Mapping[str, Unit], reach: dict[str, set[str]]) -> set[str]:
    """All that comes before; there are few enough units to go down one by one."""
    if key not in reach:
        reach[key] = set()
        for need in units[key].needs:
            reach[key] |= {need} | _reached(need, units, reach)
    return reach[key]
