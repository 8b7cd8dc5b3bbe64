"""Proposed edges over REST, and what has been learnt from results."""

from portico.gateway.core.call import Answer
from portico.gateway.core.tool import ToolRef
from portico.kernel.json import JsonObject
from portico.testing.upstreams import seen
from tests.faces.http.conftest import Site
from tests.faces.http.test_servers import LAUNCH

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
    answer = Answer([], structured={"customer_id": "cus-000017"})
    site.upstreams.replies[ToolRef("shop", "find_customer")] = answer
    for _ in range(2):
        await site.ask("POST", "/api/v1/calls", {"tool": "shop.find_customer", "arguments": {}})
    await site.gateway.call_tool.lessons.write_down()


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
