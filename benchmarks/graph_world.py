"""What `just bench graph` measures on: a space with many tools, and with what was learnt of the
order of their calls, written into a real database."""

import random
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from portico.adapters.postgres.gateway.servers import PostgresServers
from portico.adapters.postgres.learning.counts import PostgresEdgeStore, PostgresObservedFlows
from portico.adapters.postgres.transaction import Transactions
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.gateway.catalog_snapshot import CallableTool, CatalogSnapshot
from portico.gateway.core.catalog_snapshot import Definition, ToolRef
from portico.gateway.core.inferred_schema import Passed, ToolPlace
from portico.gateway.core.servers import Server, ServerId, Stdio
from portico.kernel.effect import Effect
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.tool_graph import EdgeKind, Sightings, ToolEdge

_A_SERVER: Final = 25
"""Tools of one."""
_AT_HOME: Final = 0.8
"""Share of the edges that stay within twenty-five tools that belong together."""
_FED: Final = 0.33
"""Share of the edges by which something was handed on too."""
_BATCH: Final = 5_000
_DEFINITION: Final = Definition("", "", "", {}, None, {}, {})


@dataclass(frozen=True, slots=True)
class GraphWorld:
    shelf: CatalogSnapshot
    tools: tuple[ToolRef, ...]
    places: dict[ToolRef, ToolPlace]
    rows: int

    async def offered(self, _caller: Principal) -> CatalogSnapshot:
        """As the catalogue gives it, which is held in memory."""
        return self.shelf


async def written(
    transactions: Transactions, caller: Principal, tools: int, edges: int
) -> GraphWorld:
    chance, now = random.Random(8), SystemClock().now()  # noqa: S311 # the same ones on every run
    servers = [_server(number, now) for number in range(-(-tools // _A_SERVER))]
    for server in servers:
        await PostgresServers(transactions).add(caller, server)
    refs = [ToolRef(servers[n // _A_SERVER].name, f"tool_{n}") for n in range(tools)]
    ids = {server.name: server.id for server in servers}
    places = {ref: ToolPlace(ids[ref.server], ref.name) for ref in refs}
    drawn = drawn_edges(chance, [places[ref] for ref in refs], edges, now)
    book = PostgresEdgeStore(transactions)
    for label in (PUBLIC, Label(Level.TEAM)):
        mine = [(edge, seen) for edge, (its, seen) in drawn.items() if its == label]
        for start in range(0, len(mine), _BATCH):
            await book.learn(caller, label, dict(mine[start : start + _BATCH]))
    flows = Counter(
        Passed(edge.earlier, "json.items[0].id", edge.later, "id")
        for edge in drawn
        if edge.kind is EdgeKind.FEEDS
    )
    await PostgresObservedFlows(transactions).learn(caller, flows)
    live = {ref: CallableTool(ref, _DEFINITION, Effect.LOCAL_READ, "") for ref in refs}
    shelf = CatalogSnapshot({server.name: server for server in servers}, live)
    return GraphWorld(shelf, tuple(refs), places, len(drawn))


def drawn_edges(
    chance: random.Random, places: list[ToolPlace], edges: int, now: datetime
) -> dict[ToolEdge, tuple[Label, Sightings]]:
    """Tools that belong together are on different servers."""
    groups = max(1, len(places) // _A_SERVER)
    found: dict[ToolEdge, tuple[Label, Sightings]] = {}
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < edges:
        one, other = chance.randrange(len(places)), chance.randrange(len(places))
        if chance.random() < _AT_HOME:
            other = (other - other % groups + one % groups) % len(places)
        if one == other or (one, other) in pairs:
            continue
        pairs.add((one, other))
        kinds = [EdgeKind.FOLLOWS, EdgeKind.FEEDS][: 1 + (chance.random() < _FED)]
        for kind in kinds:
            tasks = 1 + int(chance.paretovariate(1.2))
            at = now - timedelta(days=chance.uniform(0, 90))
            label = chance.choice([PUBLIC, Label(Level.TEAM)])
            edge = ToolEdge(places[one], places[other], kind)
            found[edge] = (label, Sightings(2 * tasks, tasks, at))
    return found


def _server(number: int, now: datetime) -> Server:
    return Server(
        id=ServerId.mint(now, system_entropy),
        name=f"server-{number}",
        origin="added",
        launch=Stdio("true"),
        launch_pin="",
        created_at=now,
    )
