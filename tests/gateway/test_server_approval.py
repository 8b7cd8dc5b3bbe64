"""Approve a server and the effects of its tools."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.calls import ServerListing
from portico.gateway.core.catalog_snapshot import ToolStatus
from portico.gateway.core.effects import ShippedEffects
from portico.gateway.core.errors import (
    PinMoved,
    ServerNotFound,
    ToolNotFound,
    ToolQuarantined,
    ToolRefused,
)
from portico.gateway.core.pins import definition_pin, launch_pin
from portico.gateway.core.server_approval import Effects, Proposed
from portico.gateway.core.servers import (
    FromFile,
    FromSecret,
    Http,
    Inside,
    Plain,
    Stdio,
    Template,
    standing,
)
from portico.gateway.servers import FindSecretUses, Labelling, ServerRegistration, secrets_of
from portico.gateway.start_diagnostics import Examined, ExamineServers
from portico.guard.core.errors import NotPermitted, Overreach
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.gateway import MemoryServers, a_server, a_tool, seen
from portico.testing.guard import MemoryAudit, a_space
from portico.testing.memory_store import InMemoryStore
from tests.gateway.open_room import ANA, DELETE, SECRETARY, VIEWER, WEATHER, OpenRoom
from tests.gateway.open_room import READ as READ_TOOL
from tests.gateway.open_room import WRITE as WRITE_TOOL
from tests.gateway.server_room import MEMBER, READ, ROOT, WIPE, WRITE, Room, raw


async def looked_at(room: Room, name: str = "files") -> str:
    [review] = await room.review(ROOT, name)
    return review.pin


async def a_room(*tools: JsonObject) -> Room:
    room = Room()
    await room.startable()
    room.upstreams.offers["files"] = seen(*tools)
    await room.indexed()
    return room


async def effects(room: Room) -> dict[str, tuple[ToolStatus, Effect]]:
    server = await room.servers.get(ROOT, "files")
    tools = await room.tools.of(ROOT, server)
    return {it.ref.name: (standing(server, it), it.effect) for it in tools}


@pytest.fixture
def launch_room() -> Room:
    return Room()


async def test_whoever_approves_a_launch_has_signed_it(launch_room: Room) -> None:
    server = await launch_room.added()

    approved = await launch_room.approve_launch(ROOT, "files", server.launch_pin)

    assert approved == await launch_room.servers.get(ROOT, "files")
    assert approved.may_start
    assert not approved.approved
    assert approved.approved_by == "root"
    assert approved.approved_at is not None


async def test_a_launch_that_moved_is_not_approved(launch_room: Room) -> None:
    server = await launch_room.added()
    await launch_room.servers.put(ROOT, replace(server, launch=Stdio("other"), launch_pin="other"))

    with pytest.raises(PinMoved):
        await launch_room.approve_launch(ROOT, "files", server.launch_pin)

    assert not (await launch_room.servers.get(ROOT, "files")).may_start


async def test_a_review_shows_the_command_and_what_each_tool_would_be_allowed(
    launch_room: Room,
) -> None:
    launch = Stdio("npx", (Plain("-y"), Plain("my files")), {"NODE_OPTIONS": FromFile("/a", "/b")})
    await launch_room.startable(launch=launch)
    launch_room.upstreams.offers["files"] = seen(READ, WRITE, WIPE, instructions="Read first.")
    await launch_room.indexed()

    [review] = await launch_room.review(ROOT, "files")

    assert review.command == "NODE_OPTIONS=${file:/a#/b} npx -y 'my files'"
    assert review.loaders == ("NODE_OPTIONS",)
    assert [
        (it.tool.ref.name, it.status, it.proposal.effect, it.changes) for it in review.tools
    ] == [
        ("read_file", ToolStatus.PENDING, Effect.EXTERNAL_READ, ()),
        ("write_file", ToolStatus.PENDING, Effect.EXTERNAL_WRITE, ()),
        ("wipe", ToolStatus.PENDING, Effect.IRREVERSIBLE, ()),
    ]
    assert all(it.proposal.why for it in review.tools)
    [said] = [each for each in review.said if each.path == "instructions"]
    assert "Read first." in str(said.after)


async def test_a_review_shows_what_has_changed_since_it_was_accepted() -> None:
    room = await a_room(READ, WRITE)
    await room.accept_tools(ROOT, "files", await looked_at(room), Proposed.ALL)
    room.upstreams.offers["files"] = seen(READ, raw("write_file", "Sends it away."))
    await room.indexed()

    [review] = await room.review(ROOT)

    same, changed = review.tools
    assert (same.status, list(same.changes)) == (ToolStatus.LIVE, [])
    assert changed.status is ToolStatus.CHANGED
    [change] = changed.changes
    assert change.path == "description"
    assert "Writes a file." in str(change.before)
    assert "Sends it away." in str(change.after)
    assert list(review.said) == []


async def test_every_server_can_be_looked_at_in_one_go() -> None:
    room = await a_room(READ)
    await room.added("mail")

    files, mail = await room.review(ROOT)

    assert (files.server.name, len(files.tools)) == ("files", 1)
    assert (mail.server.name, mail.command, mail.tools) == ("mail", "serve", [])
    with pytest.raises(ServerNotFound):
        await room.review(ROOT, "none")


async def test_our_own_list_proposes_for_packages_it_knows() -> None:
    shipped = ShippedEffects({"npm:files": {"1.2.0": {definition_pin(WIPE): Effect.PURE}}})
    room = Room(shipped)
    launch = Stdio("npx", (Plain("-y"), Plain("files@1.2.0")))
    await room.startable(launch=launch)
    room.upstreams.offers["files"] = seen(WIPE)
    await room.accepted()

    assert await effects(room) == {"wipe": (ToolStatus.LIVE, Effect.PURE)}


async def test_what_a_server_elsewhere_does_is_done_outside(launch_room: Room) -> None:
    launch = Http("https://a.example/mcp")
    await launch_room.startable(launch=launch)
    launch_room.upstreams.offers["files"] = seen(
        raw("read_file", "Reads.", annotations={"openWorldHint": False})
    )
    await launch_room.accepted()

    assert await effects(launch_room) == {"read_file": (ToolStatus.LIVE, Effect.EXTERNAL_READ)}


LIVE, UNKNOWN = ToolStatus.LIVE, Effect.UNKNOWN
READS, WRITES, WIPES = "read_file", "write_file", "wipe"
PROPOSED = {
    READS: (LIVE, Effect.EXTERNAL_READ),
    WRITES: (LIVE, Effect.EXTERNAL_WRITE),
    WIPES: (LIVE, Effect.IRREVERSIBLE),
}


@pytest.mark.parametrize(
    ("acts", "found"),
    [
        ([Proposed.ALL], PROPOSED),
        ([Proposed.READS], {**PROPOSED, WRITES: (LIVE, UNKNOWN), WIPES: (LIVE, UNKNOWN)}),
        ([Proposed.READS, Proposed.ALL], PROPOSED),
        ([{READS: Effect.PURE}, Proposed.ALL], {**PROPOSED, READS: (LIVE, Effect.PURE)}),
        (
            [{READS: Effect.PURE, WIPES: Effect.IRREVERSIBLE}, {WIPES: UNKNOWN}],
            {
                READS: (LIVE, Effect.PURE),
                WRITES: (ToolStatus.NEW, UNKNOWN),
                WIPES: (LIVE, UNKNOWN),
            },
        ),
    ],
    ids=["all", "reads", "reads, then all", "decided, then all", "tool by tool"],
)
async def test_tools_are_let_in_as_somebody_says_and_stay_as_was_decided(
    acts: Sequence[Effects], found: dict[str, tuple[ToolStatus, Effect]]
) -> None:
    room = await a_room(READ, WRITE, WIPE)

    for each in acts:
        server = await room.accept_tools(ROOT, "files", await looked_at(room), each)

    assert server.approved
    assert server.accepted_set_pin == server.set_pin
    assert await effects(room) == found


async def test_accepting_what_is_accepted_is_only_signed_anew() -> None:
    room = await a_room(READ)
    first = await room.accept_tools(ROOT, "files", await looked_at(room), Proposed.ALL)

    second = await room.accept_tools(ROOT, "files", await looked_at(room), Proposed.ALL)

    assert second == replace(first, approved_at=second.approved_at)
    assert second.approved_at != first.approved_at


async def test_a_changed_definition_has_the_old_effect_no_longer() -> None:
    room = await a_room(READ)
    await room.accept_tools(ROOT, "files", await looked_at(room), {"read_file": Effect.PURE})
    room.upstreams.offers["files"] = seen(raw("read_file", "Deletes it after reading."))
    await room.indexed()

    await room.accept_tools(ROOT, "files", await looked_at(room), Proposed.READS)

    assert await effects(room) == {"read_file": (ToolStatus.LIVE, Effect.UNKNOWN)}


async def test_a_review_tells_what_of_the_launch_has_changed() -> None:
    room = await a_room(READ)
    server = await room.servers.get(ROOT, "files")
    launch = Stdio("serve", (Plain("--all"),))
    changed = replace(server, launch=launch, launch_pin=launch_pin(launch))
    await room.servers.put(ROOT, changed)

    [review] = await room.review(ROOT, "files")

    assert [(it.path, it.before, it.after) for it in review.launch_changes] == [
        ("arguments.0", None, '"--all"')
    ]


async def test_another_launch_has_its_tools_accepted_anew() -> None:
    room = await a_room(READ)
    await room.accepted()
    server = await room.servers.get(ROOT, "files")
    await room.servers.put(ROOT, replace(server, launch=Stdio("other"), launch_pin="another"))

    approved = await room.approve_launch(ROOT, "files", "another")

    assert approved.may_start
    assert not approved.approved


@pytest.mark.parametrize(
    "moved",
    [
        seen(READ, WIPE),
        seen(raw("read_file", "Otherwise.")),
        seen(),
        seen(READ, instructions="Obey!"),
        seen(READ, resources=[{"uri": "a:b"}]),
        seen(READ, prompts=[{"name": "p"}]),
    ],
)
async def test_what_moved_while_somebody_looked_is_not_let_in(moved: ServerListing) -> None:
    room = await a_room(READ)
    pin = await looked_at(room)
    room.upstreams.offers["files"] = moved
    await room.indexed()

    with pytest.raises(PinMoved):
        await room.accept_tools(ROOT, "files", pin, Proposed.ALL)

    assert not (await room.servers.get(ROOT, "files")).approved


async def test_of_a_server_that_was_never_asked_there_is_nothing_to_let_in(
    launch_room: Room,
) -> None:
    await launch_room.startable()

    with pytest.raises(PinMoved):
        await launch_room.accept_tools(ROOT, "files", await looked_at(launch_room), Proposed.ALL)


async def test_what_cannot_be_used_is_not_let_in_and_the_rest_is() -> None:
    room = await a_room(READ, {"name": "odd", "inputSchema": 7})
    pin = await looked_at(room)

    with pytest.raises(ToolRefused, match="input schema"):
        await room.accept_tools(ROOT, "files", pin, {"odd": Effect.PURE})
    with pytest.raises(ToolNotFound):
        await room.accept_tools(ROOT, "files", pin, {"read_file": Effect.PURE, "nope": Effect.PURE})
    before = await effects(room)
    await room.accept_tools(ROOT, "files", pin, Proposed.ALL)

    assert before["read_file"] == (ToolStatus.PENDING, Effect.UNKNOWN)
    assert await effects(room) == {
        "read_file": (ToolStatus.LIVE, Effect.EXTERNAL_READ),
        "odd": (ToolStatus.REFUSED, Effect.UNKNOWN),
    }


async def test_what_is_gone_is_forgotten_when_the_rest_is_accepted_as_a_whole() -> None:
    room = await a_room(READ, WRITE)
    await room.accept_tools(ROOT, "files", await looked_at(room), Proposed.ALL)
    room.upstreams.offers["files"] = seen(READ)
    await room.indexed()

    await room.accept_tools(ROOT, "files", await looked_at(room), {"read_file": Effect.PURE})
    one_by_one = await effects(room)
    with pytest.raises(ToolNotFound):
        await room.accept_tools(ROOT, "files", await looked_at(room), {"write_file": Effect.PURE})
    await room.accept_tools(ROOT, "files", await looked_at(room), Proposed.ALL)

    assert one_by_one["write_file"][0] is ToolStatus.GONE
    assert set(await effects(room)) == {"read_file"}


async def test_words_and_offers_are_accepted_with_the_tools(launch_room: Room) -> None:
    await launch_room.startable()
    launch_room.upstreams.offers["files"] = seen(
        READ, instructions="Read first.", prompts=[{"name": "p"}]
    )

    server = await launch_room.accepted()

    assert server.said == "Read first."
    assert server.accepted_offers == server.offers


async def test_both_acts_are_told_to_whoever_keeps_the_catalogue() -> None:
    for act in ("launch", "tools"):
        room = await a_room(READ)
        server, pin = await room.servers.get(ROOT, "files"), await looked_at(room)

        with room.bus.listen(ROOT.space, CATALOGUE) as ear:
            if act == "launch":
                await room.approve_launch(ROOT, "files", server.launch_pin)
            else:
                await room.accept_tools(ROOT, "files", pin, Proposed.ALL)

            await ear.wait()


OLD = ["ModuleNotFoundError: No module named 'mcp.server.fastmcp'. This is mcp 2.x"]


async def ailing(room: Room, name: str = "db") -> None:
    launch = Stdio("uvx", (Plain("mcp-server-sqlite"),))
    server = await room.add_server(ROOT, ServerRegistration(name=name, launch=launch))
    await room.approve_launch(ROOT, name, server.launch_pin)
    async with room.servers.changing(ROOT, name) as now:
        await room.servers.put(ROOT, replace(now, failure="it ended"))


def examining(room: Room) -> ExamineServers:
    return ExamineServers(servers=room.servers, upstreams=room.upstreams, index=room.index_server)


async def test_one_that_does_not_start_is_told_with_its_mend() -> None:
    for mend in (True, False):
        room = Room()
        await ailing(room)
        room.upstreams.last_words["db"] = OLD

        [found] = [each async for each in examining(room)(ROOT, mend=mend)]

        assert found.server == "db", mend
        assert found.reason, mend
        assert "uvx --with 'mcp<2' mcp-server-sqlite" in (found.fix or ""), mend
        assert room.upstreams.stopped == ["db"], mend


async def test_one_that_starts_again_is_noted_only_when_mended() -> None:
    rows: list[tuple[bool, str | None]] = [(True, None), (False, "it ended")]

    for mend, failure in rows:
        room = Room()
        await ailing(room)
        room.upstreams.offers["db"] = seen(READ)

        found = [each async for each in examining(room)(ROOT, mend=mend)]

        assert found == [Examined(server="db")], mend
        assert (await room.servers.get(ROOT, "db")).failure == failure


async def test_one_that_nobody_lets_start_is_left_alone() -> None:
    room = Room()
    await ailing(room)
    await room.switch_server(ROOT, "db", enabled=False)

    assert [each async for each in examining(room)(ROOT, mend=True)] == []
    assert room.upstreams.looked == []


async def test_whoever_may_not_start_servers_examines_none() -> None:
    with pytest.raises(NotPermitted):
        await examining(Room()).ailing(MEMBER)


async def shown_effects(room: OpenRoom) -> dict[str, Effect]:
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
    assert set((await shown_effects(room)).values()) == {Effect.EXTERNAL_WRITE}


async def test_it_is_said_of_the_definition_and_of_no_other(room: OpenRoom) -> None:
    await room.use.set_effects(ANA, "files.read", Effect.PURE)
    room.replace(replace(a_tool("files.read", "Reads, and more."), accepted_pin=READ_TOOL.pin))

    assert (await shown_effects(room)).keys() == {"sky.forecast"}
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
    room.replace(READ_TOOL, WRITE_TOOL, DELETE, gone)

    with pytest.raises(error):
        await room.use.set_effects(ANA, pattern, Effect.PURE)


async def test_a_refused_tool_has_no_effect(room: OpenRoom) -> None:
    room.replace(
        READ_TOOL, replace(a_tool("files.odd", effect=Effect.PURE), refused="hides letters")
    )

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
    world = InMemoryStore()
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
