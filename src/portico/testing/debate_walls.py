"""What the doors of debates in memory have in common: who sees what, and what it has cost."""

from collections.abc import Sequence
from dataclasses import replace

from portico.bridge.core.errors import ProjectNotFound, WriteDown
from portico.bridge.core.projects import Project, ProjectId
from portico.debate.core.debaters import Voice
from portico.debate.core.debates import Debate, DebateId, WholeDebate
from portico.debate.core.errors import DebateNotFound
from portico.kernel.budget import NOTHING, Cost
from portico.kernel.ids import BadId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.bridge_walls import mark, project_there
from portico.testing.world import MemoryWorld


def readable(caller: Principal, debate: Debate) -> bool:
    mine = debate.started_by == caller.id
    return caller.clearance.covers(debate.label) and (mine or not debate.private)


def found(world: MemoryWorld, caller: Principal, debate: DebateId) -> Debate:
    """Raises `DebateNotFound`."""
    its = world.debates.get((caller.space, debate))
    if its is None or not readable(caller, its):
        raise DebateNotFound(str(debate))
    return its


def at_table(world: MemoryWorld, guest: Principal, debate: DebateId) -> Debate:
    """One that they may read or could sit in. Raises `DebateNotFound`."""
    its = world.debates.get((guest.space, debate))
    if its is None or not guest.clearance.covers(its.label):
        raise DebateNotFound(str(debate))
    if not its.guests and not readable(guest, its):
        raise DebateNotFound(str(debate))
    return its


def check_mark(world: MemoryWorld, caller: Principal, label: Label) -> None:
    """Of what has no label of its own. Raises `WriteDown`."""
    read = mark(world, caller)
    if not label.covers(read):
        raise WriteDown(label, read, shared=True)


def project_of(world: MemoryWorld, caller: Principal, project: str) -> Project:
    """Raises `ProjectNotFound`."""
    try:
        id_ = ProjectId.parse(project)
    except BadId as error:
        raise ProjectNotFound(project) from error
    return project_there(world, caller, id_)


def seated(world: MemoryWorld, caller: Principal, debate: DebateId) -> Sequence[Voice]:
    return [
        voice
        for (space, id_, _), voice in world.debate_seats.items()
        if (space, id_) == (caller.space, debate)
    ]


def seen(world: MemoryWorld, caller: Principal, debate: Debate) -> Debate:
    """With the guests who have sat down since."""
    return replace(debate, voices=(*debate.voices, *seated(world, caller, debate.id)))


def whole_of(world: MemoryWorld, caller: Principal, debate: Debate) -> WholeDebate:
    notes = [
        known.note
        for (space, id_, _), known in world.debate_notes.items()
        if (space, id_) == (caller.space, debate.id)
    ]
    return WholeDebate(seen(world, caller, debate), tuple(notes))


def committed(world: MemoryWorld, caller: Principal, debate: DebateId) -> Cost:
    """What is spent or reserved; of an analysis with its parts."""
    costs = [
        held.cost
        for (space, id_, _), held in world.debate_reservations.items()
        if space == caller.space and debate in (id_, held.whole)
    ]
    return sum(costs, start=NOTHING)
