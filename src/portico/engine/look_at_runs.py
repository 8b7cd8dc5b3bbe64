"""See which runs there are, and how far each has come."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.engine.core.run import Run, RunPosition, RunStatus, Step
from portico.engine.ports import RunBook
from portico.engine.task_marks import has_read
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.guard.ports import Contexts
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRuns:
    book: RunBook

    async def __call__(
        self,
        caller: Principal,
        *,
        statuses: Sequence[RunStatus] = (),
        kind: str | None = None,
        before: RunPosition | None = None,
        limit: int,
    ) -> Sequence[tuple[Run, int]]:
        """Newest first, each with how many of its steps are over. Raises `NotPermitted`."""
        permit(caller, Scope.RUNS_READ)
        found = await self.book.page(
            caller, statuses=statuses, kind=kind, before=before, limit=limit
        )
        over = await self.book.progress(caller, [run.id for run in found])
        return [(run, over.get(run.id, 0)) for run in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowRun:
    book: RunBook
    contexts: Contexts

    async def __call__(self, caller: Principal, run: RunId) -> tuple[Run, Sequence[Step]]:
        """Raises `NotPermitted`, `RunNotFound`."""
        permit(caller, Scope.RUNS_READ)
        found = await self.book.get(caller, run)
        await has_read(self.contexts, caller, found.label)
        return found, await self.book.steps(caller, run)
