"""What is drawn as one: a task, or many that are alike. A plan of a thousand steps is looked at as
a few dozen units, and whoever wants to see inside one opens it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.interfaces.console.screens.run.tasks import State, Task

MOST: Final = 60
"""Units that are drawn at once."""
_ALIKE: Final = 4
"""So many that are alike are drawn as one, where there are too many."""
_CHUNKS: Final = (10, 25, 50, 100, 250)
"""Fixed sizes: while a run grows, what was drawn stays where it was."""
_ORDER: Final = (
    State.FAILED,
    State.UNCERTAIN,
    State.WAITING,
    State.RUNNING,
    State.ASLEEP,
    State.QUEUED,
    State.DONE,
    State.SKIPPED,
    State.NOT_NEEDED,
)
"""What a unit of many is said to be: the first that one of them is."""


@dataclass(frozen=True, slots=True)
class Unit:
    key: str
    """The name of its task; of many, `~` and a number."""
    tasks: tuple[Task, ...]
    needs: tuple[str, ...] = ()
    """Keys."""

    @property
    def many(self) -> bool:
        return len(self.tasks) > 1

    @property
    def first(self) -> Task:
        return self.tasks[0]

    @property
    def state(self) -> State:
        states = {task.state for task in self.tasks}
        if states <= {State.QUEUED, State.DONE} and len(states) > 1:
            return State.RUNNING  # it has begun, and there is more to come
        return next(state for state in _ORDER if state in states)

    @property
    def over(self) -> int:
        return sum(task.state.over for task in self.tasks)

    @property
    def failed(self) -> int:
        return sum(task.state is State.FAILED for task in self.tasks)


@dataclass(frozen=True, slots=True)
class Units:
    """What is drawn, and where in the whole that is."""

    units: tuple[Unit, ...]
    zoom: tuple[int, ...] = ()
    left_out: int = 0
    """Tasks that were looked for and are too many to be drawn."""

    @property
    def shape(self) -> str:
        """Changes when something is drawn that was not drawn before, or otherwise."""
        many = sum(unit.many for unit in self.units)
        return f"{len(self.units)}.{many}"

    def path(self, unit: Unit) -> str:
        """By which one looks into a unit of many."""
        return ".".join(map(str, (*self.zoom, int(unit.key[1:]))))


def units_of(tasks: Sequence[Task], zoom: Sequence[int] = (), find: str = "") -> Units:
    """`zoom`: inside which unit, and inside which of that. `find`: only tasks that say this."""
    taken: list[int] = []
    for number in zoom:
        opened = _collapsed(tasks)
        if number >= len(opened) or not opened[number].many:
            break
        tasks = opened[number].tasks
        taken.append(number)
    if find:
        fits = [task for task in tasks if fits_words(task, find)]
        shown = _singly(fits[:MOST])
        return Units(tuple(shown), tuple(taken), len(fits) - len(shown))
    return Units(tuple(_collapsed(tasks)), tuple(taken))


def fits_words(task: Task, find: str) -> bool:
    """Each word somewhere: in its name, its tool, or how it stands."""
    text = f"{task.name} {task.tool} {task.state} {task.state.words} {task.why or ''}".casefold()
    return all(word in text for word in find.casefold().split())


def zoom_of(text: str) -> tuple[int, ...]:
    """Whatever is no place is none."""
    parts = text.split(".")[:10] if text else []
    fine = all(part.isascii() and part.isdigit() and len(part) <= 4 for part in parts)
    return tuple(map(int, parts)) if fine else ()


def _collapsed(tasks: Sequence[Task]) -> Sequence[Unit]:
    if len(tasks) <= MOST:
        return _singly(tasks)
    groups = _alike(tasks)
    if len(groups) == 1 or len(groups) > MOST:
        groups = _chunks(tasks)
    return _united(groups)


def _singly(tasks: Sequence[Task]) -> Sequence[Unit]:
    there = {task.name for task in tasks}
    return [
        Unit(task.name, (task,), tuple(need for need in task.needs if need in there))
        for task in tasks
    ]


def _alike(tasks: Sequence[Task]) -> Sequence[Sequence[Task]]:
    """The same tool, after the same and before the same."""
    users: dict[str, list[str]] = {}
    for task in tasks:
        for need in task.needs:
            users.setdefault(need, []).append(task.name)
    found: dict[tuple[str, frozenset[str], frozenset[str]], list[Task]] = {}
    for task in tasks:
        kind = (task.tool, frozenset(task.needs), frozenset(users.get(task.name, ())))
        found.setdefault(kind, []).append(task)
    return [
        part
        for group in found.values()
        for part in ([group] if len(group) >= _ALIKE else [[task] for task in group])
    ]


def _chunks(tasks: Sequence[Task]) -> Sequence[Sequence[Task]]:
    """In an order in which each comes after what it waits for: so no two wait for each other."""
    size = next((size for size in _CHUNKS if len(tasks) <= size * MOST), _CHUNKS[-1])
    order = _in_order(tasks)
    return [order[start : start + size] for start in range(0, len(order), size)]


def _in_order(tasks: Sequence[Task]) -> Sequence[Task]:
    """Layer by layer; as they stand, of one layer."""
    depth: dict[str, int] = {}
    by_name = {task.name: task for task in tasks}
    for task in tasks:
        _go_down(task, by_name, depth)
    return sorted(tasks, key=lambda task: depth[task.name])


def _go_down(task: Task, by_name: Mapping[str, Task], depth: dict[str, int]) -> None:
    stack = [task]
    entered = set[str]()
    while stack:
        at = stack[-1]
        waits = [
            by_name[need]
            for need in at.needs
            if need in by_name and need not in depth and need not in entered
        ]
        entered.add(at.name)
        if waits:
            stack += waits
            continue
        stack.pop()
        if at.name not in depth:
            depth[at.name] = 1 + max((depth.get(need, -1) for need in at.needs), default=-1)


def _united(groups: Sequence[Sequence[Task]]) -> Sequence[Unit]:
    keys = [group[0].name if len(group) == 1 else f"~{at}" for at, group in enumerate(groups)]
    place = {task.name: at for at, group in enumerate(groups) for task in group}
    units: list[Unit] = []
    for at, group in enumerate(groups):
        needs = {place[need] for task in group for need in task.needs if need in place} - {at}
        units.append(Unit(keys[at], tuple(group), tuple(keys[need] for need in sorted(needs))))
    return units
