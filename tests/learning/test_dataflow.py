"""Where arguments that a plan leaves out could come from: proposed, and written in if accepted."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from portico.adapters.embeddings.static_table import StaticTable
from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import Tool
from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.core.pins import set_pin
from portico.guard.core.errors import NotPermitted
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.dataflow import Edge
from portico.learning.dataflow import ALL_SURE, Missing
from portico.testing.gateway import a_tool, an_approved_server, seen
from portico.testing.gateway_fakes import ANYTHING
from portico.testing.guard import MemoryRules, a_person
from portico.workflows.core.plan import InvalidPlan, Reference
from portico.workflows.runs import RunWorkflowSpec
from tests.gateway.open_room import ANA, SECRETARY, OpenRoom


def shop_tool(name: str, text: str, *required: str, output: JsonObject | None = None) -> Tool:
    schema: JsonObject = {
        "type": "object",
        "properties": {each: {"type": "string"} for each in required},
        "required": list(required),
    }
    tool = a_tool(f"shop.{name}", text, effect=Effect.EXTERNAL_READ, inputSchema=schema)
    return replace(tool, definition=replace(tool.definition, output_schema=output))


FIND = shop_tool("find_customer", "Finds a customer by their name.", "name")
ORDERS = shop_tool("list_orders", "Lists the orders of a customer.", "customer_id")
CUSTOMER: JsonObject = {"customer_id": "cus-000017", "email": "ana@example.org"}
PLAN: JsonObject = {
    "steps": [
        {"id": "find", "tool": "shop.find_customer", "arguments": {"name": "Ana"}},
        {"id": "orders", "tool": "shop.list_orders"},
    ]
}
EDGE = "find.json.customer_id -> orders.customer_id"


class Shop(OpenRoom):
    def __init__(self, *tools: Tool) -> None:
        super().__init__(rules=MemoryRules([ANYTHING]))
        self.server = replace(an_approved_server("shop"), set_pin=set_pin(tools))
        self.world.servers[ANA.space, self.server.id] = self.server
        self.world.tools[ANA.space, self.server.id] = [*tools]
        self.upstreams.offers["shop"] = seen()

    async def teach(self, tool: Tool, value: JsonValue, arguments: JsonObject) -> None:
        self.upstreams.replies[tool.ref] = ToolResult([], structured=value)
        for _ in range(2):
            await self.use.call_tool(ANA, tool.ref, arguments)
        await self.gateway.observations.flush()


@pytest.fixture
def shop() -> Shop:
    return Shop(FIND, ORDERS)


def texts(edges: Sequence[Edge]) -> list[str]:
    return [str(edge) for edge in edges]


async def test_what_was_learnt_from_results_is_proposed(shop: Shop) -> None:
    await shop.teach(FIND, CUSTOMER, {"name": "Ana"})

    proposed = await shop.use.propose_edges(ANA, PLAN)

    assert texts(proposed.edges) == [EDGE]
    assert proposed.edges[0].reason
    assert 0 < proposed.edges[0].confidence <= 1
    assert proposed.missing == []
    assert proposed.plan.step("orders").arguments == {}


async def test_of_a_step_that_nobody_knows_the_results_of_nothing_is_sure(shop: Shop) -> None:
    proposed = await shop.use.propose_edges(ANA, PLAN)

    assert {edge.path for edge in proposed.edges} <= {"text"}
    assert all(edge.ambiguous and edge.confidence <= 0.5 for edge in proposed.edges)
    assert all("not known what it gives" in edge.reason for edge in proposed.edges)


async def test_what_no_step_gives_is_missing() -> None:
    shop = Shop(ORDERS)
    lonely: JsonObject = {"steps": [{"id": "orders", "tool": "shop.list_orders"}]}

    proposed = await shop.use.propose_edges(ANA, lonely)

    assert proposed.edges == []
    assert [(it.step, it.parameter) for it in proposed.missing] == [("orders", "customer_id")]


async def test_tools_that_could_give_what_is_missing_are_named(shop: Shop) -> None:
    lonely: JsonObject = {"steps": [{"id": "orders", "tool": "shop.list_orders"}]}
    by_words = await shop.use.propose_edges(ANA, lonely)
    listed = replace(ANA, tools=(("shop.list_orders",),))
    await shop.teach(FIND, CUSTOMER, {"name": "Ana"})
    await shop.teach(ORDERS, [], {"customer_id": "cus-000017"})

    by_flows = await shop.use.propose_edges(ANA, lonely)
    not_offered = await shop.use.propose_edges(listed, lonely)

    assert by_words.missing[0].could_give[0] == "shop.find_customer"
    assert by_flows.missing[0].could_give[0] == "shop.find_customer"
    assert not_offered.missing == [Missing("orders", "customer_id", [])]


async def test_they_are_looked_for_only_for_the_first_of_what_is_missing() -> None:
    wants = shop_tool("merge", "Merges customers.", *(f"customer_{n}_id" for n in range(12)))
    room = Shop(FIND, wants)

    proposed = await room.use.propose_edges(ANA, {"steps": [{"id": "m", "tool": "shop.merge"}]})

    assert [bool(it.could_give) for it in proposed.missing] == [True] * 10 + [False] * 2


async def test_what_is_accepted_is_a_reference_and_is_proposed_no_more(shop: Shop) -> None:
    await shop.teach(FIND, CUSTOMER, {"name": "Ana"})

    proposed = await shop.use.propose_edges(ANA, PLAN, accept=[EDGE])

    assert proposed.plan.step("orders").arguments == {
        "customer_id": Reference("find", "json.customer_id")
    }
    assert proposed.edges == []


async def test_all_that_are_sure_can_be_accepted_at_once(shop: Shop) -> None:
    await shop.teach(FIND, CUSTOMER, {"name": "Ana"})
    await shop.teach(ORDERS, [], {"customer_id": "cus-000017"})

    before = await shop.use.propose_edges(ANA, PLAN)
    after = await shop.use.propose_edges(ANA, PLAN, accept=[ALL_SURE])

    assert before.is_sure(before.edges[0])
    assert after.edges == []
    assert [*after.plan.step("orders").arguments] == ["customer_id"]


async def test_what_is_ambiguous_is_not_sure_however_likely(shop: Shop) -> None:
    await shop.teach(FIND, CUSTOMER, {"name": "Ana"})
    twice: JsonObject = {
        "steps": [
            {"id": "one", "tool": "shop.find_customer", "arguments": {"name": "Ana"}},
            {"id": "two", "tool": "shop.find_customer", "arguments": {"name": "Bob"}},
            {"id": "orders", "tool": "shop.list_orders"},
        ]
    }

    proposed = await shop.use.propose_edges(ANA, twice, accept=[ALL_SURE])

    assert len(proposed.edges) == 2
    assert all(edge.ambiguous for edge in proposed.edges)
    assert proposed.plan.step("orders").arguments == {}


async def test_what_was_seen_to_be_passed_on_is_more_likely(shop: Shop) -> None:
    await shop.teach(FIND, CUSTOMER, {"name": "Ana"})
    before = await shop.use.propose_edges(ANA, PLAN)

    await shop.teach(ORDERS, [], {"customer_id": "cus-000017"})
    after = await shop.use.propose_edges(ANA, PLAN)

    assert after.edges[0].confidence > before.edges[0].confidence
    assert "seen" in after.edges[0].reason


async def test_what_flowed_between_servers_one_may_not_know_counts_nothing(shop: Shop) -> None:
    await shop.teach(FIND, CUSTOMER, {"name": "Ana"})
    await shop.teach(ORDERS, [], {"customer_id": "cus-000017"})
    listed = replace(ANA, tools=(("shop.list_orders",),))
    only_one: JsonObject = {"steps": [{"id": "orders", "tool": "shop.list_orders"}]}
    secret = Label(Level.RESTRICTED, frozenset({"hr"}))
    mine = await shop.use.propose_edges(listed, only_one)
    shop.label("shop", secret, clearance=secret)

    assert mine.edges == []
    with pytest.raises(InvalidPlan):
        await shop.use.propose_edges(ANA, PLAN)
    assert texts((await shop.use.propose_edges(SECRETARY, PLAN)).edges) == [EDGE]


async def test_a_tool_that_is_not_there_is_a_fault_with_its_place(shop: Shop) -> None:
    wrong: JsonObject = {"steps": [{"id": "a", "tool": "shop.list_order"}]}

    with pytest.raises(InvalidPlan) as caught:
        await shop.use.propose_edges(ANA, wrong)

    [fault] = caught.value.diagnostics
    assert fault.place == "/steps/0/tool"
    assert "shop.list_orders" in fault.what


async def test_whoever_may_not_see_tools_is_refused(shop: Shop) -> None:
    nobody = a_person("nobody", roles=[])

    with pytest.raises(NotPermitted):
        await shop.use.propose_edges(nobody, PLAN)


class Away(StaticTable):
    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbedderUnavailable("away")


async def test_without_vectors_names_and_types_are_gone_by(shop: Shop) -> None:
    await shop.teach(FIND, CUSTOMER, {"name": "Ana"})
    whole = shop.use.propose_edges
    producers = replace(whole.find_producers, embedder=Away())
    blind = replace(whole, embedder=Away(), find_producers=producers)
    lonely: JsonObject = {"steps": [{"id": "orders", "tool": "shop.list_orders"}]}

    assert texts((await blind(ANA, PLAN)).edges) == [EDGE]
    assert (await blind(ANA, lonely)).missing[0].could_give


async def test_a_tool_above_the_caller_is_answered_as_one_that_never_was(shop: Shop) -> None:
    secret = Label(Level.RESTRICTED, frozenset({"hr"}))
    shop.label("shop", secret, clearance=secret)

    with pytest.raises(InvalidPlan) as there:
        await shop.use.propose_edges(ANA, PLAN)
    with pytest.raises(InvalidPlan) as nowhere:
        await OpenRoom().use.propose_edges(ANA, PLAN)

    assert there.value.diagnostics == nowhere.value.diagnostics


_A_NUMBER: JsonObject = {"type": "object", "properties": {"customer_id": {"type": "integer"}}}


async def test_what_is_known_to_be_of_another_type_is_never_sure() -> None:
    shop = Shop(shop_tool("find_customer", "Finds.", "name", output=_A_NUMBER), ORDERS)

    proposed = await shop.use.propose_edges(ANA, PLAN, accept=[ALL_SURE])

    assert proposed.plan.step("orders").arguments == {}
    assert texts(proposed.edges) == [EDGE]
    assert not proposed.is_sure(proposed.edges[0])


async def test_a_server_that_only_says_that_objects_come_is_learnt_from() -> None:
    says: JsonObject = {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"type": "object"}}},
    }
    find = shop_tool("find_customer", "Finds.", "name", output=says)
    shop = Shop(find, ORDERS)
    await shop.teach(find, {"result": [CUSTOMER]}, {"name": "Ana"})

    proposed = await shop.use.propose_edges(ANA, PLAN)
    described = await shop.gateway.describe_tools(ANA, ["shop.find_customer"])

    assert any("customer_id" in edge.path for edge in proposed.edges)
    assert "customer_id" in str(described.tools[0]["returns"])


async def test_what_may_be_left_away_is_never_sure() -> None:
    schema: JsonObject = {"type": "object", "properties": {"customer_id": {"type": "string"}}}
    told = "Lists the orders of a customer."
    optional = a_tool("shop.list_orders", told, effect=Effect.EXTERNAL_READ, inputSchema=schema)
    shop = Shop(FIND, optional)
    await shop.teach(FIND, CUSTOMER, {"name": "Ana"})
    await shop.teach(optional, [], {"customer_id": "cus-000017"})

    proposed = await shop.use.propose_edges(ANA, PLAN, accept=[ALL_SURE])

    assert texts(proposed.edges) == [EDGE]
    assert proposed.plan.step("orders").arguments == {}


async def test_of_a_long_plan_it_is_said_for_which_steps_nothing_was_sought(shop: Shop) -> None:
    steps: list[JsonValue] = [{"id": f"o{it}", "tool": "shop.list_orders"} for it in range(52)]
    long: JsonObject = {"steps": steps}

    proposed = await shop.use.propose_edges(ANA, long)
    with pytest.raises(InvalidPlan) as caught:
        await shop.use.run_workflow(ANA, RunWorkflowSpec(plan=long))

    assert proposed.left_out == ["o50", "o51"]
    assert {missing.step for missing in proposed.missing}.isdisjoint(proposed.left_out)
    assert "'o50' and 1 more" in caught.value.diagnostics[-1].what


async def test_nothing_is_sought_for_a_plan_that_leaves_nothing_out(shop: Shop) -> None:
    sought: list[Principal] = []

    async def offered(caller: Principal) -> CatalogSnapshot:
        sought.append(caller)
        return await shop.use.propose_edges.catalogues.offered(caller)

    catalogues = cast("Catalogs", SimpleNamespace(offered=offered))
    propose = replace(shop.use.propose_edges, catalogues=catalogues)
    run = replace(shop.use.run_workflow, propose_edges=propose)
    wrong: JsonObject = {"id": "find", "tool": "shop.find_customer", "arguments": {"name": 7}}
    left_out: JsonObject = {"id": "find", "tool": "shop.find_customer"}

    for step, times in ((wrong, 0), (left_out, 1)):
        with pytest.raises(InvalidPlan):
            await run(ANA, RunWorkflowSpec(plan={"steps": [step]}))
        assert len(sought) == times
