"""What is not on the lists of a key is not shown to it, and refused if it is called."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from portico.gateway.core.errors import ToolNotFound
from portico.gateway.core.tool import ToolRef
from portico.guard.core.errors import Refused
from portico.kernel.principal import Principal
from tests.gateway.open_room import ANA, OpenRoom

FILES = replace(ANA, tools=(("files.*",),))
READS = replace(ANA, tools=(("files.*", "sky.*"), ("*.read",)))
WEATHER = ToolRef.parse("sky.forecast")

Look = Callable[[OpenRoom, Principal], Awaitable[object]]
LOOKS: dict[str, Look] = {
    "search": lambda room, who: room.use.find_tools(who, ["weather forecast for a city"]),
    "recall": lambda room, who: room.use.find_tools(who, []),
    "list tools": lambda room, who: room.use.list_tools(who),
    "list tools of one": lambda room, who: room.use.list_tools(who, server="sky"),
    "surface": lambda room, who: room.gateway.show_surface(who),
}


async def a_used_room() -> OpenRoom:
    """In which Ana has found the forecast, so that it is recalled."""
    room = OpenRoom()
    await room.use.find_tools(ANA, ["weather forecast for a city"])
    return room


@pytest.mark.timeout(30)  # several rooms, one after another
async def test_what_is_not_on_the_list_is_not_shown() -> None:
    for name, look in LOOKS.items():
        room = await a_used_room()

        assert "sky" in str(await look(room, ANA)), name
        assert "sky" not in str(await look(room, FILES)), name
        assert "sky" in str(await look(room, ANA)), name


async def test_a_server_by_itself_shows_what_is_on_the_list() -> None:
    room = OpenRoom()
    reads = await room.gateway.list_server_tools(READS, "files")
    every = await room.gateway.list_server_tools(FILES, "files")
    nothing = await room.gateway.list_server_tools(FILES, "sky")

    assert [*reads.schemas] == ["read"]
    assert [*every.schemas] == ["read", "write", "delete"]
    assert nothing.tools == []


async def test_what_is_not_on_the_list_cannot_be_described() -> None:
    room = OpenRoom()

    with pytest.raises(ToolNotFound) as refusal:
        await room.gateway.describe_tools(FILES, ["sky.forecost"])
    assert "forecast" not in str(refusal.value.fix)
    with pytest.raises(ToolNotFound):
        await room.gateway.describe_tools(FILES, ["sky.forecast"])
    with pytest.raises(ToolNotFound):
        await room.use.show_tool(FILES, WEATHER)


async def test_who_calls_it_all_the_same_is_told_that_it_may_not() -> None:
    room = OpenRoom()

    with pytest.raises(Refused, match="not on the list"):
        await room.use.call_tool(FILES, WEATHER, {})


async def test_a_tool_has_to_be_on_every_list() -> None:
    room = OpenRoom()

    shelf = await room.gateway.catalogues.offered(READS)

    assert [str(ref) for ref in shelf.tools] == ["files.read"]


async def test_what_is_offered_is_the_same_for_as_long_as_nothing_changes() -> None:
    room = OpenRoom()
    whole = await room.gateway.catalogues.current(ANA)

    assert whole.on(()) is whole
    assert whole.on((("files.*",),)).tools.keys() < whole.tools.keys()
