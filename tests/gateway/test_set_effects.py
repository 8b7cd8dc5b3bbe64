"""An operator says what tools can change, by name or by a pattern of names."""

from dataclasses import replace

import pytest

from portico.gateway.core.errors import ToolNotFound, ToolQuarantined, ToolRefused
from portico.gateway.core.servers import FromSecret, Http, Inside, Plain, Stdio, Template
from portico.gateway.servers import FindSecretUses, Labelling, secrets_of
from portico.guard.core.errors import NotPermitted, Overreach
from portico.kernel.effect import Effect
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.gateway import MemoryServers, a_server, a_tool
from portico.testing.guard import MemoryAudit, a_space
from portico.testing.memory_store import MemoryWorld
from tests.gateway.open_room import ANA, DELETE, READ, SECRETARY, VIEWER, WEATHER, WRITE, OpenRoom


async def effects(room: OpenRoom) -> dict[str, Effect]:
    shelf = await room.gateway.catalogues.current(ANA)
    return {str(ref): tool.effect for ref, tool in shelf.tools.items()}


async def test_a_pattern_says_it_of_every_live_tool_that_it_names(room: OpenRoom) -> None:
    changed = await room.use.set_effects(ANA, "*.*e*", Effect.EXTERNAL_WRITE)

    assert {str(it.ref) for it in changed} == {
        "files.read",
        "files.write",
        "files.delete",
        "sky.forecast",
    }
    assert set((await effects(room)).values()) == {Effect.EXTERNAL_WRITE}


async def test_it_is_said_of_the_definition_and_of_no_other(room: OpenRoom) -> None:
    await room.use.set_effects(ANA, "files.read", Effect.PURE)
    room.replace(replace(a_tool("files.read", "Reads, and more."), accepted_pin=READ.pin))

    assert (await effects(room)).keys() == {"sky.forecast"}
    with pytest.raises(ToolQuarantined):
        await room.use.set_effects(ANA, "files.read", Effect.PURE)


async def test_what_was_and_what_is_are_in_the_audit(room: OpenRoom) -> None:
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
    room: OpenRoom, pattern: str, error: type[Exception]
) -> None:
    gone = replace(a_tool("files.gone", effect=Effect.PURE), gone=True)
    room.replace(READ, WRITE, DELETE, gone)

    with pytest.raises(error):
        await room.use.set_effects(ANA, pattern, Effect.PURE)


async def test_a_refused_tool_has_no_effect(room: OpenRoom) -> None:
    room.replace(READ, replace(a_tool("files.odd", effect=Effect.PURE), refused="hides letters"))

    with pytest.raises(ToolRefused, match="hides letters"):
        await room.use.set_effects(ANA, "files.odd", Effect.PURE)


async def test_it_takes_somebody_who_approves_servers() -> None:
    with pytest.raises(NotPermitted):
        await OpenRoom().use.set_effects(VIEWER, "*", Effect.PURE)


TEAM = Label(Level.TEAM)
SECRET = Label(Level.CONFIDENTIAL)
HR = Label(Level.TEAM, frozenset({"hr"}))


def the_audit(room: OpenRoom) -> MemoryAudit:
    assert isinstance(room.doors.audit, MemoryAudit)
    return room.doors.audit


async def test_what_is_said_is_kept_and_what_is_not_stays(room: OpenRoom) -> None:
    await room.use.label_server(ANA, "files", Labelling(label=TEAM))
    server = await room.use.label_server(ANA, "files", Labelling(trusted=True))

    assert (server.label, server.clearance, server.trusted) == (TEAM, TEAM, True)
    assert (await room.use.show_server(ANA, "files")).server.label == TEAM


async def test_each_change_is_in_the_audit_with_what_it_was(room: OpenRoom) -> None:
    await room.use.label_server(SECRETARY, "files", Labelling(clearance=SECRET))
    await room.use.label_server(SECRETARY, "files", Labelling(clearance=SECRET))

    assert the_audit(room).actions == ["server.labelled"]


@pytest.mark.parametrize(
    "wish",
    [
        Labelling(label=SECRET),
        Labelling(label=HR),
        Labelling(clearance=SECRET),
        Labelling(clearance=HR),
    ],
)
async def test_nobody_says_more_than_they_are_cleared_for(room: OpenRoom, wish: Labelling) -> None:
    with pytest.raises(Overreach):
        await room.use.label_server(ANA, "files", wish)

    assert the_audit(room).actions == []


async def test_who_could_not_widen_what_may_be_sent_can_narrow_it(room: OpenRoom) -> None:
    room.label("files", clearance=Label(Level.RESTRICTED))

    server = await room.use.label_server(ANA, "files", Labelling(clearance=PUBLIC))

    assert server.clearance == PUBLIC


async def test_whoever_labels_approves_servers(room: OpenRoom) -> None:
    for caller in (VIEWER, replace(ANA, scopes=frozenset({"servers:write"}))):
        with pytest.raises(NotPermitted):
            await room.use.label_server(caller, "files", Labelling(trusted=True))


def test_a_secret_is_found_wherever_it_is_given() -> None:
    started = Stdio(
        "x",
        (FromSecret("secret:a"), Plain("secret:no")),
        {"K": FromSecret("secret:b"), "F": FromSecret("keyring:s/n")},
    )
    reached = Http("https://x.example", {"A": Template(("Bearer ", FromSecret("secret:c")))})

    assert [*secrets_of(started)] == ["a", "b"]
    assert [*secrets_of(reached)] == ["c"]
    assert [*secrets_of(Inside("builtin", "1"))] == []


async def test_each_server_is_named_once_for_each_secret_that_it_is_given() -> None:
    world = MemoryWorld()
    world.spaces[ANA.space] = a_space()
    servers = MemoryServers(world)
    twice = (FromSecret("secret:github"), FromSecret("secret:github"))
    both = Stdio("x", twice, {"K": FromSecret("secret:aws")})
    for server in (
        a_server("tracker", launch=both),
        a_server("code", launch=Stdio("x", twice[:1])),
        a_server("time"),
    ):
        await servers.add(ANA, server)

    found = await FindSecretUses(servers=servers)(ANA)

    assert {name: sorted(users) for name, users in found.items()} == {
        "github": ["code", "tracker"],
        "aws": ["tracker"],
    }
