"""Tool usage: which tools a principal uses, noted in passing and written down now and then."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.ports import ToolUsageStore, keep_written
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal


@dataclass(slots=True, kw_only=True)
class ToolUsageRecorder:
    tool_usage: ToolUsageStore
    clock: Clock
    every: timedelta = timedelta(seconds=5)
    _noted: dict[PrincipalId, tuple[Principal, Counter[ToolRef]]] = field(default_factory=dict)

    def note(self, caller: Principal, ref: ToolRef) -> None:
        _, counted = self._noted.setdefault(caller.id, (caller, Counter()))
        counted[ref] += 1

    async def flush(self) -> None:
        """What cannot be written now stays noted."""
        for known in list(self._noted):
            caller, counted = self._noted.pop(known)
            try:
                await self.tool_usage.used(caller, counted, self.clock.now())
            except PorticoError:
                _, since = self._noted.setdefault(known, (caller, Counter()))
                since.update(counted)
                raise

    async def run(self) -> None:
        await keep_written(self.every, self.flush)
