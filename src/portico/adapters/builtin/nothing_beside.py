"""What a part of Portico that only has tools says to whoever asks for anything else."""

from collections.abc import Mapping
from datetime import timedelta

from portico.gateway.core.calls import Target
from portico.gateway.core.errors import OfferNotFound
from portico.gateway.ports import Line
from portico.kernel.json import JsonObject


class NothingBeside:
    async def read_resource(
        self,
        target: Target,  # noqa: ARG002 # it has none
        uri: str,
        *,
        timeout: timedelta,  # noqa: ARG002 # it has none
        line: Line | None = None,  # noqa: ARG002 # it has none
    ) -> JsonObject:
        raise OfferNotFound("resource", uri)

    async def get_prompt(
        self,
        target: Target,  # noqa: ARG002 # it has none
        name: str,
        arguments: Mapping[str, str],  # noqa: ARG002 # it has none
        *,
        timeout: timedelta,  # noqa: ARG002 # it has none
        line: Line | None = None,  # noqa: ARG002 # it has none
    ) -> JsonObject:
        raise OfferNotFound("prompt", name)

    async def complete(
        self,
        target: Target,  # noqa: ARG002 # it has none
        params: JsonObject,  # noqa: ARG002 # it has none
        *,
        timeout: timedelta,  # noqa: ARG002 # it has none
    ) -> JsonObject:
        raise OfferNotFound("prompt", "")
