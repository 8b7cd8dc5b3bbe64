"""A whole `portico serve` that names each moment of an agent's run as it comes to it.

Besides what a worker of plans names: the moment when the model has answered and nobody has written
that down, and the moments after a turn, a use of a tool and the end were. A switch makes it blind
for a turn that is written down.
"""

import time
from dataclasses import replace
from typing import Any

import portico.app.agents  # noqa: F401 # one that is forked has it already
from portico.adapters.postgres.agents.traces import PostgresTraces
from portico.agents.core.traces import RunTrace, ToolUse, TurnTrace
from portico.kernel.principal import Principal
from tests.storm.plan_worker import PlanOrders, Points, served

ANSWERED = "model has answered"
TRACED = "turn is written down"
USED = "use is written down"
ENDED = "end is written down"


class AgentPoints(Points):
    def in_traces(self) -> None:
        traces: Any = PostgresTraces
        add_turn, add_use, end = traces.add_turn, traces.add_use, traces.end

        async def turned(its: Any, caller: Principal, turn: TurnTrace) -> TurnTrace:
            what = f"turn {turn.number}"
            await self.at(ANSWERED, what)
            written: TurnTrace = await add_turn(its, caller, turn)
            told = {"run": str(turn.run), "turn": turn.number, "when": time.monotonic()}
            await self.at(TRACED, what, **told)
            return written

        async def used(its: Any, caller: Principal, use: ToolUse, **more: Any) -> Any:
            news = await add_use(its, caller, use, **more)
            await self.at(USED, f"{use.tool} {use.turn}-{use.position}")
            return news

        async def ended(its: Any, caller: Principal, run: RunTrace, **more: Any) -> Any:
            over = await end(its, caller, run, **more)
            await self.at(ENDED, run.status)
            return over

        traces.add_turn, traces.add_use, traces.end = turned, used, ended


def forgetful() -> None:
    """Whoever goes on with a run does not see the last turn that is written down of it."""
    traces: Any = PostgresTraces
    read = traces.read

    async def without_the_last(its: Any, *asked: Any) -> Any:
        whole = await read(its, *asked)
        return replace(whole, turns=whole.turns[:-1])

    traces.read = without_the_last


def main(orders: PlanOrders) -> None:
    if not orders.remembers:
        forgetful()
    points = AgentPoints(orders.conductor)
    points.in_journal()
    points.in_history()
    points.in_calls()
    points.in_traces()
    served(orders)
