"""Watch a workflow: a screen that is drawn anew while it runs."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from textwrap import wrap
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from portico.interfaces.cli.approval_watch import watched as approvals_watched
from portico.interfaces.cli.keystrokes import Inbox, Keyboard
from portico.interfaces.cli.run_text import SHORT as SHORT_ID
from portico.interfaces.cli.server import ReceivedEvent, api_path
from portico.interfaces.cli.terminal import Terminal
from portico.interfaces.cli.workflow_events import Bell, Followed, News, Notice, Over, listening
from portico.interfaces.cli.workflow_view import (
    COLOURS,
    SHORT,
    Axis,
    Branch,
    Note,
    State,
    StepView,
    WorkflowView,
    aside,
    at_work,
    axis,
    bar,
    counted,
    given_to,
    keys_for,
    label,
    notes,
    ruler,
    sign,
    status_colour,
    took,
    uncertain_parts,
)
from portico.kernel.errors import PorticoError

# Rows if there is not room for all: those that need somebody first, those far off last.

_URGENT: Final = (State.UNCERTAIN, State.WAITING, State.RUNNING, State.FAILED)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


def fitted(steps: Sequence[StepView], heights: Sequence[int], room: int) -> frozenset[int]:
    """Places of those to show; each stretch that is left out takes one line, to say so."""
    if sum(heights) <= room:
        return frozenset(range(len(steps)))
    shown: set[int] = set()
    lines = 1
    for place in _by_urgency(steps):
        lines += heights[place] + _more_gaps(place, shown, len(steps))
        if lines > room:
            break
        shown.add(place)
    return frozenset(shown)


def _more_gaps(place: int, shown: set[int], many: int) -> int:
    """Showing one in the middle of a stretch makes two of it; showing all of it, none."""
    left = place > 0 and place - 1 not in shown
    right = place < many - 1 and place + 1 not in shown
    return int(left) + int(right) - 1


def _by_urgency(steps: Sequence[StepView]) -> Sequence[int]:
    urgent = [place for state in _URGENT for place, step in enumerate(steps) if step.state is state]
    coming = [place for place, step in enumerate(steps) if step.state is State.PENDING]
    open_ = {*urgent, *coming}
    over = [place for place in range(len(steps)) if place not in open_]
    over.sort(key=lambda place: steps[place].ended or _NEVER, reverse=True)
    return [*urgent, *_in_turn(over, coming)]


def _in_turn(some: Sequence[int], others: Sequence[int]) -> Sequence[int]:
    """One of each, then the rest of the longer."""
    paired = [place for pair in zip(some, others, strict=False) for place in pair]
    both = len(paired) // 2
    return [*paired, *some[both:], *others[both:]]


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
    if canvas.line is None or canvas.view.started is None or not canvas.view.steps:
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


# Only the lines of the screen are redrawn; what was printed before stays.

_TICK: Final = 0.2
"""Seconds between two pictures."""
_REST: Final = 5
"""Lines that are left for what is said and printed at the end."""
_LEAST: Final = 20
"""Lines of the last picture, however low the terminal is."""
_OUTCOMES: Final = ("done", "retry", "skip")
_NO_KEYS: Final = "Ctrl-C leaves it running"
_SURE: Final = "c again to cancel it; what it has done stays done"


class How(StrEnum):
    OVER = "over"
    LEFT = "left"
    INTERRUPTED = "interrupted"


def can_be_watched(at: Terminal) -> bool:
    """Whether somebody looks, at something that can be drawn on."""
    if at.json or at.quiet or not sys.stderr.isatty():
        return False
    return not Console(stderr=True).is_dumb_terminal


def watched(followed: Followed, at: Terminal) -> How:
    """Until it is over, or whoever watches leaves it. Raises what the server refuses for good."""
    typing = sys.stdin.isatty() and not at.no_input
    keyboard = Keyboard(sys.stdin.fileno()) if typing else None
    console = Console(stderr=True, highlight=False)
    live = Live(
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        vertical_overflow="crop",
    )
    watch = _Watch(followed, at, listening(followed), keyboard, console, live)
    with keyboard.open() if keyboard is not None else nullcontext():
        try:
            how = watch.run()
        except KeyboardInterrupt:
            how = How.INTERRUPTED
    if how is How.OVER:
        followed.refresh(at_once=True)
    watch.last_look(how)
    return how


@dataclass
class _Watch:
    followed: Followed
    at: Terminal
    inbox: Inbox[News]
    keyboard: Keyboard | None
    console: Console
    live: Live
    notice: str = ""
    sure: bool = False
    over: bool = False
    left: bool = False

    def run(self) -> How:
        with self.live:
            while not self.over and not self.left:
                self._happened(self._next())
                self.followed.refresh()
                self._draw()
        return How.OVER if self.over else How.LEFT

    def last_look(self, how: How) -> None:
        """What stays on the screen."""
        height = self.console.height - 1
        height = max(height - _REST, _LEAST) if how is How.OVER else height
        lines = self._picture(Frame(width=self.console.width, height=height))
        for line in lines:
            self.console.print(line, soft_wrap=True)
        if how is How.OVER and any(line.plain.startswith(LEFT_OUT) for line in lines):
            self.at.say(f"All of it: portico workflows show {self.followed.run[-SHORT_ID:]}")

    def _next(self) -> str | News | None:
        if self.keyboard is None:
            return self.inbox.within(_TICK)
        return self.keyboard.key_within(self.inbox, _TICK)

    def _happened(self, news: str | News | None) -> None:
        """And whatever else has come by then, before anything is drawn."""
        until = time.monotonic() + _TICK
        while news is not None:
            self._one(news)
            if self.over or self.left or time.monotonic() > until:
                return
            news = self.inbox.within(0)

    def _one(self, news: str | News) -> None:
        match news:
            case ReceivedEvent() | Bell():
                self.followed.take(news)
                self.notice = self.notice if self.sure else ""
            case Notice(text):
                self.notice = text
            case Over():
                self.over = True
            case PorticoError():
                raise news
            case str():
                self._pressed(news)

    def _pressed(self, key: str) -> None:
        sure, self.sure, self.notice = self.sure, False, ""
        if key == "q" or self.keyboard is None:
            self.left = True
        elif key == "c":
            self._cancel(sure=sure)
        elif key == "a":
            self._approvals(self.keyboard)
        elif key == "u":
            self._resolve(self.keyboard)

    def _cancel(self, *, sure: bool) -> None:
        if sure:
            self._send("cancel")
        else:
            self.sure, self.notice = True, _SURE

    def _approvals(self, keyboard: Keyboard) -> None:
        with self._aside(), keyboard.lent(), suppress(KeyboardInterrupt):
            approvals_watched(self.followed.server, self.at, bell=False)

    def _resolve(self, keyboard: Keyboard) -> None:
        """Asks of each step that may have been done or not."""
        with self._aside():
            for part in uncertain_parts(self.followed.view):
                self.at.say(f"{part}: {given_to(self.followed.view, part)}")
                if word := _outcome(part, keyboard):
                    self._send("resolve", {"step": part, "outcome": word})

    def _send(self, verb: str, body: object = None) -> None:
        server, run = self.followed.server, self.followed.run
        try:
            server.post(api_path("workflows", run, verb), body)
        except PorticoError as error:
            self.notice = str(error)
        self.followed.stale = True

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """The picture makes room for something else."""
        self.live.stop()
        try:
            yield
        finally:
            self.live.start()

    def _draw(self) -> None:
        below = self._below()
        turn = int(time.monotonic() / _TICK)
        height = max(self.console.height - len(below) - 1, 4)
        frame = Frame(width=self.console.width, height=height, turn=turn)
        self.live.update(Group(*self._picture(frame), *below), refresh=True)

    def _picture(self, frame: Frame) -> Sequence[Text]:
        followed = self.followed
        return picture(followed.view, followed.tree, followed.now(), frame)

    def _below(self) -> Sequence[Text]:
        keys = keys_for(self.followed.view) if self.keyboard is not None else _NO_KEYS
        told = [(self.notice, "yellow"), (keys, "dim")]
        width = self.console.width
        return [Text(line, style=style) for text, style in told for line in wrap(text, width)]


def _outcome(part: str, keyboard: Keyboard) -> str | None:
    """None to leave it."""
    asked = f"{part}: done, retry or skip? (Enter: leave it) "
    word = keyboard.sentence(asked)
    while word and word not in _OUTCOMES:
        word = keyboard.sentence(f"{word!r} is none of them. {asked}")
    return word
