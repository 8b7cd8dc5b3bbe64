"""Paces, changes under way, effort, and the mark of an answer that was read ahead of time."""

from dataclasses import replace
from datetime import timedelta

from portico.gateway.core.ahead.effort_share import EffortShare
from portico.gateway.core.ahead.forms import EdgeKey, form_of
from portico.gateway.core.ahead.mark import AHEAD, age_ms, is_marked, marked, unmarked
from portico.gateway.core.ahead.paces import Paces
from portico.gateway.core.ahead.predicted import Origin, Predicted, Source
from portico.gateway.core.ahead.unsettled import Unsettled
from portico.gateway.core.ahead.wanted import Wanted
from portico.gateway.core.call import Answer
from portico.gateway.core.learnt import ToolPlace
from portico.gateway.core.server import ServerId
from portico.gateway.core.tool import ToolRef
from portico.kernel.effect import Effect
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.gateway.core.ahead.attempts import AIM, ANA, GOOD

TOOL = ToolPlace(ServerId.mint(BEGINNING, SeededEntropy()), "read")
READ = GOOD.act
WRITE = replace(READ, aim=replace(AIM, effect=Effect.LOCAL_WRITE))


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


def test_where_something_is_changed_nothing_is_settled_until_it_is_known_what_became_of_it() -> (
    None
):
    unsettled = Unsettled()
    by_bob = replace(READ, caller=a_person("bob"))
    beside = replace(by_bob, aim=replace(AIM, server="git"))
    away = replace(by_bob, aim=replace(AIM, server="search", here=False))
    unsettled.begin(WRITE)
    unsettled.begin(WRITE)

    assert unsettled.touches(READ, 0.0)
    assert unsettled.touches(replace(READ, aim=replace(AIM, server="git")), 0.0)
    assert unsettled.touches(by_bob, 0.0)
    assert unsettled.touches(beside, 0.0)
    assert not unsettled.touches(away, 0.0)

    unsettled.end(WRITE, 1.0, known=True)
    assert unsettled.touches(READ, 1.0)
    unsettled.end(WRITE, 1.0, known=True)
    assert not unsettled.touches(READ, 1.0)


def test_what_nobody_knows_the_end_of_rests_for_a_while() -> None:
    unsettled = Unsettled()
    unsettled.begin(WRITE)
    unsettled.end(WRITE, 1.0, known=False)

    unsettled.sweep(60.0)
    assert unsettled.touches(READ, 60.0)
    assert not unsettled.touches(READ, 61.0)
    unsettled.sweep(61.0)

    assert unsettled == Unsettled()


def test_effort_is_a_share_of_the_time_with_a_little_saved_up() -> None:
    effort = EffortShare(share=0.1, left=0.05, most=0.25)
    assert effort.may(100.0)
    effort.spent(0.06)

    assert not effort.may(100.05)
    assert effort.may(100.2)
    assert effort.may(1_000.0)
    assert effort.left == 0.25


def test_an_answer_is_marked_and_a_mark_that_is_not_ours_is_taken_off() -> None:
    answer = Answer([], meta={"theirs": 1})

    told = marked(answer, timedelta(seconds=1.2))

    assert told.meta == {"theirs": 1, AHEAD: {"age_ms": 1200}}
    assert is_marked(told)
    assert age_ms(told) == 1200
    assert age_ms(answer) is None
    assert unmarked(told) == answer
    assert unmarked(answer) is answer
    assert unmarked(marked(Answer([]), timedelta())) == Answer([])


def test_what_is_foretold_is_wanted_from_the_tool_as_it_was_then() -> None:
    form = form_of(TOOL, {"path": "a"})
    edge = EdgeKey(None, TOOL, False, form, 5)
    sources = {"path": {Source(Origin.WORDS)}}
    predicted = Predicted(form, {"path": "a"}, 0.7, edge, True, sources)

    wanted = Wanted.of(predicted, ToolRef("files", "read"), "p1")

    assert (wanted.pin, wanted.arguments, wanted.proven) == ("p1", {"path": "a"}, True)
    assert (wanted.edge, wanted.sources) == (edge, sources)
