"""What servers may reach is looked at and said, by those who may."""

import asyncio
import logging
from dataclasses import replace

import pytest

from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.calls import UpstreamTarget
from portico.gateway.core.errors import NotStartedHere, UnboxedRefused
from portico.gateway.core.servers import ConfinementMode, Http, Plain, Stdio
from portico.gateway.servers import ServerRegistration
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Role, Scope
from portico.sandbox.core.errors import InvalidProfile
from portico.sandbox.core.profile import Network, NetworkEndpoint, Profile
from portico.testing.guard import a_person
from tests.gateway.server_room import ROOT, VIEWER, Room

MAIL = Stdio("npx", (Plain("-y"), Plain("mail"), Plain("/srv/mail"), Plain("127.0.0.1:8025")))
PUBLIC = Profile(
    write=("/srv/mail",), network=Network.PUBLIC, reach=(NetworkEndpoint("127.0.0.1", 8025),)
)
NARROW = Profile(write=("/srv/mail/in",))
WRITER = a_person("wim", roles=[Role.VIEWER], grants=[Scope.SERVERS_WRITE])


async def a_room(**walls: bool | tuple[str, ...]) -> Room:
    room = Room()
    for name, value in walls.items():
        setattr(room.walls, name, value)
    await room.add_server(ROOT, ServerRegistration(name="mail", launch=MAIL))
    return room


@pytest.fixture
async def room() -> Room:
    return await a_room()


async def test_what_a_server_may_reach_follows_from_its_launch(room: Room) -> None:
    look = await room.show_profile(VIEWER, "mail")

    assert look.held.confinement.mode is ConfinementMode.BOXED
    assert look.held.confinement.profile == look.default == PUBLIC
    assert not look.held.confinement.stated
    assert look.held.said == "network: public, 127.0.0.1:8025 · writes /srv/mail · own home"
    assert look.proposed == Profile(
        write=("/srv/mail",),
        reach=(NetworkEndpoint("mail.example", 443), NetworkEndpoint("127.0.0.1", 8025)),
    )


async def test_a_profile_is_set_and_the_server_starts_anew_with_it(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.WARNING, "portico.sandbox"),
        room.bus.listen(ROOT.space, CATALOGUE) as ear,
    ):
        look = await room.set_profile(ROOT, "mail", NARROW)
        await asyncio.wait_for(ear.wait(), 30)

    assert (await room.servers.get(ROOT, "mail")).profile == NARROW
    assert look.held.confinement.stated
    assert look.held.said == "network: none · writes /srv/mail/in · own home"
    assert room.upstreams.stopped == ["mail"]
    assert "root" in caplog.text
    assert "from the default to" in caplog.text
    assert '"write":["/srv/mail/in"]' in caplog.text


