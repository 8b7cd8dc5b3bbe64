"""The graph of a plan: layers, boxes, edges."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from portico.interfaces.console.screens.run.tasks import State, Task
from portico.interfaces.console.screens.run.timeline import Unit, Units, seconds_words

# Layers by the longest path, places in between for edges that pass a layer, order by the mean of
# the neighbours, heights likewise (Sugiyama). The same plan gives the same drawing.

WIDTH: Final = 168
HEIGHT: Final = 58
_GAP_X: Final = 58
_GAP_Y: Final = 24
_MARGIN: Final = 24
_THIN: Final = 6
"""How high the place of a passing edge is."""
_MOST_PLACES: Final = 2_000
"""Of passing edges; those that would need more pass below everything."""
_SWEEPS: Final = 24
_FEW_SWEEPS: Final = 8
_MANY: Final = 300
_COLUMNS: Final = 5
"""Of a drawing in which nothing waits for anything."""


@dataclass(frozen=True, slots=True)
class Dot:
    """What is to be drawn: its name, and the names of what it waits for."""

    name: str
    needs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Box:
    """Its upper left corner."""

    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    path: str
    """As SVG has it."""


@dataclass(frozen=True, slots=True)
class Layout:
    width: int
    height: int
    boxes: Mapping[str, Box]
    edges: Sequence[Edge] = ()


@dataclass(slots=True)
class _Drawing:
    names: Sequence[str]
    layer: dict[str, int]
    before: dict[str, list[str]] = field(default_factory=dict)
    after: dict[str, list[str]] = field(default_factory=dict)
    chains: list[list[str]] = field(default_factory=list)
    below: list[tuple[str, str]] = field(default_factory=list)
    y: dict[str, float] = field(default_factory=dict)
    high: dict[str, int] = field(default_factory=dict)


def layered(dots: Sequence[Dot]) -> Layout:
    names = [dot.name for dot in dots]
    needs = _needs(dots)
    if not any(needs.values()):
        return _grid(names)
    layer = _layers(names, needs)
    drawing = _Drawing(names, layer, high=dict.fromkeys(names, HEIGHT))
    _connect(drawing, needs)
    _settle(drawing)
    return _drawn(drawing)


def _needs(dots: Sequence[Dot]) -> dict[str, list[str]]:
    """Only of what is drawn, each once, and no circles: what would close one is left out."""
    there = {dot.name for dot in dots}
    wanted = {dot.name: [n for n in dict.fromkeys(dot.needs) if n in there] for dot in dots}
    order = {name: place for place, name in enumerate(_in_order(wanted))}
    return {
        name: [need for need in needs if order[need] < order[name]]
        for name, needs in wanted.items()
    }


def _in_order(needs: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Each after what it waits for; of a circle, the first in the plan goes first."""
    left = {name: len(waits) for name, waits in needs.items()}
    after: dict[str, list[str]] = {name: [] for name in needs}
    for name, waits in needs.items():
        for need in waits:
            after[need].append(name)
    order = [name for name, count in left.items() if not count]
    done = set(order)
    rest = iter(needs)
    at = 0
    while len(order) < len(needs):
        while at < len(order):
            for name in after[order[at]]:
                left[name] -= 1
                if not left[name] and name not in done:
                    done.add(name)
                    order.append(name)
            at += 1
        stuck = next((name for name in rest if name not in done), None)
        if stuck is not None:
            done.add(stuck)
            order.append(stuck)
    return order


