"""What a call was given of which nobody knows whether it was made: whoever looks needs to know what
to look for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.engine.core.runs import Run, Step, StepState
from portico.gateway.core.call import claim_of
from portico.gateway.core.plan.report import StepReport
from portico.gateway.core.plan.standings import owner
from portico.gateway.core.tool import ToolRef
from portico.gateway.ports import CallHistory
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

_WAITS: Final = "signal:~uncertain:"
_MOST: Final = 20
"""Calls of a run that are looked up."""
_LATEST: Final = 200
"""Calls of a tool that are looked through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledWith:
    history: CallHistory

    async def __call__(
        self, caller: Principal, run: Run, journal: Sequence[Step], steps: Sequence[StepReport]
    ) -> Sequence[StepReport]:
        """For the caller of the run alone."""
        unknown = [*_unknown(journal)][:_MOST]
        found = {call: await self._of(caller, run, name, tool) for call, name, tool in unknown}
        told = {call: it for call, it in found.items() if it is not None}
        return [
            replace(step, called_with={call: told[call] for call in told if owner(call) == step.id})
            for step in steps
        ]

    async def _of(self, caller: Principal, run: Run, name: str, tool: ToolRef) -> JsonObject | None:
        claim = claim_of(run.id, name, run.leg)
        ids = {claim.id, *claim.earlier}
        latest = await self.history.page(caller, of=caller.id, ref=tool, before=None, limit=_LATEST)
        call = next((each for each in latest if each.id in ids), None)
        if call is None:
            return None
        at = call.started_at.isoformat()
        return {"tool": str(tool), "arguments": call.arguments, "started_at": at}


def _unknown(journal: Sequence[Step]) -> Iterator[tuple[str, str, ToolRef]]:
    """Each call that waits for somebody's word, with the name that it was last made under."""
    told = {step.name: step.output for step in journal}
    for step in journal:
        if step.state is StepState.OPEN and step.name.startswith(_WAITS):
            call, _, number = step.name.removeprefix(_WAITS).rpartition(":")
            facts = told.get(f"{call}:uncertain:{number}")
            tool = facts.get("tool") if isinstance(facts, Mapping) else None
            if isinstance(tool, str):
                yield call, call if number == "1" else f"{call}~{number}", ToolRef.parse(tool)
