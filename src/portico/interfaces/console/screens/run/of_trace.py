"""The tasks of a run of an agent: turns of its model, and between them the tools that it used."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from portico.agents.core.activation import TurnNoted
from portico.agents.core.traces import ToolUse, TurnTrace, WholeTrace
from portico.engine.core.runs import Step
from portico.interfaces.console.screens.run.of_journal import waits_of
from portico.interfaces.console.screens.run.tasks import Sort, Span, State, Task

_MODEL: Final = "model"


def tasks_of_trace(trace: WholeTrace, journal: Sequence[Step]) -> Sequence[Task]:
    uses: dict[int, list[ToolUse]] = {}
    for use in trace.uses:
        uses.setdefault(use.turn, []).append(use)
    tasks: list[Task] = []
    before: tuple[str, ...] = ()
    for turn in sorted(trace.turns, key=lambda turn: turn.number):
        tasks.append(_turn(turn, before))
        used = sorted(uses.get(turn.number, ()), key=lambda use: use.place)
        tasks += [_use(use) for use in used]
        tasks += _waiting(turn, used, journal)
        before = tuple(task.name for task in tasks if task.name.startswith(f"call-{turn.number}-"))
        before = before or (tasks[-1].name,)
    return [*tasks, *_under_way(trace, tasks, before)]


def lost_ahead(journal: Sequence[Step]) -> int:
    """Calls that were begun early for an answer that then came to nothing."""
    turns = [TurnNoted.from_json(row.output) for row in journal if turn_of(row.name) is not None]
    return sum(turn.lost for turn in turns)


def turn_of(name: str) -> int | None:
    """The number of the turn that a task of such a run is."""
    number = name.removeprefix("turn-")
    return int(number) if name.startswith("turn-") and number.isdigit() else None


def use_of(name: str) -> tuple[int, int] | None:
    """The turn, and the place in it, of a use of a tool."""
    parts = name.split("-")
    if len(parts) == 3 and parts[0] == "call" and parts[1].isdigit() and parts[2].isdigit():
        return int(parts[1]), int(parts[2])
    return None


def _turn(turn: TurnTrace, before: tuple[str, ...]) -> Task:
    return Task(
        name=f"turn-{turn.number}",
        tool=f"{_MODEL}.turn {turn.number}",
        state=State.DONE,
        needs=before,
        spans=[Span(turn.started_at, turn.started_at + turn.took)],
        tries=turn.attempts,
    )


def _use(use: ToolUse) -> Task:
    sort = Sort.FAILED if use.failed else Sort.RAN
    return Task(
        name=f"call-{use.turn}-{use.place}",
        tool=use.tool,
        state=State.FAILED if use.failed else State.DONE,
        needs=(f"turn-{use.turn}",),
        spans=[Span(use.started_at, use.started_at + use.took, sort)],
        tries=1,
        ahead=use.early,
        approval=None if use.approval is None else str(use.approval),
        code=use.code,
    )


def _waiting(turn: TurnTrace, used: Sequence[ToolUse], journal: Sequence[Step]) -> Sequence[Task]:
    """What is asked for, and not written down as done yet."""
    known = {f"call-{use.turn}-{use.place}" for use in used}
    found: list[Task] = []
    for call, (state, row, approval) in waits_of(journal).items():
        place = use_of(call)
        if place is None or place[0] != turn.number or call in known:
            continue
        tool = turn.calls[place[1]].name if place[1] < len(turn.calls) else call
        found.append(
            Task(
                name=call,
                tool=_aimed(journal, place) or tool,
                state=state,
                needs=(f"turn-{turn.number}",),
                spans=[Span(row.started_at, None, Sort.WAITED)],
                approval=approval,
            )
        )
    return found


def _aimed(journal: Sequence[Step], place: tuple[int, int]) -> str | None:
    """Which tool a call of a turn means, as the journal has it."""
    row = next((row for row in journal if row.name == f"turn-{place[0]}"), None)
    aims = row.output.get("aims") if row is not None and isinstance(row.output, Mapping) else None
    if not isinstance(aims, Sequence) or place[1] >= len(aims):
        return None
    match aims[place[1]]:
        case [str(tool), *_]:
            return tool
        case _:
            return None


def _under_way(trace: WholeTrace, tasks: Sequence[Task], before: tuple[str, ...]) -> Sequence[Task]:
    if trace.run.status.over or any(not task.state.over for task in tasks):
        return ()
    ends = [task.ended for task in tasks if task.ended is not None]
    since: datetime = max(ends, default=trace.run.started_at)
    number = len(trace.turns) + 1
    return [
        Task(
            name=f"turn-{number}",
            tool=f"{_MODEL}.turn {number}",
            state=State.RUNNING,
            needs=before,
            spans=[Span(since, None)],
        )
    ]
