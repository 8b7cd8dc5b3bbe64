"""Where what is learnt from results is kept."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from portico.gateway.core.inferred_schema import Passed
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.graph.edge import ToolEdge


class SeenFlows(Protocol):
    """Which results became which arguments, counted."""

    async def learn(self, caller: Principal, passed: Mapping[Passed, int]) -> None:
        """Of a server that is gone nothing is kept."""
        ...

    async def counted(self, caller: Principal, most: int) -> Mapping[Passed, int]:
        """Those of the whole space that were seen most often, as of `Shapes` without labels."""
        ...


class EdgeNotes(Protocol):
    """Which tool came after which."""

    def note(self, caller: Principal, label: Label, edges: Iterable[ToolEdge]) -> None:
        """`label`: of all that the caller's task has read by now."""
        ...


class Learns(Protocol):
    """Whether anything may be learnt from what is done in a space."""

    async def __call__(self, caller: Principal, /) -> bool: ...


async def always(_caller: Principal, /) -> bool:
    return True
