"""The agents of a space as a list."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from portico.agents.core.agents import Agent
from portico.agents.core.traces import RunTrace
from portico.gateway.core.catalog_snapshot import Tool
from portico.guard.core.rules import fits
from portico.interfaces.console.screens.agents.models import Book, Health
from portico.interfaces.console.screens.chat.thread import STATUSES

OURS = frozenset({"new", "import"})
"""Addresses beside those of agents."""


@dataclass(frozen=True, slots=True)
class LastRun:
    run: str
    state: str
    tone: str
    at: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    path: str
    description: str
    model: str
    health: Health
    tools: int
    tokens: int
    version: int
    label: str
    exposed: bool
    last: LastRun | None


def path_of(agent: Agent) -> str:
    """By its name, unless that is an address of ours."""
    return f"/agents/{agent.id if agent.name in OURS else agent.name}"


def rows_of(
    agents: Sequence[Agent], book: Book, tools: Sequence[Tool], last: Mapping[str, RunTrace]
) -> Sequence[Row]:
    return [_row(each, book, tools, last.get(each.name)) for each in agents]


def newest(runs: Iterable[RunTrace]) -> Mapping[str, RunTrace]:
    """The last run of each agent, of runs newest first."""
    found: dict[str, RunTrace] = {}
    for run in runs:
        found.setdefault(run.agent_name, run)
    return found


def _row(agent: Agent, book: Book, tools: Sequence[Tool], last: RunTrace | None) -> Row:
    spec = agent.spec
    its = [each for each in tools if fits(str(each.ref), spec.tools)]
    return Row(
        name=agent.name,
        path=path_of(agent),
        description=spec.description,
        model=spec.model,
        health=book.health(spec.model),
        tools=len(its),
        tokens=sum(each.tokens for each in its),
        version=agent.version,
        label=str(spec.label),
        exposed=spec.exposed,
        last=None if last is None else _last(last),
    )


def _last(run: RunTrace) -> LastRun:
    state, tone = STATUSES[run.status]
    return LastRun(str(run.run), state, tone, run.started_at)
