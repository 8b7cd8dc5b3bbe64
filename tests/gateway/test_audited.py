"""What is done to servers and tools, and what they do themselves, is in the audit."""

from dataclasses import replace

import pytest

from portico.gateway.core.acceptance import Proposed, look_pin
from portico.gateway.core.errors import ServerNotApproved, ToolQuarantined
from portico.gateway.core.server import Stdio
from portico.gateway.manage_servers import ServerWish
from portico.guard.core.errors import NotPermitted
from portico.kernel.effect import Effect
from portico.testing.audit import MemoryAudit
from portico.testing.guard import a_person
from portico.testing.upstreams import seen
from tests.gateway.open_room import ANA, HIDDEN, OpenRoom
from tests.gateway.server_room import READ, ROOT, WRITE, Room


def told(room: Room, since: int = 0) -> list[tuple[object, object]]:
    return [(act["action"], act["subject"]) for act in room.audit.acts[since:]]


@pytest.fixture
def room() -> Room:
    return Room()


async def test_from_adding_a_server_to_letting_its_tools_in(room: Room) -> None:
    room.upstreams.offers["files"] = seen(READ, WRITE)

    await room.startable("files")
    await room.accepted("files")

    assert told(room) == [
        ("server.added", "files"),
        ("server.launch_approved", "files"),
        ("server.tools_accepted", "files"),
        ("tool.accepted", "files.read_file"),
        ("tool.accepted", "files.write_file"),
    ]
    facts = room.audit.acts[-1]["facts"]
    assert isinstance(facts, dict)
    assert (facts["was_effect"], facts["was_pin"]) == ("unknown", None)


async def test_what_is_accepted_again_as_it_is_changes_no_tool(room: Room) -> None:
    room.upstreams.offers["files"] = seen(READ)
    await room.startable("files")
    await room.accepted("files")
    before = len(room.audit.acts)

    await room.accepted("files")

    assert told(room, before) == [("server.tools_accepted", "files")]


async def test_an_effect_that_somebody_sets_is_told_with_the_one_before(room: Room) -> None:
    room.upstreams.offers["files"] = seen(READ)
    await room.startable("files")
    await room.accepted("files", Proposed.ALL)

    pin = look_pin(await room.servers.get(ROOT, "files"))
    await room.accept_tools(ROOT, "files", pin, {"read_file": Effect.IRREVERSIBLE})

    facts = room.audit.acts[-1]["facts"]
    assert isinstance(facts, dict)
    assert (facts["effect"], facts["was_effect"]) == ("irreversible", "external_read")


async def test_a_tool_that_changes_comes_or_goes_is_kept_out_and_comes_back(room: Room) -> None:
    room.upstreams.offers["files"] = seen(READ)
    await room.startable("files")
    await room.accepted("files")
    before = len(room.audit.acts)

    room.upstreams.offers["files"] = seen({**READ, "description": "Other words."}, WRITE)
    await room.indexed("files")
    await room.indexed("files")
    room.upstreams.offers["files"] = seen(WRITE)
    await room.indexed("files")
    room.upstreams.offers["files"] = seen(READ, WRITE)
    await room.indexed("files")

    standings = [
        (act["action"], act["subject"], facts["standing"])
        for act in room.audit.acts[before:]
        if isinstance(facts := act["facts"], dict)
    ]
    assert standings == [
        ("tool.quarantined", "files.read_file", "changed"),
        ("tool.quarantined", "files.write_file", "new"),
        ("tool.quarantined", "files.read_file", "gone"),
        ("tool.restored", "files.read_file", "live"),
    ]


async def test_of_a_server_that_nobody_has_let_in_nothing_is_kept_out(room: Room) -> None:
    room.upstreams.offers["files"] = seen(READ)
    await room.startable("files")
    before = len(room.audit.acts)

    await room.indexed("files")

    assert told(room, before) == []


async def test_other_words_and_other_offers_of_a_server_are_told(room: Room) -> None:
    first = replace(seen(READ), instructions="Be kind.")
    room.upstreams.offers["files"] = first
    await room.startable("files")
    await room.accepted("files")
    before = len(room.audit.acts)

    prompt = {"name": "greet"}
    room.upstreams.offers["files"] = replace(first, instructions="Be cruel.", prompts=(prompt,))
    await room.indexed("files")

    assert told(room, before) == [
        ("server.instructions_changed", "files"),
        ("server.offers_changed", "files"),
    ]


async def test_what_a_switch_does_not_change_is_no_act(room: Room) -> None:
    await room.add_server(ROOT, ServerWish(name="files", launch=Stdio("serve")))

    for enabled in (True, False, False):
        await room.switch_server(ROOT, "files", enabled=enabled)
    await room.remove_server(ROOT, "files")

    assert told(room, 1) == [("server.switched", "files"), ("server.removed", "files")]


async def test_who_is_refused_before_it_comes_to_a_decision_is_told_once_a_minute() -> None:
    room = OpenRoom()
    changed = replace(HIDDEN, ref=replace(HIDDEN.ref, server="files"))
    room.replace(changed)
    nobody = a_person("ana", roles=[])
    audit = room.doors.audit
    assert isinstance(audit, MemoryAudit)

    for _ in range(2):
        with pytest.raises(ToolQuarantined):
            await room.use.call_tool(ANA, changed.ref, {})
        with pytest.raises(NotPermitted):
            await room.use.call_tool(nobody, changed.ref, {})
        with pytest.raises(ServerNotApproved):
            await room.gateway.read_resource(ANA, "portico://tracker/file:///a")

    assert [(act["action"], act["subject"], act["rule"]) for act in audit.acts] == [
        ("call.denied", str(changed.ref), "default:tool_quarantined"),
        ("call.denied", str(changed.ref), "default:not_permitted"),
        ("read_resource.denied", "tracker.~resource", "default:server_not_approved"),
    ]
