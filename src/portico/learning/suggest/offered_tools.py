"""The tools of a shelf as suggestions look at them, each only when it comes into question."""

from collections.abc import Iterator, Mapping

from portico.gateway.catalog_snapshot import LiveTool, Shelf
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import BadToolRef
from portico.learning.core.dataflow.read_schema import parameters_of
from portico.learning.core.suggest.offered import Offered
from portico.learning.core.suggest.skeleton import listed_values


class OfferedTools(Mapping[str, Offered]):
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._made: dict[str, Offered] = {}

    def __getitem__(self, tool: str) -> Offered:
        found = self._made.get(tool)
        if found is None:
            found = self._made[tool] = _offered(self._live(tool))
        return found

    def __iter__(self) -> Iterator[str]:
        return map(str, self._shelf.tools)

    def __len__(self) -> int:
        return len(self._shelf.tools)

    def _live(self, tool: str) -> LiveTool:
        """Raises `KeyError`."""
        try:
            return self._shelf.tools[ToolRef.parse(tool)]
        except BadToolRef as error:
            raise KeyError(tool) from error


def _offered(tool: LiveTool) -> Offered:
    schema = tool.definition.input_schema
    return Offered(
        tool=str(tool.ref),
        effect=tool.effect,
        parameters=parameters_of(schema),
        listed=listed_values(str(tool.ref), schema),
    )
