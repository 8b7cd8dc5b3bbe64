"""Throwing the switches of calls made ahead."""

from dataclasses import replace
from typing import Any

import pytest

from portico.gateway.core.errors import ServerNotFound
from portico.gateway.servers import ClearedServers
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Role
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.prefetch.switches import AheadMode, ServerSwitch, Switches
from portico.learning.core.prefetch.terms import AheadTerms
from portico.learning.prefetch.news import TOPIC, AheadNews
from portico.learning.prefetch.show_ahead import ShowAhead
from portico.learning.prefetch.switch_ahead import AheadWish, ServerWish, SwitchAhead
from portico.learning.prefetch.switchboard import AHEAD, Switchboard
from portico.testing.engine import MemoryBus, MemoryEventLog
from portico.testing.gateway import MemoryServers, an_approved_server
from portico.testing.guard import MemoryAudit, MemorySpaceSettings, a_person, a_space
from portico.testing.learning import MemoryLearntCounts
from portico.testing.memory_store import MemoryWorld

ANA = a_person("ana", roles=[Role.OPERATOR])
MEMBER = a_person("max", roles=[Role.MEMBER])
FILES = an_approved_server("files")
SECRET = replace(an_approved_server("vault"), label=Label(Level.CONFIDENTIAL))
OFF, SHADOW, LIVE = AheadMode.OFF, AheadMode.SHADOW, AheadMode.LIVE


class Room:
    def __init__(self) -> None:
        self.world, self.bus, self.audit = MemoryWorld(), MemoryBus(), MemoryAudit()
        self.world.spaces[ANA.space] = a_space()
        for server in (FILES, SECRET):
            self.world.servers[ANA.space, server.id] = server
        self.log = MemoryEventLog(self.world, self.bus)
        settings = MemorySpaceSettings(self.world)
        self.board = Switchboard(settings=settings, bus=self.bus, terms=AheadTerms())
        servers = ClearedServers(MemoryServers(self.world))
        counts = MemoryLearntCounts(self.world)
        self.use = SwitchAhead(
            settings=settings,
            servers=servers,
            audit=self.audit,
            bus=self.bus,
            show=ShowAhead(board=self.board, servers=servers, counts=counts),
            news=AheadNews(log=self.log),
        )

    async def switch(self, caller: Principal, wish: AheadWish) -> Switches:
        return (await self.use(caller, wish)).switches

    async def told(self, caller: Principal = ANA) -> list[Any]:
        page = await self.log.read(caller, TOPIC, after=0, limit=10)
        return [entry.facts for entry in page.entries]


@pytest.fixture
def room() -> Room:
    return Room()


async def test_a_space_is_switched_off_and_on(room: Room) -> None:
    off = await room.switch(ANA, AheadWish(mode=OFF))
    live = await room.switch(ANA, AheadWish(mode=LIVE))

    assert (off.mode, live.mode) == (OFF, LIVE)
    assert await room.told() == [
        {"mode": "off", "learning": True},
        {"mode": "live", "learning": True},
    ]


async def test_one_server_is_switched_and_the_others_are_not(room: Room) -> None:
    await room.switch(ANA, AheadWish(servers={"files": ServerWish(LIVE, external=True)}))
    switches = await room.switch(ANA, AheadWish(servers={"files": ServerWish(SHADOW)}))

    assert switches.own(FILES) == ServerSwitch(SHADOW, external=True)
    assert (switches.mode_of(FILES), switches.mode_of(SECRET)) == (SHADOW, LIVE)
    assert (await room.told())[-1] == {"server": "files", "mode": "shadow", "external": True}


async def test_a_space_that_does_not_want_to_be_learnt_from_is_not(room: Room) -> None:
    switches = await room.switch(ANA, AheadWish(learning=False))

    assert (switches.learning, switches.mode) == (False, LIVE)


async def test_what_is_changed_is_in_the_audit_and_what_is_not_is_not(room: Room) -> None:
    await room.switch(ANA, AheadWish(mode=OFF, servers={"files": ServerWish(OFF)}))
    await room.switch(ANA, AheadWish(mode=OFF, servers={"files": ServerWish(OFF)}))

    assert [(act["action"], act["subject"]) for act in room.audit.acts] == [
        ("ahead.switched", "space"),
        ("ahead.switched", "files"),
    ]
    assert len(await room.told()) == 2


async def test_the_others_are_told_also_where_nothing_changed(room: Room) -> None:
    """Whoever throws it again means that it did not work."""
    await room.switch(ANA, AheadWish(mode=OFF))

    with room.bus.listen(ANA.space, AHEAD) as bell:
        await room.switch(ANA, AheadWish(mode=OFF))

        assert bell.rung


async def test_it_takes_somebody_who_approves_servers(room: Room) -> None:
    with pytest.raises(NotPermitted):
        await room.switch(MEMBER, AheadWish(mode=OFF))

    assert (await room.board.current(ANA)).mode is LIVE


async def test_a_server_that_one_may_not_know_of_is_not_there(room: Room) -> None:
    for name in ("vault", "nowhere"):
        with pytest.raises(ServerNotFound):
            await room.switch(ANA, AheadWish(mode=OFF, servers={name: ServerWish(OFF)}))

    assert (await room.board.current(ANA)).mode is LIVE
    assert room.audit.acts == []


async def test_of_a_server_only_those_are_told_who_may_know_of_it(room: Room) -> None:
    sue = replace(ANA, clearance=Label(Level.CONFIDENTIAL))

    await room.switch(sue, AheadWish(mode=SHADOW, servers={"vault": ServerWish(OFF)}))

    assert await room.told(replace(ANA, clearance=PUBLIC)) == [{"mode": "shadow", "learning": True}]
    assert len(await room.told(sue)) == 2
