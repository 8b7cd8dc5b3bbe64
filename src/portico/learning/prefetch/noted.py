"""What a caller has done or said, until it is worked through."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from portico.gateway.catalog_snapshot import Shelf
from portico.gateway.core.calls import Answer
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import Server
from portico.guard.core.access_request import Act
from portico.kernel.principal import Principal
from portico.learning.core.prefetch.nobodys import own_values, parameters_of
from portico.learning.core.prefetch.window import SeenCall, seen_call


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    act: Act
    server: Server
    began: datetime
    ended: datetime
    answer: Answer
    served: bool
    """It had been made ahead; how long that took, the lane knows."""
    in_run: bool

    @property
    def caller(self) -> Principal:
        return self.act.caller

    @property
    def tool(self) -> ToolPlace:
        return ToolPlace(self.server.id, ToolRef.parse(self.act.aim.tool).name)

    def seen(self, shelf: Shelf) -> SeenCall:
        found = shelf.tools.get(ToolRef.parse(self.act.aim.tool))
        schema = {} if found is None else found.definition.input_schema
        return seen_call(
            self.tool,
            self.act.arguments,
            self.answer,
            ended=self.ended,
            reads=self.act.aim.effect.reads_only,
            own=own_values(schema),
            parameters=parameters_of(schema),
        )


@dataclass(frozen=True, slots=True)
class Said:
    caller: Principal
    words: Sequence[str]
