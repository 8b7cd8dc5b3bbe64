"""What the pages of agents need to know."""

from collections.abc import Mapping, Sequence
from typing import Final

from portico.agents.core.agents import Agent
from portico.agents.core.traces import RunTrace, TraceFilter
from portico.gateway.core.catalog_snapshot import Tool
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.screens.agents.models import Book
from portico.interfaces.console.screens.agents.rows import newest
from portico.interfaces.console.screens.agents.tree import live
from portico.kernel.principal import Principal

_RUNS: Final = 100


def seat(desk: Desk, name: str) -> Principal:
    """Whoever looks at one agent, at a task of its own: an agent must not be less secret than what
    was read where it is made, and what was read elsewhere does not matter for it."""
    return desk.at(f"agent {name}")


async def book_of(desk: Desk) -> Book:
    if not desk.caller.may(Scope.MODELS_READ):
        return Book({}, {})
    models = desk.house.models
    return Book.of(await models.list_models(desk.caller), await models.list_providers(desk.caller))


async def tools_of(desk: Desk) -> Sequence[Tool]:
    if not desk.caller.may(Scope.SERVERS_READ):
        return []
    return live(await desk.house.gateway.list_tools(desk.caller))


async def last_runs(desk: Desk, agents: Sequence[Agent]) -> Mapping[str, RunTrace]:
    """Of those that the caller may see; the newest of all at once, the rest one by one."""
    caller, listed = desk.at("agents"), desk.house.agents.list_traces
    found = dict(newest(await listed(caller, TraceFilter(), before=None, limit=_RUNS)))
    if sum(1 for _ in found) == 0:
        return {}
    for name in [each.name for each in agents if each.name not in found]:
        its = await listed(caller, TraceFilter(agent=name), before=None, limit=1)
        found |= newest(its)
    return found
