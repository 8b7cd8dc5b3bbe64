"""Which results became which arguments, between the tools that somebody may know of."""

from collections.abc import Mapping
from typing import Final

from portico.gateway.catalog_snapshot import Shelf
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import Passed, ToolPlace
from portico.learning.core.dataflow.flows import Flow, Flows

MOST_FLOWS: Final = 5_000


class Names:
    """What a caller calls a tool that was learnt of; None if they may not know of it."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._names = {server.id: name for name, server in shelf.servers.items()}

    def __call__(self, place: ToolPlace) -> str | None:
        name = self._names.get(place.server)
        ref = None if name is None else ToolRef(name, place.tool)
        return str(ref) if ref in self._shelf.tools else None


def known_flows(counted: Mapping[Passed, int], shelf: Shelf) -> Flows:
    named = Names(shelf)
    counts: dict[Flow, int] = {}
    for passed, times in counted.items():
        producer, consumer = named(passed.producer), named(passed.consumer)
        if producer is not None and consumer is not None:
            counts[Flow(producer, passed.path, consumer, passed.parameter)] = times
    return Flows.of(counts)
