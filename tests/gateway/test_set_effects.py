"""An operator says what tools can change, by name or by a pattern of names."""

from dataclasses import replace

import pytest

from portico.gateway.core.errors import ToolNotFound, ToolQuarantined, ToolRefused
from portico.guard.core.errors import NotPermitted
from portico.kernel.effect import Effect
from portico.testing.audit import MemoryAudit
from portico.testing.gateway import a_tool
from tests.gateway.open_room import ANA, DELETE, READ, VIEWER, WEATHER, WRITE, OpenRoom


async def effects(room: OpenRoom) -> dict[str, Effect]:
    shelf = await room.gateway.catalogues.current(ANA)
    return {str(ref): tool.effect for ref, tool in shelf.tools.items()}


async def test_a_pattern_says_it_of_every_live_tool_that_it_names() -> None:
    room = OpenRoom()

    changed = await room.use.set_effects(ANA, "*.*e*", Effect.EXTERNAL_WRITE)

    assert {str(it.ref) for it in changed} == {
        "files.read",
        "files.write",
        "files.delete",
        "sky.forecast",
    }
    assert set((await effects(room)).values()) == {Effect.EXTERNAL_WRITE}


async def test_it_is_said_of_the_definition_and_of_no_other() -> None:
    room = OpenRoom()
    await room.use.set_effects(ANA, "files.read", Effect.PURE)
    room.replace(replace(a_tool("files.read", "Reads, and more."), accepted_pin=READ.pin))

    assert (await effects(room)).keys() == {"sky.forecast"}
    with pytest.raises(ToolQuarantined):
        await room.use.set_effects(ANA, "files.read", Effect.PURE)


async def test_what_was_and_what_is_are_in_the_audit() -> None:
    room = OpenRoom()

    await room.use.set_effects(ANA, "sky.forecast", Effect.UNKNOWN)

    assert isinstance(room.doors.audit, MemoryAudit)
    [act] = room.doors.audit.acts
    assert (act["action"], act["subject"]) == ("tool.effect_set", str(WEATHER.ref))
    assert act["facts"] == {"pin": WEATHER.pin, "was": "external_read", "now": "unknown"}


@pytest.mark.parametrize(
    ("pattern", "error"),
    [("nobody.*", ToolNotFound), ("tracker.*", ToolQuarantined), ("files.gone", ToolNotFound)],
)
async def test_what_is_not_live_is_decided_where_it_is_approved(
    pattern: str, error: type[Exception]
) -> None:
    room = OpenRoom()
    gone = replace(a_tool("files.gone", effect=Effect.PURE), gone=True)
    room.replace(READ, WRITE, DELETE, gone)

    with pytest.raises(error):
        await room.use.set_effects(ANA, pattern, Effect.PURE)


async def test_a_refused_tool_has_no_effect() -> None:
    room = OpenRoom()
    room.replace(READ, replace(a_tool("files.odd", effect=Effect.PURE), refused="hides letters"))

    with pytest.raises(ToolRefused, match="hides letters"):
        await room.use.set_effects(ANA, "files.odd", Effect.PURE)


async def test_it_takes_somebody_who_approves_servers() -> None:
    with pytest.raises(NotPermitted):
        await OpenRoom().use.set_effects(VIEWER, "*", Effect.PURE)
