"""Whether calls are made ahead: the strictest word counts."""

from itertools import product

import pytest

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


@pytest.mark.parametrize(("installation", "space", "own"), [*product(AheadMode, repeat=3)])
def test_the_strictest_of_all_is_in_force(
    installation: AheadMode, space: AheadMode, own: AheadMode
) -> None:
    order = [OFF, SHADOW, LIVE]
    switches = Switches(
        installation=installation,
        external=frozenset(),
        space=SpaceSwitches(mode=space, servers={FILES.id: ServerSwitch(own)}),
    )

    assert order.index(switches.mode_of(FILES)) == min(map(order.index, (installation, space, own)))
    assert switches.mode is switches.mode_of(SKY) is strictest(installation, space)


@pytest.mark.parametrize(
    ("named", "own", "let"),
    [
        (False, None, False),
        (True, None, True),
        (True, False, False),
        (False, True, True),
        (True, True, True),
        (False, False, False),
    ],
)
def test_what_reads_elsewhere_is_let_by_the_space_or_where_it_says_nothing_by_the_configuration(
    named: bool, own: bool | None, let: bool
) -> None:
    switches = Switches(
        installation=LIVE,
        external=frozenset({"files"} if named else ()),
        space=SpaceSwitches(servers={FILES.id: ServerSwitch(LIVE, external=own)}),
    )

    assert switches.external_for(FILES) is let
    assert not switches.external_for(SKY)


def test_who_has_decided_nothing_learns_and_is_live() -> None:
    switches = Switches(installation=LIVE, external=frozenset(), space=read_switches(None))

    assert (switches.mode, switches.learning) == (LIVE, True)
    assert switches.own(FILES) == ServerSwitch(LIVE, external=None)


@pytest.mark.parametrize("switches", [DECIDED, SpaceSwitches(), SHUT])
def test_what_was_decided_is_read_as_it_was_written(switches: SpaceSwitches) -> None:
    assert read_switches(switches_json(switches)) == switches


@pytest.mark.parametrize(
    "found",
    [
        {},
        [],
        "live",
        {"mode": "live", "learning": True},
        {"mode": "LIVE", "learning": True, "servers": {}},
        {"mode": "live", "learning": True, "servers": []},
        {"mode": "live", "learning": True, "servers": {"files": {"mode": "off", "external": True}}},
        {"mode": "live", "learning": True, "servers": {str(FILES.id): {"mode": "off"}}},
        {"mode": "live", "learning": True, "servers": {str(FILES.id): "off"}},
    ],
)
def test_what_cannot_be_read_lets_nothing_happen(found: JsonValue) -> None:
    assert read_switches(found) == SHUT


@pytest.mark.parametrize("word", ["true", 1, None, "on"])
def test_only_a_yes_is_a_yes(word: JsonValue) -> None:
    its: JsonValue = {"mode": "live", "external": word}
    found = read_switches({"mode": "live", "learning": word, "servers": {str(FILES.id): its}})

    assert not found.learning
    assert not found.servers[FILES.id].external
