"""The learnt graph over REST."""

from portico.gateway.core.call import Answer
from portico.gateway.core.tool import ToolRef
from tests.faces.http.asgi import Answer as Answered
from tests.faces.http.conftest import Site
from tests.faces.http.test_proposals import learnt

FIND, ORDERS = "shop.find_customer", "shop.list_orders"


async def got(site: Site, path: str) -> Answered:
    path, _, query = path.partition("?")
    return await site.ask("GET", f"/api/v1/graph{path}", query=query)


async def handed_on(site: Site) -> None:
    """One tool's answer is another's argument."""
    await learnt(site)
    site.upstreams.replies[ToolRef("shop", "list_orders")] = Answer([], structured={"orders": []})
    arguments = {"customer_id": "cus-000017"}
    await site.ask("POST", "/api/v1/calls", {"tool": ORDERS, "arguments": arguments})
    await site.gateway.call_tool.lessons.write_down()


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

    ways = await got(site, f"/path?from={FIND}&to={ORDERS}")
    back = await got(site, f"/path?from={ORDERS}&to={FIND}")

    likeliest = ways.json["likeliest"]
    assert likeliest == ways.json["shortest"]
    assert (likeliest["direct"], likeliest["tools"]) == (True, [FIND, ORDERS])
    assert likeliest["words"] == f"{FIND} -> {ORDERS}, directly (0.25)"
    [hop] = likeliest["hops"]
    assert (hop["followed"], hop["took"], hop["tasks"]) == (1, 1, 1)
    assert 0 < hop["at_least"] < hop["confidence"] == likeliest["confidence"]
    assert hop["fed"] == [{"path": "json.customer_id", "parameter": "customer_id", "times": 1}]
    assert back.json == {"likeliest": None, "shortest": None}


async def test_figures_communities_neighbours_and_the_whole_agree(site: Site) -> None:
    await handed_on(site)

    stats = (await got(site, "/stats")).json
    [group] = (await got(site, "/communities")).json
    near = (await got(site, f"/neighbours/{ORDERS}?limit=1")).json
    graph = (await got(site, "")).json

    assert (stats["tools"], stats["edges"], stats["feeding"], stats["communities"]) == (2, 2, 1, 1)
    assert stats["offered"] >= 2
    assert {each["tool"] for each in stats["central"]} == {FIND, ORDERS} == {*group["tools"]}
    assert (near["after"], near["beside"]) == ([], [FIND])
    assert [hop["earlier"] for hop in near["before"]] == [FIND]
    assert [node["id"] for node in graph["nodes"]] == [FIND, ORDERS]
    assert {(edge["source"], edge["target"]) for edge in graph["edges"]} == {
        (FIND, FIND),
        (FIND, ORDERS),
    }
