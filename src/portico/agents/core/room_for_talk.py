"""Whether a model's window leaves an agent room to talk, beside what is always sent."""

from collections.abc import Callable
from typing import Final

from portico.agents.core.agent import AgentSpec
from portico.agents.core.showing import SHARE
from portico.agents.core.spending import LEAST_ANSWER

LEAST: Final = 1_000
"""Tokens below which a question and a result hardly fit."""


def room_for_talk(spec: AgentSpec, window: int, count: Callable[[str], int]) -> int:
    """Tokens of the window that neither its instructions, nor its tools, nor its answer take."""
    answer = min(spec.most_output, max(window // 4, LEAST_ANSWER))
    tools = window // SHARE if spec.tools else 0
    return window - answer - tools - count(spec.instructions)
