"""What is labelled above somebody does not exist for them: no name, no count, nothing near it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import ServerExists, ServerNotFound, ToolNotFound
from portico.gateway.core.servers import Stdio
from portico.gateway.servers import Labelling, ServerRegistration
from portico.kernel.effect import Effect
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.gateway import a_tool, an_approved_server, seen
from tests.gateway.open_room import ANA, SECRETARY, OpenRoom

SECRET = Label(Level.CONFIDENTIAL, frozenset({"hr"}))
CANARY = "canary-payroll"
PAY = a_tool(f"{CANARY}.canary_pay", "Pays the canary its salary.", effect=Effect.EXTERNAL_WRITE)


def a_room() -> OpenRoom:
    """With a server that Ana must not know of."""
    room = OpenRoom()
    room.upstreams.offers[CANARY] = seen()
    offers = {
        "resources": [{"uri": "canary://pay", "name": "canary"}],
        "prompts": [{"name": "canary_prompt"}],
    }
    server = replace(
        an_approved_server(CANARY),
        label=SECRET,
        clearance=SECRET,
        offers=offers,
        accepted_offers=offers,
    )
    room.world.servers[ANA.space, server.id] = server
    room.world.tools[ANA.space, server.id] = [PAY]
    return room


@pytest.fixture
def room() -> OpenRoom:
    return a_room()


Look = Callable[[OpenRoom, Principal], Awaitable[object]]
LOOKS: dict[str, Look] = {
    "search": lambda room, who: room.use.find_tools(who, ["pay the canary its salary"]),
    "recall": lambda room, who: room.use.find_tools(who, []),
    "list tools": lambda room, who: room.use.list_tools(who),
    "list servers": lambda room, who: room.use.list_servers(who),
    "surface": lambda room, who: room.gateway.show_surface(who),
    "offers": lambda room, who: room.gateway.list_offers(who),
    "review": lambda room, who: room.use.review_servers(who),
    "calls": lambda room, who: room.use.list_calls(who),
    "figures": lambda room, who: room.use.show_figures(who, within=timedelta(days=9)),
}


async def test_whoever_is_not_cleared_is_told_nothing_of_it() -> None:
    for name, look in LOOKS.items():
        room = a_room()
        await room.use.call_tool(SECRETARY, PAY.ref, {})
        await room.use.find_tools(SECRETARY, ["pay the canary its salary"])

        seen_by_her = str(await look(room, SECRETARY))
        seen_by_ana = str(await look(room, ANA))

        assert "canary" in seen_by_her, name
        assert "canary" not in seen_by_ana.replace("pay the canary its salary", ""), name


TRIES: dict[str, Look] = {
    "call": lambda room, who: room.use.call_tool(who, PAY.ref, {}),
    "describe": lambda room, who: room.gateway.describe_tools(who, [str(PAY.ref)]),
    "show tool": lambda room, who: room.use.show_tool(who, PAY.ref),
    "show server": lambda room, who: room.use.show_server(who, CANARY),
    "its door": lambda room, who: room.gateway.list_server_tools(who, CANARY),
    "its offers": lambda room, who: room.gateway.list_offers(who, CANARY),
    "resource": lambda room, who: room.gateway.read_resource(who, f"portico://{CANARY}/canary://p"),
    "prompt": lambda room, who: room.gateway.get_prompt(who, f"{CANARY}__canary_prompt", {}),
    "completion": lambda room, who: room.gateway.complete(who, {}, server=CANARY),
    "review": lambda room, who: room.use.review_servers(who, CANARY),
    "profile": lambda room, who: room.use.show_profile(who, CANARY),
    "switch": lambda room, who: room.use.switch_server(who, CANARY, enabled=False),
    "restart": lambda room, who: room.use.restart_server(who, CANARY),
    "remove": lambda room, who: room.use.remove_server(who, CANARY),
    "approve": lambda room, who: room.use.approve_launch(who, CANARY, "pin"),
    "accept": lambda room, who: room.use.accept_tools(who, CANARY, "pin", {}),
    "label": lambda room, who: room.use.label_server(who, CANARY, Labelling(trusted=True)),
    "effect": lambda room, who: room.use.set_effects(who, f"{CANARY}.*", Effect.PURE),
}


@pytest.mark.parametrize("attempt", TRIES)
async def test_it_is_answered_as_if_it_were_not_there(attempt: str) -> None:
    """In the very words that are used for what does not exist."""
    room, empty = a_room(), OpenRoom()

    with pytest.raises((ServerNotFound, ToolNotFound)) as there:
        await TRIES[attempt](room, ANA)
    with pytest.raises((ServerNotFound, ToolNotFound)) as nowhere:
        await TRIES[attempt](empty, ANA)

    assert str(there.value) == str(nowhere.value)
    assert there.value.fix == nowhere.value.fix
    assert room.upstreams.called == []


async def test_a_tool_that_is_not_there_has_none_near_it_above_the_caller(room: OpenRoom) -> None:
    with pytest.raises(ToolNotFound) as refusal:
        await room.use.call_tool(ANA, ToolRef("files", "canary_pay"), {})

    assert CANARY not in f"{refusal.value} {refusal.value.fix}"


async def test_a_label_that_is_raised_hides_what_was_called_before(room: OpenRoom) -> None:
    await room.use.call_tool(ANA, ToolRef("files", "read"), {})
    assert len(await room.use.list_calls(ANA)) == 1

    await room.use.label_server(SECRETARY, "files", Labelling(label=SECRET))

    assert await room.use.list_calls(ANA) == []
    assert await room.use.show_figures(ANA, within=timedelta(days=9)) == []
    assert len(await room.use.list_calls(SECRETARY)) == 1


async def test_a_name_that_is_taken_above_the_caller_is_only_said_to_be(room: OpenRoom) -> None:
    alike = CANARY.replace("l", "1")

    with pytest.raises(ServerExists) as refusal:
        await room.use.add_server(ANA, ServerRegistration(name=alike, launch=Stdio("serve")))

    assert CANARY not in str(refusal.value)


async def test_two_keys_of_one_principal_see_what_each_is_cleared_for(room: OpenRoom) -> None:
    wide = replace(ANA, clearance=SECRET)

    assert "canary" in str(await room.gateway.show_surface(wide))
    assert "canary" not in str(await room.gateway.show_surface(ANA))
    assert "canary" in str((await room.use.find_tools(wide, ["pay the canary"])).text)
    assert "canary" not in str((await room.use.find_tools(ANA, ["pay a salary"])).text)


async def test_what_is_not_labelled_is_one_shelf_for_all() -> None:
    room = OpenRoom()

    mine = await room.gateway.catalogues.current(ANA)
    hers = await room.gateway.catalogues.current(SECRETARY)

    assert mine.tools.keys() == hers.tools.keys()
    assert mine.below(SECRET) is mine
