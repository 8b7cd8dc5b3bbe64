"""What saved workflows need from the outside world."""

from collections.abc import Sequence
from typing import Protocol

from portico.gateway.core.saved_workflow import SavedWorkflow
from portico.kernel.principal import Principal


class SavedWorkflows(Protocol):
    """The plans that a space has saved."""

    async def all(self, caller: Principal) -> Sequence[SavedWorkflow]:
        """By name."""
        ...

    async def get(self, caller: Principal, name: str) -> SavedWorkflow:
        """Raises `WorkflowNotFound`."""
        ...

    async def put(self, caller: Principal, saved: SavedWorkflow) -> None:
        """In the place of what was saved under its name, whose `saved_at` stays."""
        ...

    async def remove(self, caller: Principal, name: str) -> None:
        """Raises `WorkflowNotFound`."""
        ...
