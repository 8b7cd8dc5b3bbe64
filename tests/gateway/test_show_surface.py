"""What a client lists: small, steady, and with what its user uses most."""

from dataclasses import replace
from datetime import timedelta

from portico.adapters.tokens.o200k import O200k
from portico.gateway.core.surface import fixed_tools, search_description
from portico.gateway.show_surface import OF_THE_SEARCH, Surface
from portico.kernel.json import canonical
from portico.main.assemble_gateway import Limits
from portico.testing.upstreams import text
from tests.gateway.open_room import ANA, READ, WEATHER, OpenRoom, ref


def _tokens(surface: Surface) -> int:
    return sum(O200k().count(canonical(tool).decode()) for tool in surface.tools)


async def test_it_has_the_ten_tools_of_the_door_and_names_the_servers() -> None:
    surface = await OpenRoom().gateway.show_surface(ANA)

    assert [tool["name"] for tool in surface.tools] == [it["name"] for it in fixed_tools("")]
    assert "files 3, sky 1" in surface.search_description
    assert "tracker" not in surface.search_description


async def test_what_is_used_most_is_listed_directly() -> None:
    room = OpenRoom()
    room.upstreams.replies |= {READ.ref: text("a"), WEATHER.ref: text("b")}
    for _ in range(3):
        await room.use.call_tool(ANA, WEATHER.ref, {})
    await room.use.call_tool(ANA, READ.ref, {})
    await room.gateway.habits.write_down()

    surface = await room.gateway.show_surface(ANA)

    assert [hot.name for hot in surface.hot] == ["sky__forecast", "files__read"]
    assert surface.hot_ref("files__read") == ref("files.read")
    assert surface.hot_ref("nothing") is None


async def test_the_whole_list_stays_under_its_cap() -> None:
    room = OpenRoom(Limits(surface_tokens=840))
    room.upstreams.replies |= {READ.ref: text("a"), WEATHER.ref: text("b")}
    await room.use.call_tool(ANA, WEATHER.ref, {})
    await room.use.call_tool(ANA, READ.ref, {})
    await room.gateway.habits.write_down()

    surface = await room.gateway.show_surface(ANA)

    assert len(surface.hot) == 1
    assert _tokens(surface) <= 840


async def test_with_a_hundred_servers_a_thousand_tokens_are_enough() -> None:
    room = OpenRoom()
    description = search_description(
        {f"a-server-of-somebody-{number}": 100_000 + number for number in range(100)},
        lambda text: O200k().count(text) <= OF_THE_SEARCH,
    )
    assert "more servers" in description

    surface = replace(await room.gateway.show_surface(ANA), search_description=description)

    assert _tokens(surface) <= Limits().surface_tokens == 1_000


async def test_it_stays_the_same_for_a_while_and_then_follows() -> None:
    room = OpenRoom()
    room.upstreams.replies[READ.ref] = text("a")
    running = room.gateway.catalogues
    before = await room.gateway.show_surface(ANA)
    await room.use.call_tool(ANA, READ.ref, {})
    await room.gateway.habits.write_down()
    room.clock.turn(timedelta(minutes=11))

    after = await room.gateway.show_surface(ANA)

    assert before.hot == []
    assert [hot.ref for hot in after.hot] == [READ.ref]
    assert running is room.gateway.catalogues
