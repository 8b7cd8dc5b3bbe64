"""Every gate closes for its own reason, and for no other."""

from dataclasses import replace
from datetime import timedelta

from portico.gateway.core.ahead.attempt import Arrival, Attempt, Use
from portico.gateway.core.ahead.gates import ARRIVAL, GATES, closed
from portico.gateway.core.ahead.predicted import Origin, Source
from portico.gateway.core.ahead.switches import AheadMode
from portico.gateway.core.learnt import ToolPlace
from portico.gateway.core.server import ServerId
from portico.guard.core.act import Denied, NeedsApproval, TaskContext
from portico.guard.core.policy import NO_TASK
from portico.kernel.effect import Effect
from portico.kernel.label import Label, Level
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.gateway.core.ahead.attempts import (
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
        assert [gate.__name__ for gate in GATES if not gate(attempt)] == [name]
        assert closed(attempt, GATES) == name


def test_what_is_as_it_should_be_is_let_through() -> None:
    for attempt in LET_THROUGH:
        assert closed(attempt, GATES) is None


def test_an_answer_is_thrown_away_for_one_reason() -> None:
    for name, arrival in SPOILT_ARRIVALS:
        assert [gate.__name__ for gate in ARRIVAL if not gate(arrival)] == [name]


def test_an_answer_that_is_as_it_should_be_is_kept() -> None:
    assert closed(ARRIVED, ARRIVAL) is None


def test_each_gate_has_something_that_it_alone_keeps_out() -> None:
    kept_out = {name for name, _ in SPOILT}, {name for name, _ in SPOILT_ARRIVALS}

    assert kept_out == ({gate.__name__ for gate in GATES}, {gate.__name__ for gate in ARRIVAL})