async def test_a_profile_is_taken_back(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    await room.set_profile(ROOT, "mail", NARROW)

    with caplog.at_level(logging.WARNING, "portico.sandbox"):
        look = await room.set_profile(ROOT, "mail", None)

    assert look.held.confinement.profile == PUBLIC
    assert (await room.servers.get(ROOT, "mail")).profile is None
    assert "to the default" in caplog.text


async def test_whoever_may_not_approve_may_narrow_and_not_widen(room: Room) -> None:
    with pytest.raises(NotPermitted):
        await room.set_profile(VIEWER, "mail", NARROW)

    await room.set_profile(WRITER, "mail", NARROW)

    for wider in (Profile(write=("/srv",)), replace(NARROW, network=Network.PUBLIC), None):
        with pytest.raises(NotPermitted):
            await room.set_profile(WRITER, "mail", wider)
    assert (await room.servers.get(ROOT, "mail")).profile == NARROW


async def test_a_path_that_is_a_link_counts_as_what_it_leads_to(room: Room) -> None:
    await room.set_profile(ROOT, "mail", NARROW)
    room.walls.links["/srv/mail/in/link"] = "/srv"

    with pytest.raises(NotPermitted):
        await room.set_profile(WRITER, "mail", Profile(write=("/srv/mail/in/link",)))
    kept = (await room.servers.get(ROOT, "mail")).profile
    await room.set_profile(ROOT, "mail", Profile(write=("/srv/mail/in/link",)))

    assert kept == NARROW
    assert (await room.servers.get(ROOT, "mail")).profile == Profile(write=("/srv",))


async def test_a_default_that_is_a_link_is_what_it_leads_to(room: Room) -> None:
    room.walls.links["/srv/mail"] = "/mnt/mail"

    await room.set_profile(WRITER, "mail", Profile(write=("/mnt/mail",)))

    assert (await room.servers.get(ROOT, "mail")).profile == Profile(write=("/mnt/mail",))


async def test_a_path_that_nobody_could_be_given_is_refused(room: Room) -> None:
    room.walls.refused.add("/nowhere")

    with pytest.raises(InvalidProfile, match="/nowhere"):
        await room.set_profile(ROOT, "mail", Profile(read=("/nowhere",)))

    assert (await room.servers.get(ROOT, "mail")).profile is None


async def test_what_runs_elsewhere_has_no_profile() -> None:
    room = Room()
    await room.add_server(
        ROOT, ServerRegistration(name="far", launch=Http("https://far.example/mcp"))
    )

    with pytest.raises(NotStartedHere):
        await room.show_profile(ROOT, "far")
    with pytest.raises(NotStartedHere):
        await room.set_profile(ROOT, "far", NARROW)
    [look] = await room.list_servers(ROOT)
    assert look.held.said == "runs elsewhere"


async def test_lists_and_reviews_say_what_each_may_reach(room: Room) -> None:
    await room.set_profile(ROOT, "mail", NARROW)

    [listed] = await room.list_servers(VIEWER)
    shown = await room.show_server(VIEWER, "mail")
    [review] = await room.review(ROOT, "mail")

    said = "network: none · writes /srv/mail/in · own home"
    assert {listed.held.said, shown.held.said, review.held.said} == {said}


async def test_whoever_the_configuration_lets_out_is_not_boxed() -> None:
    pin = (await (await a_room()).show_server(VIEWER, "mail")).server.launch_pin
    room = await a_room(named=(f"mail:{pin[:12]}",))

    [look] = await room.list_servers(VIEWER)

    assert look.held.said.startswith("NOT BOXED")


async def test_where_there_is_no_box_it_starts_with_consent_for_exactly_this_launch(
    caplog: pytest.LogCaptureFixture,
) -> None:
    room = await a_room(holds=False)
    before = await room.show_profile(ROOT, "mail")

    with caplog.at_level(logging.WARNING, "portico.sandbox"):
        server = await room.approve_launch(ROOT, "mail", before.server.launch_pin, unboxed=True)

    after = await room.show_profile(ROOT, "mail")
    assert before.held.confinement.mode is ConfinementMode.REFUSED
    assert after.held.confinement.mode is ConfinementMode.UNBOXED
    assert server.unsandboxed is not None
    assert (server.unsandboxed.by, server.unsandboxed.launch_pin) == ("root", server.launch_pin)
    assert "npx -y mail /srv/mail" in caplog.text

    moved = replace(server, launch_pin="another")
    await room.servers.put(ROOT, moved)
    [look] = await room.list_servers(ROOT)
    assert look.held.confinement.mode is ConfinementMode.REFUSED


async def test_an_approval_without_consent_takes_it_back() -> None:
    room = await a_room(holds=False)
    pin = (await room.servers.get(ROOT, "mail")).launch_pin
    await room.approve_launch(ROOT, "mail", pin, unboxed=True)

    server = await room.approve_launch(ROOT, "mail", pin)

    assert server.unsandboxed is None


async def test_where_there_is_a_box_nobody_agrees_to_do_without_nor_elsewhere(room: Room) -> None:
    pin = (await room.servers.get(ROOT, "mail")).launch_pin
    launch = Http("https://far.example/mcp")
    far = await room.add_server(ROOT, ServerRegistration(name="far", launch=launch))

    with pytest.raises(UnboxedRefused, match="box"):
        await room.approve_launch(ROOT, "mail", pin, unboxed=True)
    room.walls.holds = False
    with pytest.raises(NotStartedHere):
        await room.approve_launch(ROOT, "far", far.launch_pin, unboxed=True)
    with pytest.raises(NotPermitted):
        await room.approve_launch(WRITER, "mail", pin, unboxed=True)

    assert (await room.servers.get(ROOT, "mail")).approved_launch_pin is None


async def test_a_target_is_another_once_its_profile_or_its_consent_is(room: Room) -> None:
    server = await room.servers.get(ROOT, "mail")
    target = UpstreamTarget.of(ROOT.space, server)

    assert target.same_as(UpstreamTarget.of(ROOT.space, replace(server, protocol_revision=None)))
    assert not target.same_as(UpstreamTarget.of(ROOT.space, replace(server, profile=NARROW)))
    assert not target.same_as(UpstreamTarget.of(ROOT.space, replace(server, launch_pin="p")))
    assert target.id == server.id
