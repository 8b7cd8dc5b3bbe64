"""Every door of the gateway in memory; what needs no outside is the real thing."""

from typing import Final

from portico.adapters.embeddings.static_table import StaticTable
from portico.adapters.json_schema.check import JsonSchemaCheck
from portico.adapters.system.shipped_effects import shipped_effects
from portico.adapters.system.shipped_profiles import shipped_profiles
from portico.adapters.tokens.o200k import O200k
from portico.adapters.words.snowball import stem
from portico.engine.ports import Bus
from portico.gateway.ports import Embedder, Upstreams, Walls
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.main.assemble_gateway import GatewayDoors, Limits
from portico.testing.calls import MemoryAcquaintances, MemoryCallHistory
from portico.testing.gateway import MemoryResults, MemoryServers, MemoryTools, MemoryVectors
from portico.testing.walls import ScriptedWalls
from portico.testing.world import MemoryWorld

_SHIPPED: Final = shipped_effects()
_PROFILES: Final = shipped_profiles()
"""Read here, not where a loop is running."""


def memory_gateway(  # noqa: PLR0913 # a double each
    world: MemoryWorld,
    upstreams: Upstreams,
    *,
    bus: Bus,
    clock: Clock,
    entropy: Entropy,
    encoder: Embedder | None = None,
    limits: Limits | None = None,
    walls: Walls | None = None,
) -> GatewayDoors:
    return GatewayDoors(
        servers=MemoryServers(world),
        tools=MemoryTools(world),
        vectors=MemoryVectors(world),
        history=MemoryCallHistory(world, clock),
        results=MemoryResults(world),
        acquaintances=MemoryAcquaintances(world),
        upstreams=upstreams,
        walls=walls or ScriptedWalls(),
        schemas=JsonSchemaCheck(),
        static=StaticTable(),
        encoder=encoder,
        stem=stem,
        tokenizer=O200k(),
        shipped=_SHIPPED,
        profiles=_PROFILES,
        bus=bus,
        clock=clock,
        entropy=entropy,
        clean=lambda value: value,
        limits=limits or Limits(),
    )
