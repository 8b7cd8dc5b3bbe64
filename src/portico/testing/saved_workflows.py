"""Saved workflows in memory; and a maker of them."""

from collections.abc import Sequence
from dataclasses import replace

from portico.kernel.effect import Effect
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, SeededEntropy
from portico.testing.world import MemoryWorld, RowRefused
from portico.workflows.core.saved import SavedWorkflow, WorkflowNotFound


class MemorySavedWorkflows:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def all(self, caller: Principal) -> Sequence[SavedWorkflow]:
        rows = self._world.saved_workflows.items()
        mine = [saved for (space, _), saved in rows if space == caller.space]
        return sorted(mine, key=lambda saved: saved.name)

    async def get(self, caller: Principal, name: str) -> SavedWorkflow:
        found = self._world.saved_workflows.get((caller.space, name))
        if found is None:
            raise WorkflowNotFound(name)
        return found

    async def put(self, caller: Principal, saved: SavedWorkflow) -> None:
        if caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        place = (caller.space, saved.name)
        before = self._world.saved_workflows.get(place)
        first = saved.saved_at if before is None else before.saved_at
        self._world.saved_workflows[place] = replace(saved, saved_at=first)

    async def remove(self, caller: Principal, name: str) -> None:
        if (caller.space, name) not in self._world.saved_workflows:
            raise WorkflowNotFound(name)
        del self._world.saved_workflows[caller.space, name]


def a_saved_workflow(
    name: str = "tidy",
    plan: JsonObject | None = None,
    *,
    description: str = "Tidies up.",
    effect: Effect = Effect.LOCAL_READ,
) -> SavedWorkflow:
    return SavedWorkflow(
        name=name,
        plan=plan or {"steps": [{"id": "read", "tool": "files.read"}]},
        description=description,
        effect=effect,
        saved_by=PrincipalId.mint(BEGINNING, SeededEntropy("who saved")),
        saved_by_name="root",
        saved_at=BEGINNING,
        changed_at=BEGINNING,
    )
