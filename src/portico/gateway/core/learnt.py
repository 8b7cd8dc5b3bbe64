"""What was learnt from results: of which tool, and from which place in one into which argument."""

from dataclasses import dataclass

from portico.gateway.core.server import ServerId
from portico.gateway.core.shapes import Shape, merged


@dataclass(frozen=True, slots=True)
class ToolPlace:
    """A tool by its server's id, which is no other's when a name is given again."""

    server: ServerId
    tool: str

    def __hash__(self) -> int:
        """Three times as fast as the usual one: it is looked up at every edge of the graph."""
        return hash((self.server.value.int, self.tool))


@dataclass(frozen=True, slots=True)
class SeenShape:
    """Of the definition that `pin` is of."""

    pin: str
    times: int
    shape: Shape

    def and_then(self, later: "SeenShape") -> "SeenShape":
        """Of another definition nothing is kept."""
        if self.pin != later.pin:
            return later
        return SeenShape(self.pin, self.times + later.times, merged(self.shape, later.shape))


@dataclass(frozen=True, slots=True)
class Passed:
    """A value that one tool gave was handed to another as it is."""

    producer: ToolPlace
    path: str
    """JMESPath into what a step gives, every number of an item being 0: `json.items[0].id`."""
    consumer: ToolPlace
    parameter: str
