"""Gates that a prefetch must pass: budget, staleness, switches, terms."""

from dataclasses import replace
from datetime import timedelta
from itertools import product

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.reserved_metadata import AHEAD, age_ms, is_marked, marked, unmarked
from portico.gateway.core.servers import ServerId
from portico.guard.core.access_request import Denied, NeedsApproval, TaintContext
from portico.guard.core.policy import NO_TASK
from portico.kernel.effect import Effect
from portico.kernel.json import JsonValue
from portico.kernel.label import Label, Level
from portico.learning.core.observed_calls import (
    EdgeKey,
    Origin,
    Predicted,
    ReadRequest,
    Source,
    form_of,
)
from portico.learning.core.prefetch_cache import EffortShare, FairEffort, Paces, place_of
from portico.learning.core.prefetch_gates import (
    ARRIVAL,
    GATES,
    SHUT,
    Arrival,
    Attempt,
    Budget,
    PrefetchLimits,
    PrefetchMode,
    ServerSwitch,
    SpaceSwitches,
    Switches,
    Unsettled,
    Use,
    closed,
    read_switches,
    strictest,
    switches_json,
)
from portico.testing.gateway import a_server
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.learning.core.prefetch.attempts import (
    AIM,
    ANA,
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
TEAM = TaintContext(id=NO_TASK, label=Label(Level.TEAM))
TAINTED = TaintContext(id=NO_TASK, untrusted=True)

SPOILT: list[tuple[str, Attempt]] = [
    ("switched_on", replace(GOOD, mode=PrefetchMode.OFF)),
    ("switched_on", replace(GOOD, mode=PrefetchMode.SHADOW)),
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
    ("fits_its_schema", replace(GOOD, field_errors=1)),
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
    ("same_aim", replace(ARRIVED, target=None)),
    ("same_aim", replace(ARRIVED, target=replace(AIM, pin="p2"))),
    ("same_aim", replace(ARRIVED, target=replace(AIM, label=Label(Level.TEAM)))),
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
OFF, SHADOW, LIVE = PrefetchMode.OFF, PrefetchMode.SHADOW, PrefetchMode.LIVE
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


ANAS, BOBS = place_of(a_person("ana")), place_of(a_person("bob"))


def test_what_is_under_way_counts_until_it_ends() -> None:
    budget = Budget()
    first = budget.start(ANAS, "files", 0.0, 0.0)
    budget.start(BOBS, "files", 0.0, 0.0)
    budget.start(ANAS, "git", 0.0, 0.0)

    assert budget.use(ANAS, "files", 1.0) == Use(3, 2, 2, 2, 0.0)
    budget.end(first)
    budget.end(first)

    assert budget.use(ANAS, "files", 1.0) == Use(2, 1, 1, 2, 0.0)
    assert budget.use(BOBS, "git", 1.0) == Use(2, 1, 1, 1, 0.0)


def test_a_minute_later_it_counts_no_more_and_what_it_cost_for_an_hour() -> None:
    budget = Budget()
    budget.end(budget.start(ANAS, "files", 0.02, 0.0))
    budget.end(budget.start(ANAS, "files", 0.03, 30.0))

    assert budget.use(ANAS, "files", 59.0).last_minute == 2
    assert budget.use(ANAS, "files", 60.0) == Use(0, 0, 0, 1, 0.05)
    budget.end(budget.start(ANAS, "files", 0.01, 3_601.0))

    assert budget.use(ANAS, "files", 3_601.0) == Use(0, 0, 0, 1, 0.04)
    assert budget.use(BOBS, "files", 3_601.0).spent == 0.0


def test_however_many_there_are_only_so_many_are_remembered() -> None:
    budget = Budget()
    for number in range(1_100):
        budget.end(budget.start(place_of(a_person(f"p{number}")), "files", 0.01, 0.0))

    assert budget.remembered == 2_000


def test_a_call_costs_what_the_dearest_wildcard_says() -> None:
    rows: list[tuple[str, float]] = [
        ("search.web", 0.02),
        ("search.news", 0.01),
        ("files.read", 0),
        ("search", 0),
    ]

    for tool, price in rows:
        terms = PrefetchLimits(prices={"search.*": 0.01, "*.web": 0.02, "search.web": 0.005})

        assert terms.price_of(tool) == price


def worked(effort: FairEffort, who: str, *, each: float, calls: int, now: float = 0.0) -> int:
    """At one moment, as much as is let."""
    done = 0
    for _ in range(calls):
        if effort.may(who, now):
            effort.spent(who, each)
            done += 1
    return done


def test_whoever_is_alone_may_use_most_of_it_and_all_together_no_more_than_all() -> None:
    effort = FairEffort()
    everybody = [f"p{number}" for number in range(50)]
    for who in everybody:
        worked(effort, who, each=0.01, calls=100)

    alone = together = 0
    for second in range(1, 101):
        alone += worked(effort, "p1", each=0.01, calls=9, now=float(second))
    for second in range(101, 201):
        for who in everybody:
            together += worked(effort, who, each=0.01, calls=9, now=float(second))

    assert 190 <= alone <= 230  # hundredths of a second, of three seconds
    assert 280 <= together <= 330


def test_who_costs_too_much_is_left_out_and_nobody_else() -> None:
    effort, ana, ben = FairEffort(), 0, 0
    for second in range(100):
        ana += worked(effort, "ana", each=0.35, calls=1, now=float(second))
        ben += worked(effort, "ben", each=0.004, calls=1, now=float(second) + 0.5)

    assert ana <= 8
    assert ben == 100


def test_only_the_latest_effort_is_remembered() -> None:
    effort = FairEffort(share=0.0)
    worked(effort, "ana", each=1.0, calls=1)
    assert not effort.may("ana", 0.0)

    for number in range(1_000):
        effort.may(number, 0.0)

    assert effort.may("ana", 0.0)


TOOL = ToolPlace(ServerId.mint(BEGINNING, SeededEntropy()), "read")
READ = GOOD.access_request
WRITE = replace(READ, target=replace(AIM, effect=Effect.LOCAL_WRITE))


def ms(number: int) -> timedelta:
    return timedelta(milliseconds=number)


def test_how_long_a_tool_takes_is_not_known_at_first() -> None:
    paces = Paces()
    paces.note(ANA.space, TOOL, ms(10))
    paces.note(ANA.space, TOOL, ms(900))

    assert paces.usual(ANA.space, TOOL) is None
    paces.note(ANA.space, TOOL, ms(80))

    assert paces.usual(ANA.space, TOOL) == ms(80)


def test_only_the_latest_paces_of_the_latest_tools_are_remembered() -> None:
    paces = Paces()
    for took in [*[ms(1)] * 40, *[ms(200)] * 17]:
        paces.note(ANA.space, TOOL, took)

    assert paces.usual(ANA.space, TOOL) == ms(200)
    for number in range(5_000):
        paces.note(ANA.space, replace(TOOL, tool=str(number)), ms(1))

    assert paces.usual(ANA.space, TOOL) is None


def test_what_is_being_changed_is_not_settled_until_its_end_is_known() -> None:
    unsettled = Unsettled()
    by_bob = replace(READ, caller=a_person("bob"))
    beside = replace(by_bob, target=replace(AIM, server="git"))
    away = replace(by_bob, target=replace(AIM, server="search", here=False))
    unsettled.start(WRITE)
    unsettled.start(WRITE)

    assert unsettled.touches(READ, 0.0)
    assert unsettled.touches(replace(READ, target=replace(AIM, server="git")), 0.0)
    assert unsettled.touches(by_bob, 0.0)
    assert unsettled.touches(beside, 0.0)
    assert not unsettled.touches(away, 0.0)

    unsettled.end(WRITE, 1.0, known=True)
    assert unsettled.touches(READ, 1.0)
    unsettled.end(WRITE, 1.0, known=True)
    assert not unsettled.touches(READ, 1.0)


def test_what_nobody_knows_the_end_of_rests_for_a_while() -> None:
    unsettled = Unsettled()
    unsettled.start(WRITE)
    unsettled.end(WRITE, 1.0, known=False)

    unsettled.sweep(60.0)
    assert unsettled.touches(READ, 60.0)
    assert not unsettled.touches(READ, 61.0)
    unsettled.sweep(61.0)

    assert unsettled == Unsettled()


def test_effort_is_a_share_of_the_time_with_a_little_saved_up() -> None:
    effort = EffortShare(share=0.1, left=0.05, max_saved=0.25)
    assert effort.may(100.0)
    effort.spent(0.06)

    assert not effort.may(100.05)
    assert effort.may(100.2)
    assert effort.may(1_000.0)
    assert effort.left == 0.25


def test_an_answer_is_marked_and_a_mark_that_is_not_ours_is_taken_off() -> None:
    answer = ToolResult([], meta={"theirs": 1})

    told = marked(answer, timedelta(seconds=1.2))

    assert told.meta == {"theirs": 1, AHEAD: {"age_ms": 1200}}
    assert is_marked(told)
    assert age_ms(told) == 1200
    assert age_ms(answer) is None
    assert unmarked(told) == answer
    assert unmarked(answer) is answer
    assert unmarked(marked(ToolResult([]), timedelta())) == ToolResult([])


def test_what_is_foretold_is_wanted_from_the_tool_as_it_was_then() -> None:
    form = form_of(TOOL, {"path": "a"})
    edge = EdgeKey(None, TOOL, False, form, 5)
    sources = {"path": {Source(Origin.WORDS)}}
    predicted = Predicted(form, {"path": "a"}, 0.7, edge, True, sources)

    wanted = ReadRequest.of(predicted, ToolRef("files", "read"), "p1")

    assert (wanted.pin, wanted.arguments, wanted.proven) == ("p1", {"path": "a"}, True)
    assert (wanted.edge, wanted.sources) == (edge, sources)
