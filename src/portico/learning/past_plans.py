"""Learn from plans that ran to their end."""

import json
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from typing import Final

import numpy as np

from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.ports import Embedder, keep_written
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue
from portico.kernel.label import may_read
from portico.learning.core.intents import in_general, without_values
from portico.learning.core.likely_tools import MOST_STEPS
from portico.learning.core.past_plans import (
    MOST_OF_STEPS,
    PastPlanId,
    StoredPlan,
    listed_values,
    skeleton_of,
    stored,
    with_inputs,
)
from portico.learning.core.tool_graph import plan_edges
from portico.learning.observation import Learns
from portico.learning.suggestions import PastPlanStore
from portico.learning.tool_graph import Graphs
from portico.workflows.core.plan import Expressions
from portico.workflows.core.plan_learning import LONGEST_INTENT, PlanEnd

# What is learnt from plans that ended well: noted in passing, worked out and written down later.
#
# A run pays for nothing but being noted; when more end than can be learnt from, some are not learnt
# from.

_log: Final = logging.getLogger("portico.gateway.suggest.plan_lessons")


@dataclass(slots=True, kw_only=True)
class PlanObservations:
    catalogues: Catalogs
    past: PastPlanStore
    graphs: Graphs
    embedder: Embedder
    expressions: Expressions
    learns: Learns
    clean: Callable[[JsonValue], JsonValue]
    """Takes secrets out of what somebody said."""
    clock: Clock
    every: timedelta = timedelta(seconds=2)
    limit: int = 256
    """Plans that wait to be learnt from."""
    _waiting: deque[PlanEnd] = field(default_factory=deque)

    def note(self, end: PlanEnd) -> None:
        if len(self._waiting) < self.limit:
            self._waiting.append(end)

    async def flush(self) -> None:
        """All that is noted. What cannot be written now waits on."""
        for _ in range(len(self._waiting)):
            end = self._waiting.popleft()
            try:
                await self._learn(end)
            except PorticoError:
                self.note(end)
                raise
            except Exception as error:  # noqa: BLE001 # the edge of a background loop
                # what it says may be somebody's
                _log.warning("a plan taught nothing: %s", type(error).__name__, exc_info=False)

    async def run(self) -> None:
        await keep_written(self.every, self.flush)

    async def _learn(self, end: PlanEnd) -> None:
        if not await self.learns(end.caller):
            return
        shelf = await self.catalogues.current(end.caller)

        def place(ref: ToolRef) -> ToolPlace | None:
            live = shelf.tools.get(ref)
            return None if live is None else ToolPlace(shelf.servers[ref.server].id, ref.name)

        words = "" if end.intent is None else str(self.clean(end.intent))[:LONGEST_INTENT]
        if words and (plan := await self._past(end, words, shelf)):
            await self.past.learn(end.caller, plan)
        edges = [*plan_edges(end.plan, end.done, place, self.expressions)]
        self.graphs.note(end.caller, end.label, edges)

    async def _past(self, end: PlanEnd, intent: str, shelf: CatalogSnapshot) -> StoredPlan | None:
        """None of one that was not carried out as a whole, that is longer than any that is
        suggested, or whose tools are gone by now."""
        caller, tools = end.caller, {step.tool for step in end.plan.steps}
        whole = end.done >= {step.id for step in end.plan.steps}
        if (
            not whole
            or len(end.plan.steps) > MOST_STEPS
            or not tools <= shelf.tools.keys()
            or not may_read(caller.clearance, end.label)
        ):
            return None
        listed = dict(
            chain.from_iterable(
                listed_values(str(ref), shelf.tools[ref].definition.input_schema).items()
                for ref in tools
            )
        )
        steps = stored(
            skeleton_of(with_inputs(end.plan, end.inputs), intent, listed),
            lambda tool: ToolPlace(
                shelf.servers[ToolRef.parse(tool).server].id, ToolRef.parse(tool).name
            ),
        )
        if len(json.dumps(steps)) > MOST_OF_STEPS:
            return None
        return StoredPlan(
            id=PastPlanId.of(caller.space, caller.id, end.label, intent, steps),
            principal=caller.id,
            label=end.label,
            intent=in_general(intent)[:LONGEST_INTENT],
            vector=await self._vector(intent),
            steps=steps,
            last_at=self.clock.now(),
        )

    async def _vector(self, intent: str) -> bytes:
        with suppress(EmbedderUnavailable):
            embedded = await self.embedder.embed([without_values(intent)])
            return np.asarray(embedded[0], "<f4").tobytes()
        return b""
