"""A project to keep things in, and those who are in it, for the contracts of the bridge."""

from dataclasses import replace

from portico.bridge.core.projects import Project, ProjectId
from portico.guard.core.authentication import as_principal
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.doors import Doors

TEAM = Label(Level.TEAM)
FINANCE = Label(Level.CONFIDENTIAL, frozenset({"finance"}))
LAW = Label(Level.CONFIDENTIAL, frozenset({"law"}))
SECRET = Label(Level.RESTRICTED, frozenset({"finance", "law"}))


async def cleared_root(doors: Doors, space: str = "home") -> Principal:
    """An admin who may see all that there is here."""
    return replace(await doors.founded(space), clearance=SECRET)


async def joined(doors: Doors, root: Principal, name: str, clearance: Label = TEAM) -> Principal:
    return replace(as_principal(await doors.joined(root, name)), clearance=clearance)


async def a_project(
    doors: Doors, root: Principal, name: str = "apollo", label: Label = TEAM
) -> Project:
    project = Project(
        id=ProjectId.mint(BEGINNING, SeededEntropy(f"project {name} {label} {root.space}")),
        name=name,
        label=label,
        made_by=root.id,
        made_at=BEGINNING,
        active_at=BEGINNING,
    )
    await doors.projects.add(root, project)
    return project
