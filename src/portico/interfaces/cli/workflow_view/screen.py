"""The picture of a workflow, line by line: a tree of its steps, and beside it when each ran."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from textwrap import wrap
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from portico.interfaces.cli.workflow_view.bars import bar, ruler
from portico.interfaces.cli.workflow_view.fitting import fitted
from portico.interfaces.cli.workflow_view.timeline import Axis, axis
from portico.interfaces.cli.workflow_view.tree import Branch
from portico.interfaces.cli.workflow_view.view import State, StepView, WorkflowView
from portico.interfaces.cli.workflow_view.words import (
    COLOURS,
    SHORT,
    Note,
    aside,
    at_work,
    counted,
    label,
    notes,
    sign,
    status_colour,
    took,
)

_NARROW: Final = 60
"""Below that, only the tree."""
_NARROWEST_LINE: Final = 12
_DEEPEST: Final = 6
LEFT_OUT: Final = "⋮"
"""With this begins a line that stands for several."""
_NOTHING: Final = "nothing called yet"
_GAP: Final = "  "
_Row = tuple[Branch, StepView]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """How it is looked at."""

    width: int
    height: int | None = None
    """None: as long as it is."""
    turn: int | None = None
    """None: it is not live, and nothing moves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Canvas:
    view: WorkflowView
    now: datetime
    frame: Frame
    name: int
    """Letters of each column; of `tool` none if there is no room for it."""
    tool: int
    took: int
    line: Axis | None


def picture(
    view: WorkflowView, tree: Sequence[Branch], now: datetime, frame: Frame
) -> Sequence[Text]:
    rows = [(branch, view.steps[branch.step]) for branch in tree if branch.step in view.steps]
    canvas = _canvas(rows, view, now, frame)
    head = [_head(canvas), *_ruler(canvas)]
    below = [_below(branch, step, canvas) for branch, step in rows]
    heights = [1 + len(lines) for lines in below]
    room = sum(heights) if frame.height is None else frame.height - len(head)
    shown = fitted([step for _, step in rows], heights, room)
    body: list[Text] = []
    hidden: list[StepView] = []
    for place, (branch, step) in enumerate(rows):
        if place not in shown:
            hidden.append(step)
            continue
        body += [*_left_out(hidden), _row(branch, step, canvas), *below[place]]
        hidden = []
    return [*head, *body, *_left_out(hidden)]


def _head(canvas: _Canvas) -> Text:
    view, width = canvas.view, canvas.frame.width
    counts = view.counted()
    others: dict[State, int] = {
        state: many for state, many in counts.items() if state is not State.DONE
    }
    done = f"{counts.get(State.DONE, 0)} of {len(view.steps)} done" if view.steps else _NOTHING
    parts = [at_work(view, canvas.now), done, counted(others) if width >= _NARROW else ""]
    text = Text.assemble(
        (view.name or f"…{view.run[-SHORT:]}", "bold"),
        (f"  {view.status}", status_colour(view.status)),
        ("  " + " · ".join(part for part in parts if part), "dim"),
    )
    text.truncate(width, overflow="ellipsis")
    return text


def _ruler(canvas: _Canvas) -> Sequence[Text]:
    if canvas.line is None or canvas.view.began is None or not canvas.view.steps:
        return []
    margin = " " * (canvas.frame.width - canvas.took - len(_GAP) - canvas.line.width)
    return [Text(f"{margin}{ruler(canvas.line)}".rstrip(), style="dim")]


def _canvas(rows: Sequence[_Row], view: WorkflowView, now: datetime, frame: Frame) -> _Canvas:
    whole = partial(_Canvas, view=view, now=now, frame=frame)
    width = frame.width
    times = max([len("12.3 s"), *(len(took(step, view, now)) for _, step in rows)])
    if width < _NARROW:
        return whole(name=width - times - len(_GAP), tool=0, took=times, line=None)
    names = [_indent(branch) + 2 + cell_len(label(step)) for branch, step in rows]
    name = min(max(names, default=0), width * 2 // 5)
    tool = min(max((cell_len(step.tool) for _, step in rows), default=0), width // 4)
    left = width - name - tool - times - 3 * len(_GAP)
    if left < _NARROWEST_LINE:
        left, tool = left + tool + len(_GAP), 0
    return whole(name=name, tool=tool, took=times, line=axis(view, now, left))


def _row(branch: Branch, step: StepView, canvas: _Canvas) -> Text:
    colour = COLOURS[step.state]
    quiet = step.state in {State.PENDING, State.SKIPPED, State.NOT_NEEDED}
    text = Text.assemble(
        ("".join(_cut(branch.guides)), "dim"),
        (f"{sign(step, canvas.frame.turn)} ", colour),
        (label(step), "dim" if quiet else ""),
    )
    text.truncate(canvas.name, overflow="ellipsis", pad=True)
    if canvas.tool:
        text.append(_GAP + _sized(step.tool, canvas.tool), style="dim")
    if canvas.line is not None:
        text.append(_GAP)
        text.append_text(_drawn(step, canvas, canvas.line))
    time = took(step, canvas.view, canvas.now).rjust(canvas.took)
    text.append(_GAP + time, style="" if quiet else colour)
    text.rstrip()
    return text


def _drawn(step: StepView, canvas: _Canvas, line: Axis) -> Text:
    said = aside(step)
    if said:
        return Text(_sized(said, line.width), style="dim")
    weight = "bold " if step.id in canvas.view.critical else ""
    return Text(bar(step, canvas.view, canvas.now, line), style=f"{weight}{COLOURS[step.state]}")


def _below(branch: Branch, step: StepView, canvas: _Canvas) -> Sequence[Text]:
    """What must not be cut off stands on lines of its own."""
    margin = "".join(_cut(branch.past)) + _GAP
    room = max(canvas.frame.width - cell_len(margin) - 2, 8)
    lines = [line for note in notes(step, canvas.view.run) for line in _broken(note, room)]
    return [Text.assemble((margin, "dim"), (line, COLOURS[step.state])) for line in lines]


def _broken(note: Note, room: int) -> Sequence[str]:
    """What is to be typed stands on a line of its own, if both do not fit on one."""
    whole = f"{note.text}: {note.command}" if note.command else note.text
    if cell_len(whole) <= room:
        return [f"↳ {whole}"]
    first, *rest = [*wrap(note.text, room), *wrap(note.command, room)]
    return [f"↳ {first}", *(f"  {line}" for line in rest)]


def _left_out(hidden: Sequence[StepView]) -> Sequence[Text]:
    if not hidden:
        return []
    states = [step.state for step in hidden]
    counts = {state: states.count(state) for state in State if state in states}
    return [Text(f"{LEFT_OUT} {counted(counts)}", style="dim")]


def _cut(guides: Sequence[str]) -> Sequence[str]:
    """What is very deep in does not go on to the right for ever."""
    return guides if len(guides) <= _DEEPEST else ["⋯ ", *guides[1 - _DEEPEST :]]


def _indent(branch: Branch) -> int:
    return 2 * min(len(branch.guides), _DEEPEST)


def _sized(text: str, width: int) -> str:
    """Exactly so wide; what is cut off is said."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return f"{set_cell_size(text, width - 1)}…"
