"""Whether a tool would take these arguments, for whoever changes them before they are used."""

from dataclasses import dataclass

from portico.gateway.catalogue import Catalogues
from portico.gateway.core.errors import BadArguments
from portico.gateway.core.tool import ToolRef
from portico.gateway.ports import SchemaCheck
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckArguments:
    """The guard's `ArgumentCheck`."""

    catalogues: Catalogues
    schemas: SchemaCheck

    async def __call__(self, caller: Principal, tool: str, arguments: JsonObject) -> None:
        """Raises `BadArguments`, and what finding the tool raises."""
        found = (await self.catalogues.current(caller)).find(ToolRef.parse(tool))
        flaws = self.schemas.flaws(found.definition.input_schema, arguments)
        if flaws:
            raise BadArguments(tool, flaws)
