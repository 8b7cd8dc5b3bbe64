"""Resources, prompts and completions go through, under names that say whose."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from portico.app.gateway_wiring import assemble_gateway
from portico.gateway.core.calls import CallOutcome
from portico.gateway.core.errors import OfferNotFound, ServerNotApproved, ToolQuarantined
from portico.guard.core.access_request import TaintContext
from portico.guard.core.errors import Refused
from portico.guard.core.rules import Rule, Ruling
from portico.guard.ports import Rules
from portico.kernel.effect import Effect
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.gateway import an_approved_server
from portico.testing.guard import MemoryRules
from tests.gateway.open_room import ANA, WEATHER, OpenRoom

OFFERS = {"resources": [{"uri": "file:///a"}], "prompts": [{"name": "tidy"}]}


def a_room(rules: Rules | None = None) -> OpenRoom:
    room = OpenRoom(rules=rules)
    server = replace(an_approved_server("files"), offers=OFFERS, accepted_offers=OFFERS)
    room.world.servers[ANA.space, server.id] = server
    room.upstreams.results |= {
        "file:///a": {"contents": [{"text": "A"}]},
        "tidy": {"messages": []},
        "complete": {"completion": {"values": ["x"]}},
    }
    return room


@pytest.fixture
def room() -> OpenRoom:
    return a_room()


async def test_offers_of_all_are_told_apart_and_those_of_one_have_their_own_names() -> None:
    gateway = a_room().gateway

    offers = await gateway.list_offers(ANA)
    of_one = await gateway.list_offers(ANA, "files")

    assert [it["uri"] for it in offers.resources] == ["portico://files/file:///a"]
    assert [it["name"] for it in offers.prompts] == ["files__tidy"]
    assert [it["uri"] for it in of_one.resources] == ["file:///a"]


async def test_a_resource_is_read_at_its_server() -> None:
    gateway = a_room().gateway

    by_ours = await gateway.read_resource(ANA, "portico://files/file:///a")
    by_its_own = await gateway.read_resource(ANA, "file:///a", server="files")

    assert by_ours == by_its_own == {"contents": [{"text": "A"}]}


async def test_a_prompt_is_given_only_if_it_was_approved() -> None:
    gateway = a_room().gateway

    assert await gateway.get_prompt(ANA, "files__tidy", {}) == {"messages": []}
    with pytest.raises(OfferNotFound):
        await gateway.get_prompt(ANA, "files__other", {})


async def test_a_completion_is_asked_of_the_server_it_is_about() -> None:
    rows: list[dict[str, str]] = [
        {"type": "ref/prompt", "name": "files__tidy"},
        {"type": "ref/resource", "uri": "portico://files/file:///{a}"},
    ]

    for reference in rows:
        gateway = a_room().gateway

        completed = await gateway.complete(ANA, {"ref": reference, "argument": {}})

        assert completed == {"completion": {"values": ["x"]}}, reference


async def test_a_completion_about_nothing_is_refused() -> None:
    with pytest.raises(OfferNotFound):
        await a_room().gateway.complete(ANA, {"argument": {}})


async def test_a_server_that_waits_for_approval_offers_nothing() -> None:
    with pytest.raises(ServerNotApproved):
        await a_room().gateway.list_offers(ANA, "tracker")


Way = Callable[[OpenRoom], Awaitable[object]]
WAYS: dict[str, Way] = {
    "resource": lambda room: room.gateway.read_resource(ANA, "portico://files/file:///a"),
    "prompt": lambda room: room.gateway.get_prompt(ANA, "files__tidy", {}),
    "completion": lambda room: room.gateway.complete(ANA, {"argument": {}}, server="files"),
}


async def test_what_is_beside_tools_is_recorded_and_taken_in() -> None:
    for kind, ask in WAYS.items():
        room = a_room()
        room.label("files", Label(Level.TEAM))

        await ask(room)

        [call] = await room.use.list_calls(ANA)
        assert (str(call.ref), call.effect) == (f"files.~{kind}", Effect.EXTERNAL_READ)
        assert call.outcome is CallOutcome.DONE, kind
        assert [(it.label, it.untrusted) for it in room.world.contexts.values()] == [
            (Label(Level.TEAM), True)
        ], kind


@pytest.mark.parametrize("kind", WAYS)
async def test_what_the_task_has_read_is_not_carried_out_by_it(kind: str) -> None:
    room = a_room(MemoryRules())
    room.label("sky", Label(Level.TEAM))
    room.label("files", clearance=PUBLIC)
    await room.use.call_tool(ANA, WEATHER.ref, {})

    with pytest.raises(Refused, match="cleared for public"):
        await WAYS[kind](room)


@pytest.mark.parametrize("kind", WAYS)
async def test_a_rule_names_it_by_a_name_that_no_tool_has(kind: str) -> None:
    def denied(tools: str) -> OpenRoom:
        return a_room(MemoryRules([Rule(name="no", ruling=Ruling.DENY, tools=(tools,))]))

    for tools in (f"files.~{kind}", "files.*"):
        with pytest.raises(Refused):
            await WAYS[kind](denied(tools))
    about_a_tool = denied(f"files.{kind}")
    await WAYS[kind](about_a_tool)
    assert len(await about_a_tool.use.list_calls(ANA)) == 1


async def test_what_changed_since_it_was_decided_is_not_asked(room: OpenRoom) -> None:
    rise = room.doors.contexts.raise_taint

    class Meanwhile:
        async def get(self, caller: Principal) -> TaintContext:
            return await room.doors.contexts.get(caller)

        async def raise_taint(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
            await rise(caller, label, untrusted=untrusted)
            room.label("files", clearance=PUBLIC)

    gate = replace(room.doors.gate, contexts=Meanwhile())
    gateway = assemble_gateway(replace(room.doors, gate=gate))

    with pytest.raises(ToolQuarantined):
        await gateway.read_resource(ANA, "portico://files/file:///a")
