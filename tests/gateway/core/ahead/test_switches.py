"""Whether calls are made ahead: the strictest word counts."""

from itertools import product

from portico.gateway.core.ahead.switches import (
    SHUT,
    AheadMode,
    ServerSwitch,
    SpaceSwitches,
    Switches,
    read_switches,
    strictest,
    switches_json,
)
from portico.kernel.json import JsonValue
from portico.testing.gateway import a_server

FILES, SKY = a_server("files"), a_server("sky")
OFF, SHADOW, LIVE = AheadMode.OFF, AheadMode.SHADOW, AheadMode.LIVE
DECIDED = SpaceSwitches(
    mode=SHADOW,
    learning=False,
    servers={FILES.id: ServerSwitch(OFF, external=True), SKY.id: ServerSwitch(LIVE)},
)


def test_the_strictest_of_all_is_in_force() -> None:
    order = [OFF, SHADOW, LIVE]

    for installation, space, own in product(order, order, order):
        switches = Switches(
            installation=installation,
            external=frozenset(),
            space=SpaceSwitches(mode=space, servers={FILES.id: ServerSwitch(own)}),
        )

        assert order.index(switches.mode_of(FILES)) == min(
            map(order.index, (installation, space, own))
        )
        assert switches.mode is switches.mode_of(SKY) is strictest(installation, space)


def test_what_reads_elsewhere_is_let_by_the_space_or_else_by_the_configuration() -> None:
    rows: list[tuple[bool, bool | None, bool]] = [
        (False, None, False),
        (True, None, True),
        (True, False, False),
        (False, True, True),
        (True, True, True),
        (False, False, False),
    ]

    for named, own, let in rows:
        switches = Switches(
            installation=LIVE,
            external=frozenset({"files"} if named else ()),
            space=SpaceSwitches(servers={FILES.id: ServerSwitch(LIVE, external=own)}),
        )

        assert switches.external_for(FILES) is let
        assert not switches.external_for(SKY), named


def test_who_has_decided_nothing_learns_and_is_live() -> None:
    switches = Switches(installation=LIVE, external=frozenset(), space=read_switches(None))

    assert (switches.mode, switches.learning) == (LIVE, True)
    assert switches.own(FILES) == ServerSwitch(LIVE, external=None)


def test_what_was_decided_is_read_as_it_was_written() -> None:
    rows: list[SpaceSwitches] = [DECIDED, SpaceSwitches(), SHUT]

    for switches in rows:
        assert read_switches(switches_json(switches)) == switches


def test_what_cannot_be_read_lets_nothing_happen() -> None:
    rows: list[JsonValue] = [
        {},
        [],
        "live",
        {"mode": "live", "learning": True},
        {"mode": "LIVE", "learning": True, "servers": {}},
        {"mode": "live", "learning": True, "servers": []},
        {"mode": "live", "learning": True, "servers": {"files": {"mode": "off", "external": True}}},
        {"mode": "live", "learning": True, "servers": {str(FILES.id): {"mode": "off"}}},
        {"mode": "live", "learning": True, "servers": {str(FILES.id): "off"}},
    ]

    for found in rows:
        assert read_switches(found) == SHUT


def test_only_a_yes_is_a_yes() -> None:
    rows: list[JsonValue] = ["true", 1, None, "on"]

    for word in rows:
        its: JsonValue = {"mode": "live", "external": word}
        found = read_switches({"mode": "live", "learning": word, "servers": {str(FILES.id): its}})

        assert not found.learning, word
        assert not found.servers[FILES.id].external, word
