"""Somebody who says what they want, in memory: plans are run, learnt from, and suggested."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portico.adapters.embeddings.static_table import StaticTable
from portico.engine.core.runs import Started
from portico.gateway.core.errors import EmbedderUnavailable
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.learning.core.intents import Calibration
from portico.learning.core.observed_calls import ReadRequest
from portico.learning.core.prefetch_gates import PrefetchLimits
from portico.learning.core.suggestions import Suggestion
from portico.learning.suggestions import SuggestWorkflow
from portico.testing.gateway import a_tool
from portico.workflows.runs import RunWorkflowSpec
from tests.workflows.plan_room import PlanRoom

COPY: JsonObject = {
    "steps": [
        {"id": "one", "tool": "files.read", "arguments": {"path": "/notes/a.md"}},
        {"id": "two", "tool": "files.write", "arguments": {"path": {"$from": "one.json.path"}}},
    ]
}
_PATH: JsonObject = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}
READ = a_tool(
    "files.read", "Reads the text of a file.", effect=Effect.LOCAL_READ, inputSchema=_PATH
)
WRITE = a_tool(
    "files.write", "Writes text into a file.", effect=Effect.LOCAL_WRITE, inputSchema=_PATH
)
INTENT = "copy the note /notes/a.md"
ANOTHER = "copy the note /notes/b.md"


class NoEmbedder:
    """It is away."""

    model = StaticTable().model

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbedderUnavailable(f"away: {len(texts)}")


class SuggestRoom(PlanRoom):
    """Whatever is to be read ahead is `wanted`, and taken unless somebody says otherwise. Before
    anything has become of a suggestion, each is 0.88 sure."""

    def __init__(self, *, ahead: PrefetchLimits | None = None) -> None:
        super().__init__(ahead=ahead)
        for place in [*self.world.tools]:
            self.world.tools[place] = [READ, WRITE]
        self.wanted: list[ReadRequest] = []
        self.said: list[str] = []
        self.takes = True
        use = self.gateway.over_http
        self.lessons = self.gateway.plan_lessons
        durable = self.doors.engines.durable
        self.kinds = [
            self.approvals.kind(use.call_tool),
            self.doors.kind(self.gateway.step_call, durable, self.lessons.note),
        ]
        self.run_workflow = use.run_workflow
        self.feedback = use.suggest.give_feedback
        made = use.suggest.suggest_workflow
        self.suggest_workflow: SuggestWorkflow = replace(
            made,
            read_first=replace(made.read_first, these=self._these),
            say=lambda _, words: self.said.append(words),
            calibration=Calibration(slope=0.0, start=2.0),
        )

    async def _these(
        self, _caller: Principal, wanted: Sequence[ReadRequest], /
    ) -> Sequence[ReadRequest]:
        self.wanted += wanted
        return wanted if self.takes else []

    async def suggested(self, intent: str = ANOTHER, by: Principal | None = None) -> Suggestion:
        return await self.suggest_workflow(by or await self.bot(), intent)

    async def begun(self, by: Principal | None = None, **wish: Any) -> Started:
        started = await self.run_workflow(by or await self.bot(), RunWorkflowSpec(**wish))
        await self.leg(started.run.id)
        return started

    async def learnt(self, times: int = 6, plan: JsonObject = COPY, intent: str = INTENT) -> None:
        """Each in another hour, so that every one of them counts."""
        for _ in range(times):
            await self.begun(plan=plan, intent=intent)
            await self.lessons.flush()
            self.clock.turn(timedelta(minutes=61))

    async def accepted(self, times: int) -> None:
        """So often what was suggested was run as it was."""
        for _ in range(times):
            made = await self.suggested()
            await self.begun(suggestion=made.id)
            self.clock.turn(timedelta(minutes=61))

    async def run_of(self, suggestion: Suggestion) -> RunId:
        return (await self.begun(suggestion=suggestion.id)).run.id
