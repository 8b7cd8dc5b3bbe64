"""What was learnt is forgotten when it was not seen for very long."""

from datetime import timedelta

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.engine_pool import EnginePool
from portico.adapters.postgres.retention import PostgresRetention
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.core.retention import Keep
from portico.gateway.core.graph.edge import EdgeKind, Sightings, ToolEdge
from portico.gateway.core.learnt import ToolPlace
from portico.gateway.core.learnt_count import Count, CountKey
from portico.kernel.label import PUBLIC
from portico.testing.gateway import a_server
from tests.contracts.doors import postgres_doors

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]


async def test_edges_and_counts_go_with_time(embedded_database: Addresses) -> None:
    engine, files = EnginePool(str(embedded_database.engine)), a_server("files")
    now = SystemClock().now()
    edges = [
        ToolEdge(ToolPlace(files.id, "a"), ToolPlace(files.id, later), EdgeKind.FOLLOWS)
        for later in ("old", "young")
    ]
    keys = [CountKey.of("follows", f'["{files.id}","{name}"]') for name in ("old", "young")]
    async with open_pool(embedded_database.app, 2) as pool, engine.pool:
        buses = [PostgresBus(embedded_database.app, system_entropy) for _ in range(2)]
        doors = postgres_doors(Transactions(pool), *buses)
        root = await doors.founded("home")
        await doors.servers.add(root, files)
        for edge, key, days in zip(edges, keys, (366, 364), strict=True):
            seen = now - timedelta(days=days)
            await doors.edges.learn(root, PUBLIC, {edge: Sightings(1, 1, seen)})
            await doors.counts.learn(root, PUBLIC, {key: Count(1, 1, seen)})

        gone = await PostgresRetention(engine).forget(Keep())

        left = await doors.edges.known(root, 9)
        counted = await doors.counts.known(root, PUBLIC, 9)
    assert (gone.edges, gone.counts) == (1, 1)
    assert [left.places[later].tool for _, later, *_ in left.edges] == ["young"]
    assert [key for key, _ in counted] == keys[1:]