def _layers(names: Sequence[str], needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """By the longest way from the left; what waits for nothing stands beside what first uses it."""
    layer: dict[str, int] = {}
    first_use: dict[str, int] = {}
    for name in _in_order(needs):
        layer[name] = 1 + max((layer[need] for need in needs[name]), default=-1)
        for need in needs[name]:
            first_use[need] = min(first_use.get(need, layer[name]), layer[name])
    return {name: layer[name] if needs[name] else first_use.get(name, 1) - 1 for name in names}


def _connect(drawing: _Drawing, needs: Mapping[str, Sequence[str]]) -> None:
    """Each edge goes from layer to layer; the longest ones, where there are too many, below."""
    layer = drawing.layer
    edges = [(need, name) for name in drawing.names for need in needs[name]]
    left = _MOST_PLACES
    passing = set[tuple[str, str]]()
    for edge in sorted(edges, key=lambda edge: layer[edge[1]] - layer[edge[0]]):
        left -= layer[edge[1]] - layer[edge[0]] - 1
        if left < 0:
            break
        passing.add(edge)
    drawing.before = {name: [] for name in drawing.names}
    for source, target in edges:
        if (source, target) not in passing:
            drawing.below.append((source, target))
            continue
        chain = [source]
        for number in range(layer[source] + 1, layer[target]):
            place = f"{len(drawing.chains)}\0{number}"  # no name has such a letter
            layer[place], drawing.high[place] = number, _THIN
            drawing.before[place] = [chain[-1]]
            chain.append(place)
        drawing.before[target].append(chain[-1])
        drawing.chains.append([*chain, target])
    drawing.after = {name: [] for name in drawing.before}
    for name, before in drawing.before.items():
        for each in before:
            drawing.after[each].append(name)


def _settle(drawing: _Drawing) -> None:
    columns: list[list[str]] = [[] for _ in range(max(drawing.layer.values()) + 1)]
    for name in drawing.before:
        columns[drawing.layer[name]].append(name)
    y, high = drawing.y, drawing.high
    for column in columns:
        top = 0.0
        for name in column:
            y[name] = top + high[name] / 2
            top += high[name] + _GAP_Y
    for sweep in range(_SWEEPS if len(y) <= _MANY else _FEW_SWEEPS):
        forward = sweep % 2 == 0
        beside = drawing.before if forward else drawing.after
        for column in columns if forward else reversed(columns):
            if column:
                _place(column, beside, y, high)


def _place(
    column: list[str],
    beside: Mapping[str, Sequence[str]],
    y: dict[str, float],
    high: Mapping[str, int],
) -> None:
    """Each where its neighbours are, but never onto another."""
    want = {
        name: sum(y[each] for each in found) / len(found) if (found := beside[name]) else y[name]
        for name in column
    }
    column.sort(key=want.__getitem__)
    places: list[float] = []
    shift, last = 0.0, None
    for name in column:
        place = want[name]
        if last is not None:
            place = max(place, places[-1] + (high[last] + high[name]) / 2 + _GAP_Y)
        places.append(place)
        shift += want[name] - place
        last = name
    shift /= len(column)
    for name, place in zip(column, places, strict=True):
        y[name] = place + shift


def _drawn(drawing: _Drawing) -> Layout:
    y, high = drawing.y, drawing.high
    top = min(y[name] - high[name] / 2 for name in y) - _MARGIN
    middle = {name: round(y[name] - top) for name in y}
    bottom = max(middle[name] + high[name] // 2 for name in y)
    boxes = {
        name: Box(_left(drawing.layer[name]), middle[name] - HEIGHT // 2) for name in drawing.names
    }
    edges = [Edge(chain[0], chain[-1], _path(drawing, middle, chain)) for chain in drawing.chains]
    lane = bottom + _GAP_Y // 2
    edges += [
        Edge(source, target, _below(boxes[source], boxes[target], lane))
        for source, target in drawing.below
    ]
    last = max(drawing.layer.values())
    height = (lane if drawing.below else bottom) + _MARGIN
    return Layout(_left(last) + WIDTH + _MARGIN, height, boxes, edges)


def _left(layer: int) -> int:
    return _MARGIN + layer * (WIDTH + _GAP_X)


def _path(drawing: _Drawing, middle: Mapping[str, int], chain: Sequence[str]) -> str:
    x, height = _left(drawing.layer[chain[0]]) + WIDTH, middle[chain[0]]
    path = f"M{x},{height}"
    for place in chain[1:]:
        path += _curve(x, height, _left(drawing.layer[place]), middle[place])
        x, height = _left(drawing.layer[place]) + WIDTH, middle[place]
        if place != chain[-1]:
            path += f"H{x}"
    return path


def _curve(x: int, y: int, to_x: int, to_y: int) -> str:
    half = (x + to_x) // 2
    return f"H{to_x}" if y == to_y else f"C{half},{y} {half},{to_y} {to_x},{to_y}"


def _below(source: Box, target: Box, lane: int) -> str:
    """Down in the gap beside the one, along below all, up in the gap before the other."""
    x, y = source.x + WIDTH, source.y + HEIGHT // 2
    to_x, to_y = target.x, target.y + HEIGHT // 2
    down, up = x + _GAP_X // 2, to_x - _GAP_X // 2
    return (
        f"M{x},{y}Q{down},{y} {down},{y + 12}V{lane - 12}Q{down},{lane} {down + 12},{lane}"
        f"H{up - 12}Q{up},{lane} {up},{lane - 12}V{to_y + 12}Q{up},{to_y} {to_x},{to_y}"
    )


def _grid(names: Sequence[str]) -> Layout:
    """Where nothing waits for anything: as one reads, row by row."""
    boxes = {
        name: Box(_left(number % _COLUMNS), _MARGIN + number // _COLUMNS * (HEIGHT + _GAP_Y))
        for number, name in enumerate(names)
    }
    width = max((box.x for box in boxes.values()), default=0) + WIDTH + _MARGIN
    height = max((box.y for box in boxes.values()), default=0) + HEIGHT + _MARGIN
    return Layout(width, height, boxes)


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
    words = task.state.text
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
    words = task.state.text
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
