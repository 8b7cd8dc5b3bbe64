"""What is left to do before agents can work here, and what a model is spared then."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.agents.core.model_requests import ProviderState
from portico.gateway.surface import ContextWeight
from portico.interfaces.console.screens.welcome.server_steps import Progress

WINDOW: Final = 200_000
"""Tokens that many models can hold."""
_SCALE: Final = 10_000
"""Tokens that the bars are at least as long as, so that next to nothing looks like it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStep:
    name: str
    done: bool
    told: str
    path: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """Two bars, to scale."""

    servers: int
    tools: int
    before: int
    after: int
    before_share: float
    """Of a window."""
    after_share: float
    saved: float
    """Of what it was before; nothing where there is nothing yet."""
    after_width: float
    """From 0 to 100; so is the next."""
    before_width: float
    tokenizer: str


def weight(found: ContextWeight) -> Weight:
    most = max(found.before, found.after, _SCALE)
    saved = 1 - found.after / found.before if found.before else 0.0
    return Weight(
        servers=found.servers,
        tools=found.tools,
        before=found.before,
        after=found.after,
        before_share=found.before / WINDOW,
        after_share=found.after / WINDOW,
        saved=max(saved, 0.0),
        before_width=100 * found.before / most,
        after_width=100 * found.after / most,
        tokenizer=found.tokenizer,
    )


def first_steps(
    servers: Progress, providers: Sequence[ProviderState], client_seen: datetime | None
) -> Sequence[FirstStep]:
    answering = [each for each in providers if each.reachable]
    models = sum(each.models for each in answering)
    return [
        FirstStep(
            name="Servers of tools",
            done=servers.ready > 0,
            told=_servers(servers),
            path="#servers",
            action="See them",
        ),
        FirstStep(
            name="A model",
            done=models > 0,
            told=_models(models) if models else "none answers yet",
            path="#models",
            action="See them",
        ),
        FirstStep(
            name="A client",
            done=client_seen is not None,
            told="an agent has come in" if client_seen else "no agent has come in yet",
            path="#connect",
            action="Connect one",
        ),
    ]


def _models(number: int) -> str:
    return "one answers" if number == 1 else f"{number} to choose from"


def _servers(servers: Progress) -> str:
    if not servers.steps:
        return "none yet"
    return f"{servers.ready} of {len(servers.steps)} in use"
