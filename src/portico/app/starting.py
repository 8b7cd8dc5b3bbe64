"""Start runs of kinds that are carried out elsewhere, where there is a gateway to call through."""

from typing import Final

from portico.agents.runs import AGENT
from portico.debate.conduct import DEBATE
from portico.debate.debates import ANALYSIS
from portico.engine.ports import Line, Runs
from portico.engine.runs import Kind, Kinds, StartRun
from portico.kernel.clock import Clock, Entropy
from portico.kernel.durable import Durable
from portico.kernel.json import JsonObject, JsonValue
from portico.workflows.core.programs import PROGRAM
from portico.workflows.execution import WORKFLOW

CALLING: Final = (WORKFLOW, PROGRAM)
"""What the gateway starts."""
LED: Final = (*CALLING, AGENT, DEBATE, ANALYSIS)
"""What only its own room steps into: it withdraws what was asked, and knows what was begun."""


def starting(runs: Runs, line: Line, clock: Clock, entropy: Entropy, *kinds: str) -> StartRun:
    known = Kinds([Kind(name=kind, work=_elsewhere) for kind in kinds])
    return StartRun(runs=runs, line=line, kinds=known, clock=clock, entropy=entropy)


async def _elsewhere(_durable: Durable, _given: JsonObject) -> JsonValue:
    """Starting a run takes no more than that there is such a kind."""
    raise NotImplementedError
