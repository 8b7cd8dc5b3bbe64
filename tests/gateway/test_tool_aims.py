"""What a tool is to the guard, whether or not it may be called."""

from dataclasses import replace

import pytest

from portico.gateway.beside_tools import NAMES
from portico.gateway.core.errors import BadToolRef, ToolNotFound
from portico.gateway.core.hidden_text import name_flaw
from portico.gateway.tool_aims import ToolAims
from portico.guard.core.wildcard import fits
from portico.kernel.effect import Effect
from portico.testing.gateway import a_tool
from tests.gateway.open_room import ANA, READ, OpenRoom


def aims(room: OpenRoom) -> ToolAims:
    return ToolAims(catalogues=room.gateway.catalogues)


async def test_a_live_tool_is_what_an_operator_accepted() -> None:
    aim = await aims(OpenRoom()).of(ANA, str(READ.ref))

    assert (aim.tool, aim.server, aim.live) == (str(READ.ref), READ.ref.server, True)
    assert (aim.effect, aim.pin) == (READ.effect, READ.pin)


async def test_a_tool_that_has_changed_is_unknown_and_not_live() -> None:
    room = OpenRoom()
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


async def test_what_is_not_there_is_not_found() -> None:
    with pytest.raises(ToolNotFound):
        await aims(OpenRoom()).of(ANA, f"{READ.ref.server}.nothing")
    with pytest.raises(ToolNotFound):
        await aims(OpenRoom()).of(ANA, "nowhere.~prompt")
    with pytest.raises(BadToolRef):
        await aims(OpenRoom()).of(ANA, "odd")
