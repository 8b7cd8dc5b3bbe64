"""Every gate closes for its own reason, and for no other."""

from dataclasses import replace
from datetime import timedelta
from itertools import product

from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.guard.core.access_request import Denied, NeedsApproval, TaskContext
from portico.guard.core.policy import NO_TASK
from portico.kernel.effect import Effect
from portico.kernel.json import JsonValue
from portico.kernel.label import Label, Level
from portico.learning.core.prefetch.attempt import Arrival, Attempt, Use
from portico.learning.core.prefetch.gates import ARRIVAL, GATES, closed
from portico.learning.core.prefetch.predicted import Origin, Source
from portico.learning.core.prefetch.switches import (
    SHUT,
    AheadMode,
    ServerSwitch,
    SpaceSwitches,
    Switches,
    read_switches,
    strictest,
    switches_json,
)
from portico.testing.gateway import a_server
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.learning.core.prefetch.attempts import (
    AIM,
    ARRIVED,
    GOOD,
    WANTED,
    WORDS,
    aimed,
    taken_from,
)

SERVER = ServerId.mint(BEGINNING, SeededEntropy())
RESULT = Source(Origin.RESULT, ToolPlace(SERVER, "list"))
ARGUMENT = Source(Origin.ARGUMENT, ToolPlace(SERVER, "list"))
TEAM = TaskContext(id=NO_TASK, label=Label(Level.TEAM))
TAINTED = TaskContext(id=NO_TASK, untrusted=True)

SPOILT: list[tuple[str, Attempt]] = [
    ("switched_on", replace(GOOD, mode=AheadMode.OFF)),
    ("switched_on", replace(GOOD, mode=AheadMode.SHADOW)),
    ("in_good_standing", replace(GOOD, stands=False)),
    ("still_approved", aimed(live=False)),
    ("pinned_as_foretold", aimed(pin="p2")),
    ("only_reads", replace(aimed(effect=Effect.LOCAL_WRITE), external=True)),
    ("only_reads", replace(aimed(effect=Effect.UNKNOWN), external=True)),
    ("no_workflow", replace(GOOD, workflows=True)),
    ("stays_here", aimed(effect=Effect.EXTERNAL_READ)),
    ("stays_here", aimed(outside=True)),
    ("stays_here", aimed(effect=Effect.PURE, outside=True)),
    ("stays_here", taken_from({"path": {WORDS}}, task=TEAM)),
    ("stays_here", taken_from({"path": {WORDS, RESULT}})),
    ("stays_here", taken_from({"path": {Source(Origin.RESULT)}}, trusted={SERVER})),
    ("stays_here", taken_from({"path": {ARGUMENT}}, task=TAINTED)),
    ("stays_here", taken_from({"path": {WORDS}}, task=TAINTED)),
    ("complete", replace(GOOD, wanted=replace(WANTED, sources={}))),
    ("complete", replace(GOOD, wanted=replace(WANTED, sources={"path": set()}))),
    ("complete", replace(GOOD, wanted=replace(WANTED, sources={"path": {WORDS}, "x": {WORDS}}))),
    ("fits_its_schema", replace(GOOD, flaws=1)),
    ("proven", replace(GOOD, wanted=replace(WANTED, proven=False))),
    ("worth_it", replace(GOOD, usual=None)),
    ("worth_it", replace(GOOD, usual=timedelta(milliseconds=49))),
    ("allowed", replace(GOOD, decision=NeedsApproval("r", "ask"))),
    ("allowed", replace(GOOD, decision=Denied("r", "no"))),
    ("settled", replace(GOOD, settled=False)),
    ("awake", replace(GOOD, awake=False)),
    ("not_in_the_way", replace(GOOD, busy=1)),
    ("not_in_the_way", replace(GOOD, use=Use(at_server=1))),
    ("not_in_the_way", replace(GOOD, alone=False, busy=4)),
    ("few_at_once", replace(GOOD, use=Use(at_once=4))),
    ("few_of_one", replace(GOOD, use=Use(own_at_once=2))),
    ("few_a_minute", replace(GOOD, use=Use(last_minute=60))),
    ("affordable", replace(GOOD, use=Use(spent=0.08), price=0.03)),
]

LET_THROUGH = [
    GOOD,
    aimed(effect=Effect.PURE),
    taken_from({"path": {WORDS}}),
    taken_from({"path": {Source(Origin.CONSTANT), WORDS}}),
    taken_from({"path": {RESULT}}, trusted={SERVER}),
    taken_from({"path": {ARGUMENT}}),
    replace(aimed(outside=True), external=True),
    replace(GOOD, alone=False, busy=3),
    replace(GOOD, use=Use(3, 1, 0, 59, 0.05), price=0.05),
    replace(GOOD, task=TEAM),
]

SPOILT_ARRIVALS: list[tuple[str, Arrival]] = [
    ("same_aim", replace(ARRIVED, aim=None)),
    ("same_aim", replace(ARRIVED, aim=replace(AIM, pin="p2"))),
    ("same_aim", replace(ARRIVED, aim=replace(AIM, label=Label(Level.TEAM)))),
    ("still_on", replace(ARRIVED, on=False)),
    ("not_overtaken", replace(ARRIVED, overtaken=True)),
    ("succeeded", replace(ARRIVED, failed=True)),
    ("asked_nothing", replace(ARRIVED, asked=True)),
    ("orders_nothing", replace(ARRIVED, orders=True)),
    ("small_enough", replace(ARRIVED, size=11)),
]


def test_one_gate_closes_and_no_other_does() -> None:
    for name, attempt in SPOILT:
        assert [gate.name for gate in GATES if not gate.is_open(attempt)] == [name]
        assert closed(attempt, GATES) == name


def test_what_is_as_it_should_be_is_let_through() -> None:
    for attempt in LET_THROUGH:
        assert closed(attempt, GATES) is None


def test_an_answer_is_thrown_away_for_one_reason() -> None:
    for name, arrival in SPOILT_ARRIVALS:
        assert [gate.name for gate in ARRIVAL if not gate.is_open(arrival)] == [name]


def test_an_answer_that_is_as_it_should_be_is_kept() -> None:
    assert closed(ARRIVED, ARRIVAL) is None


def test_each_gate_has_something_that_it_alone_keeps_out() -> None:
    kept_out = {name for name, _ in SPOILT}, {name for name, _ in SPOILT_ARRIVALS}

    assert kept_out == ({gate.name for gate in GATES}, {gate.name for gate in ARRIVAL})


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
