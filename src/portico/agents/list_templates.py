"""Show the starting points that there are for an agent."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.agents.core.templates import TEMPLATES, Template


@dataclass(frozen=True, slots=True)
class ListTemplates:
    def __call__(self) -> Sequence[Template]:
        return TEMPLATES
