"""What would be decided is told as it would be, and nothing comes of it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from portico.gateway.calls import CheckArguments
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import InvalidToolRef, ToolNotFound
from portico.gateway.core.untrusted_text import name_flaw
from portico.gateway.policy_targets import ToolAims, WeighCall
from portico.gateway.resources_and_prompts import NAMES
from portico.guard.core.access_request import Allowed, Denied, NeedsApproval
from portico.guard.core.errors import Refused
from portico.guard.core.rules import fits
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal
from portico.testing.gateway import a_tool
from tests.gateway.open_room import ANA, DELETE, READ, VIEWER, WRITE, OpenRoom


def weighing(room: OpenRoom) -> WeighCall:
    catalogues = room.gateway.catalogues
    return WeighCall(
        aims=ToolAims(catalogues=catalogues),
        check=CheckArguments(catalogues=catalogues, schemas=room.doors.schemas),
        decide=room.doors.gate.decide,
    )


async def test_it_is_decided_as_the_gate_would() -> None:
    weigh = weighing(OpenRoom())

    assert isinstance((await weigh(ANA, str(READ.ref))).decision, Allowed)
    assert isinstance((await weigh(ANA, str(DELETE.ref))).decision, NeedsApproval)
    assert isinstance((await weigh(VIEWER, str(WRITE.ref))).decision, Denied)


async def test_what_is_not_on_the_callers_list_is_denied() -> None:
    listed = replace(ANA, tools=(("files.write",),))

    weighed = await weighing(OpenRoom())(listed, str(READ.ref))

    assert weighed.decision.rule == "default:list"


async def test_nothing_is_called_and_nothing_written_down(room: OpenRoom) -> None:
    await weighing(room)(ANA, str(DELETE.ref), {})

    assert room.upstreams.called == []
    assert room.asking.asked == []
    assert await room.use.list_calls(ANA) == []


async def test_arguments_that_do_not_fit_are_told() -> None:
    weigh = weighing(OpenRoom())

    assert (await weigh(ANA, "files.read", {"path": "a"})).field_errors == ()
    [flaw] = (await weigh(ANA, "files.read", {"path": 7})).field_errors
    assert flaw.startswith("path: ")


async def test_what_waits_for_approval_is_denied_whatever_it_is_given(room: OpenRoom) -> None:
    room.replace(replace(READ, accepted_pin="another"))

    weighed = await weighing(room)(ANA, str(READ.ref), {"path": 7})

    assert (weighed.decision.rule, weighed.field_errors) == ("default:approved", ())


async def test_what_is_not_there_is_not_found() -> None:
    with pytest.raises(ToolNotFound):
        await weighing(OpenRoom())(ANA, "files.nothing")


def aims(room: OpenRoom) -> ToolAims:
    return ToolAims(catalogues=room.gateway.catalogues)


async def test_a_live_tool_is_what_an_operator_accepted() -> None:
    aim = await aims(OpenRoom()).of(ANA, str(READ.ref))

    assert (aim.tool, aim.server, aim.live) == (str(READ.ref), READ.ref.server, True)
    assert (aim.effect, aim.pin) == (READ.effect, READ.pin)


async def test_a_tool_that_has_changed_is_unknown_and_not_live(room: OpenRoom) -> None:
    room.replace(replace(READ, accepted_pin="another"))

    aim = await aims(room).of(ANA, str(READ.ref))

    assert (aim.effect, aim.live) == (Effect.UNKNOWN, False)


async def test_what_is_beside_tools_is_a_read_from_outside() -> None:
    for kind in ("~resource", "~prompt", "~completion"):
        aim = await aims(OpenRoom()).of(ANA, f"{READ.ref.server}.{kind}")

        assert (aim.tool, aim.effect) == (f"{READ.ref.server}.{kind}", Effect.EXTERNAL_READ)


async def test_no_tool_is_called_like_them() -> None:
    for name in NAMES.values():
        room = OpenRoom()
        room.replace(a_tool(f"{READ.ref.server}.{name[1:]}", "Ask.", effect=Effect.IRREVERSIBLE))

        aim = await aims(room).of(ANA, f"{READ.ref.server}.{name[1:]}")
        beside = await aims(room).of(ANA, f"{READ.ref.server}.{name}")

        assert (aim.effect, beside.effect) == (Effect.IRREVERSIBLE, Effect.EXTERNAL_READ), name
        assert not fits(beside.tool, [aim.tool]), name
        assert name_flaw(name) is not None


async def test_of_what_is_not_there_there_is_no_aim() -> None:
    with pytest.raises(ToolNotFound):
        await aims(OpenRoom()).of(ANA, f"{READ.ref.server}.nothing")
    with pytest.raises(ToolNotFound):
        await aims(OpenRoom()).of(ANA, "nowhere.~prompt")
    with pytest.raises(InvalidToolRef):
        await aims(OpenRoom()).of(ANA, "odd")


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


async def test_what_is_not_on_the_list_is_not_shown() -> None:
    for name, look in LOOKS.items():
        room = await a_used_room()

        assert "sky" in str(await look(room, ANA)), name
        assert "sky" not in str(await look(room, FILES)), name
        assert "sky" in str(await look(room, ANA)), name


async def test_a_server_by_itself_shows_what_is_on_the_list(room: OpenRoom) -> None:
    reads = await room.gateway.list_server_tools(READS, "files")
    every = await room.gateway.list_server_tools(FILES, "files")
    nothing = await room.gateway.list_server_tools(FILES, "sky")

    assert [*reads.schemas] == ["read"]
    assert [*every.schemas] == ["read", "write", "delete"]
    assert nothing.tools == []


async def test_what_is_not_on_the_list_cannot_be_described(room: OpenRoom) -> None:
    with pytest.raises(ToolNotFound) as refusal:
        await room.gateway.describe_tools(FILES, ["sky.forecost"])
    assert "forecast" not in str(refusal.value.fix)
    with pytest.raises(ToolNotFound):
        await room.gateway.describe_tools(FILES, ["sky.forecast"])
    with pytest.raises(ToolNotFound):
        await room.use.show_tool(FILES, WEATHER)


async def test_who_calls_it_all_the_same_is_told_that_it_may_not(room: OpenRoom) -> None:
    with pytest.raises(Refused, match="not on the list"):
        await room.use.call_tool(FILES, WEATHER, {})


async def test_a_tool_has_to_be_on_every_list(room: OpenRoom) -> None:
    shelf = await room.gateway.catalogues.offered(READS)

    assert [str(ref) for ref in shelf.tools] == ["files.read"]


async def test_what_is_offered_is_the_same_for_as_long_as_nothing_changes(room: OpenRoom) -> None:
    whole = await room.gateway.catalogues.current(ANA)

    assert whole.on(()) is whole
    assert whole.on((("files.*",),)).tools.keys() < whole.tools.keys()
