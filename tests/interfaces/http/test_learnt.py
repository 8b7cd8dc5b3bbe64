"""What has been learnt from results over REST: proposed edges, and the graph."""

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.json import JsonObject
from portico.testing.gateway import seen
from tests.interfaces.http.asgi import Answer as Answered
from tests.interfaces.http.conftest import Site
from tests.interfaces.http.test_servers import LAUNCH

FIND: JsonObject = {
    "name": "find_customer",
    "description": "Finds a customer.",
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    "annotations": {"readOnlyHint": True},
}
ORDERS: JsonObject = {
    "name": "list_orders",
    "description": "Lists the orders of a customer.",
    "inputSchema": {
        "type": "object",
        "properties": {"customer_id": {"type": "string"}, "since": {"type": "string"}},
        "required": ["customer_id"],
    },
    "annotations": {"readOnlyHint": True},
}
PLAN: JsonObject = {
    "steps": [
        {"id": "find", "tool": "shop.find_customer", "arguments": {"name": "Ana"}},
        {"id": "orders", "tool": "shop.list_orders"},
    ]
}
EDGE = "find.json.customer_id -> orders.customer_id"


async def learnt(site: Site) -> None:
    site.upstreams.offers["shop"] = seen(FIND, ORDERS)
    made = await site.ask("POST", "/api/v1/servers", {"name": "shop", "launch": LAUNCH})
    pin = {"launch_pin": made.json["launch_pin"]}
    await site.ask("POST", "/api/v1/servers/shop/approve-launch", pin)
    await site.ask("POST", "/api/v1/servers/shop/restart")
    review = await site.ask("GET", "/api/v1/servers/shop/review")
    body = {"pin": review.json["pin"], "proposed": "all"}
    await site.ask("POST", "/api/v1/servers/shop/accept", body)
    answer = ToolResult([], structured={"customer_id": "cus-000017"})
    site.upstreams.replies[ToolRef("shop", "find_customer")] = answer
    for _ in range(2):
        await site.ask("POST", "/api/v1/calls", {"tool": "shop.find_customer", "arguments": {}})
    await site.lessons.flush()


async def test_what_was_learnt_is_shown_with_its_tool(site: Site) -> None:
    await learnt(site)

    found = await site.ask("GET", "/api/v1/tools/shop.find_customer")
    never_called = await site.ask("GET", "/api/v1/tools/shop.list_orders")

    assert found.json["returns"] == {
        "seen": 2,
        "shape": "{customer_id: str}",
        "json_schema": {
            "type": "object",
            "properties": {"customer_id": {"type": "string"}},
            "required": ["customer_id"],
        },
    }
    assert never_called.json["returns"] is None


async def test_edges_are_proposed_and_nothing_is_run(site: Site) -> None:
    await learnt(site)
    called = len(site.upstreams.called)

    proposed = await site.ask("POST", "/api/v1/workflows/propose", {"plan": PLAN})

    [edge] = proposed.json["edges"]
    assert proposed.status == 200
    assert edge["edge"] == EDGE
    assert (edge["from_step"], edge["path"]) == ("find", "json.customer_id")
    assert (edge["to_step"], edge["parameter"]) == ("orders", "customer_id")
    assert 0 < edge["confidence"] <= 1
    assert edge["reason"]
    assert proposed.json["plan"] is None
    assert proposed.json["missing"] == []
    assert len(site.upstreams.called) == called


async def test_what_is_accepted_comes_back_in_the_plan(site: Site) -> None:
    await learnt(site)

    body = {"plan": PLAN, "accept": [EDGE]}
    proposed = await site.ask("POST", "/api/v1/workflows/propose", body)

    assert proposed.json["edges"] == []
    assert proposed.json["plan"]["steps"][1] == {
        "id": "orders",
        "tool": "shop.list_orders",
        "arguments": {"customer_id": {"$from": "find.json.customer_id"}},
    }


async def test_an_edge_that_cannot_be_is_refused_with_its_place(site: Site) -> None:
    await learnt(site)

    body = {"plan": PLAN, "accept": ["find.json -> nowhere.at_all"]}
    refused = await site.ask("POST", "/api/v1/workflows/propose", body)

    assert (refused.status, refused.json["code"]) == (422, "bad_plan")
    assert "/accept/0" in str(refused.json)


FOUND, LISTED = "shop.find_customer", "shop.list_orders"


async def got(site: Site, path: str) -> Answered:
    path, _, query = path.partition("?")
    return await site.ask("GET", f"/api/v1/graph{path}", query=query)


async def handed_on(site: Site) -> None:
    """One tool's answer is another's argument."""
    await learnt(site)
    site.upstreams.replies[ToolRef("shop", "list_orders")] = ToolResult(
        [], structured={"orders": []}
    )
    arguments = {"customer_id": "cus-000017"}
    await site.ask("POST", "/api/v1/calls", {"tool": LISTED, "arguments": arguments})
    await site.lessons.flush()


async def test_nothing_is_learnt_yet(site: Site) -> None:
    stats = await got(site, "/stats")
    graph = await got(site, "")
    communities = await got(site, "/communities")

    assert (stats.status, stats.json["tools"], stats.json["surest"]) == (200, 0, [])
    assert (graph.json["nodes"], graph.json["edges"]) == ([], [])
    assert graph.json["directed"] is True
    assert communities.json == []


async def test_the_way_from_one_tool_to_another_is_told_hop_by_hop(site: Site) -> None:
    await handed_on(site)

    ways = await got(site, f"/path?from={FOUND}&to={LISTED}")
    back = await got(site, f"/path?from={LISTED}&to={FOUND}")

    likeliest = ways.json["likeliest"]
    assert likeliest == ways.json["shortest"]
    assert (likeliest["direct"], likeliest["tools"]) == (True, [FOUND, LISTED])
    assert likeliest["words"] == f"{FOUND} -> {LISTED}, directly (0.25)"
    [hop] = likeliest["hops"]
    assert (hop["followed"], hop["took"], hop["tasks"]) == (1, 1, 1)
    assert 0 < hop["at_least"] < hop["confidence"] == likeliest["confidence"]
    assert hop["fed"] == [{"path": "json.customer_id", "parameter": "customer_id", "times": 1}]
    assert back.json == {"likeliest": None, "shortest": None}


async def test_figures_communities_neighbours_and_the_whole_agree(site: Site) -> None:
    await handed_on(site)

    stats = (await got(site, "/stats")).json
    [group] = (await got(site, "/communities")).json
    near = (await got(site, f"/neighbours/{LISTED}?limit=1")).json
    graph = (await got(site, "")).json

    assert (stats["tools"], stats["edges"], stats["feeding"], stats["communities"]) == (2, 2, 1, 1)
    assert stats["offered"] >= 2
    assert {each["tool"] for each in stats["central"]} == {FOUND, LISTED} == {*group["tools"]}
    assert (near["after"], near["beside"]) == ([], [FOUND])
    assert [hop["earlier"] for hop in near["before"]] == [FOUND]
    assert [node["id"] for node in graph["nodes"]] == [FOUND, LISTED]
    assert {(edge["source"], edge["target"]) for edge in graph["edges"]} == {
        (FOUND, FOUND),
        (FOUND, LISTED),
    }
