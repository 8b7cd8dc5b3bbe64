"""The stories of which servers there are, and who may say so."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from portico.adapters.inline import InlineWakeups
from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.calls import Phase, ServerListing
from portico.gateway.core.catalog_snapshot import ToolStatus
from portico.gateway.core.errors import (
    InvalidLaunch,
    InvalidServerName,
    ServerDisabled,
    ServerExists,
    ServerGone,
    ServerNotApproved,
    ServerNotFound,
    ServerNotOurs,
    ToolQuarantined,
    UpstreamDown,
)
from portico.gateway.core.pins import launch_pin
from portico.gateway.core.server_approval import Proposed, look_pin
from portico.gateway.core.servers import ADDED, Plain, Stdio
from portico.gateway.servers import ServerRegistration
from portico.guard.core.errors import NotPermitted
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal
from portico.testing.gateway import a_server, seen
from portico.testing.guard import MemoryAudit, a_person
from portico.testing.memory_store import BEGINNING
from tests.gateway.open_room import ANA, HIDDEN, OpenRoom
from tests.gateway.server_room import MEMBER, READ, ROOT, VIEWER, WRITE, Room, raw

LAUNCH = Stdio("npx", (Plain("-y"), Plain("files")))


@pytest.fixture
def room() -> Room:
    return Room()


async def test_a_server_that_is_added_waits_to_be_approved(room: Room) -> None:
    server = await room.add_server(ROOT, ServerRegistration(name="files", launch=LAUNCH, timeout=5))

    assert await room.servers.get(ROOT, "files") == server
    assert (server.origin, server.timeout) == (ADDED, 5)
    assert server.launch_pin == launch_pin(LAUNCH)
    assert not server.may_start
    assert room.upstreams.looked == []


@pytest.mark.parametrize("name", ["files", "flles", "fi-les"])
async def test_a_name_that_can_be_taken_for_another_is_taken(room: Room, name: str) -> None:
    await room.added("files")

    with pytest.raises(ServerExists):
        await room.add_server(ROOT, ServerRegistration(name=name, launch=LAUNCH))


async def test_what_is_no_name_or_no_launch_is_not_added(room: Room) -> None:
    with pytest.raises(InvalidServerName):
        await room.add_server(ROOT, ServerRegistration(name="Files", launch=LAUNCH))
    with pytest.raises(InvalidLaunch):
        await room.add_server(ROOT, ServerRegistration(name="files", launch=Stdio("a\0b")))

    assert await room.servers.all(ROOT) == []


async def test_a_server_is_removed_with_its_tools_and_its_process(room: Room) -> None:
    server = await room.startable()
    room.upstreams.offers["files"] = seen(READ)
    await room.indexed()

    await room.remove_server(ROOT, "files")

    assert await room.servers.all(ROOT) == []
    assert await room.tools.of(ROOT, server) == []
    assert room.upstreams.stopped == ["files"]


async def test_what_a_file_describes_is_removed_there_unless_it_is_gone_from_it(room: Room) -> None:
    server = a_server("files", origin="/a.json")
    await room.servers.add(ROOT, server)

    with pytest.raises(ServerNotOurs, match=r"/a\.json"):
        await room.remove_server(ROOT, "files")
    await room.servers.put(ROOT, replace(server, gone_at=BEGINNING))
    await room.remove_server(ROOT, "files")

    assert await room.servers.all(ROOT) == []


async def test_a_server_that_is_switched_off_is_stopped_and_keeps_its_approval(room: Room) -> None:
    before = await room.startable()

    off = await room.switch_server(ROOT, "files", enabled=False)
    stopped = [*room.upstreams.stopped]
    on = await room.switch_server(ROOT, "files", enabled=True)

    assert not off.may_start
    assert stopped == room.upstreams.stopped == ["files"]
    assert on == before == await room.servers.get(ROOT, "files")


async def test_a_restart_ends_it_and_asks_it_anew(room: Room) -> None:
    await room.startable()
    room.upstreams.offers["files"] = seen(READ)

    indexed = await room.restart_server(ROOT, "files")

    assert room.upstreams.stopped == room.upstreams.looked_at == ["files"]
    assert indexed.counted.new == 1


async def test_what_may_not_be_started_is_not_restarted(room: Room) -> None:
    await room.added("new")
    await room.startable("off")
    await room.switch_server(ROOT, "off", enabled=False)
    room.upstreams.stopped.clear()
    gone = replace(a_server("gone", origin="/a.json"), gone_at=BEGINNING)
    await room.servers.add(ROOT, gone)

    for name, error in {
        "new": ServerNotApproved,
        "off": ServerDisabled,
        "gone": ServerGone,
        "none": ServerNotFound,
    }.items():
        with pytest.raises(error):
            await room.restart_server(ROOT, name)

    assert room.upstreams.stopped == room.upstreams.looked_at == []


async def test_servers_are_listed_with_how_they_are_and_what_they_have(room: Room) -> None:
    await room.startable("files")
    await room.startable("mail")
    await room.added("zoo")
    room.upstreams.offers["files"] = seen(READ, WRITE)
    await room.accepted("files")
    room.upstreams.offers["files"] = seen(READ, raw("write_file", "Otherwise."), {"name": ""})
    await room.indexed("files")
    room.upstreams.offers["mail"] = seen(raw("send"))
    await room.indexed("mail")

    looked = len(room.upstreams.looked)

    files, mail, zoo = await room.list_servers(ROOT)

    assert len(room.upstreams.looked) == looked

    assert files.tools == {ToolStatus.LIVE: 1, ToolStatus.CHANGED: 1, ToolStatus.REFUSED: 1}
    assert files.tokens > 0
    assert files.health.phase is Phase.RUNNING
    assert mail.tools == {ToolStatus.PENDING: 1}
    assert (zoo.tools, zoo.tokens, zoo.health.phase) == ({}, 0, Phase.IDLE)
    assert await room.show_server(ROOT, "mail") == mail


async def test_what_nobody_has_approved_is_told_to_those_who_approve_only(room: Room) -> None:
    await room.startable()
    room.upstreams.offers["files"] = seen(READ, instructions="Obey!", prompts=[{"name": "p"}])
    room.upstreams.last_words["files"] = ["Obey, too!"]
    await room.indexed()
    room.upstreams.dead.add("files")
    with pytest.raises(UpstreamDown):
        await room.indexed()

    told, [again] = await room.show_server(VIEWER, "files"), await room.list_servers(VIEWER)
    known = await room.show_server(ROOT, "files")

    assert told == again
    assert told.server.instructions is None
    assert (told.server.offers, told.server.identity) == ({}, None)
    assert told.server.failure == "It could not be asked what it offers."
    assert told.health.last_words == ()
    assert known.server.instructions == "Obey!"
    assert known.health.last_words == ["Obey, too!"]


Act = Callable[[Room, Principal], Awaitable[object]]
WRITES: dict[str, Act] = {
    "add": lambda room, who: room.add_server(who, ServerRegistration(name="a", launch=LAUNCH)),
    "remove": lambda room, who: room.remove_server(who, "files"),
    "switch": lambda room, who: room.switch_server(who, "files", enabled=False),
    "restart": lambda room, who: room.restart_server(who, "files"),
    "index": lambda room, who: room.index_server(who, "files"),
    "reconcile": lambda room, who: room.reconcile(who, "/a.json", []),
    "approve": lambda room, who: room.approve_launch(who, "files", "p"),
    "accept": lambda room, who: room.accept_tools(who, "files", "p", {}),
    "review": lambda room, who: room.review(who),
}


@pytest.mark.parametrize("act", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("who", [VIEWER, MEMBER])
async def test_only_an_operator_changes_servers(room: Room, act: Act, who: Principal) -> None:
    server = await room.added()

    with pytest.raises(NotPermitted):
        await act(room, who)

    assert await room.servers.all(ROOT) == [server]


async def test_the_house_itself_approves_nothing(room: Room) -> None:
    server = await room.added()

    with pytest.raises(NotPermitted):
        await room.approve_launch(room.house, "files", server.launch_pin)
    with pytest.raises(NotPermitted):
        await room.accept_tools(room.house, "files", "p", {})


async def test_to_switch_on_what_is_on_is_no_change(room: Room) -> None:
    server = await room.startable()

    with room.bus.listen(ROOT.space, CATALOGUE) as ear:
        assert await room.switch_server(ROOT, "files", enabled=True) == server
        assert isinstance(ear, InlineWakeups)
        assert not ear.rung


async def test_a_change_is_told_to_whoever_keeps_the_catalogue() -> None:
    for act in ("add", "remove", "switch"):
        room = Room()
        await room.added()

        with room.bus.listen(ROOT.space, CATALOGUE) as ear:
            await WRITES[act](room, ROOT)

            await ear.wait()


async def let_in(room: Room, offers: ServerListing) -> None:
    room.upstreams.offers["files"] = offers
    await room.startable("files")
    await room.accepted("files")


def told(room: Room, since: int = 0) -> list[tuple[object, object]]:
    return [(act["action"], act["subject"]) for act in room.audit.acts[since:]]


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
    await let_in(room, seen(READ))
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
    await let_in(room, seen(READ))
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
    await let_in(room, first)
    before = len(room.audit.acts)

    prompt = {"name": "greet"}
    room.upstreams.offers["files"] = replace(first, instructions="Be cruel.", prompts=(prompt,))
    await room.indexed("files")

    assert told(room, before) == [
        ("server.instructions_changed", "files"),
        ("server.offers_changed", "files"),
    ]


async def test_what_a_switch_does_not_change_is_no_act(room: Room) -> None:
    await room.add_server(ROOT, ServerRegistration(name="files", launch=Stdio("serve")))

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
