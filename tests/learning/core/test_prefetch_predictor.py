"""Predict the next read: transitions, course, trust, calibration."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import pytest

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC
from portico.learning.core.observation import FOLLOWS, MADE, RECORD, Increment, LabelModel
from portico.learning.core.observed_calls import ObservedCall, Origin, Predicted, Source
from portico.learning.core.prefetch_cache import TrustInAll
from portico.learning.core.prefetch_predictor import (
    ENOUGH,
    LATEST,
    LEAST_TRIED,
    SURE,
    ContextHistory,
    Evidence,
    Trust,
    calibrated,
    record_of,
)
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.gateway.open_room import ANA, VIEWER
from tests.learning.core.prefetch.tasks import (
    LIST,
    OTHER,
    QUERY,
    READ,
    WRITE,
    call,
    later,
    text,
    values,
)

Done = tuple[ToolPlace, JsonObject, ToolResult]


def listed(number: int) -> ToolResult:
    return text(f"[FILE] a{number}.txt\n[FILE] b{number}.md")


def work(number: int) -> Sequence[Done]:
    folder = f"/home/{number}"
    return [
        (LIST, {"path": folder}, listed(number)),
        (READ, {"path": f"{folder}/a{number}.txt"}, text("some words")),
    ]


def through(
    layer: LabelModel, done: Sequence[Done], *, words: str = "", at: datetime = BEGINNING
) -> list[Increment]:
    course, noted = ContextHistory(), list[Increment]()
    course.told(words)
    course.ahead([layer], everything)
    for tool, arguments, answer in done:
        noted += course.saw(call(tool, arguments, answer, at=at, reads=tool != WRITE), layer)
        course.ahead([layer], everything)
    return [*noted, *course.end(layer)]


def everything(_: ToolPlace) -> bool:
    return True


def taught(times: int = 40) -> LabelModel:
    layer = LabelModel(PUBLIC)
    for number in range(times):
        through(layer, work(number))
    return layer


def after(layer: LabelModel, *calls: ObservedCall, words: str = "") -> Sequence[Predicted]:
    course = ContextHistory()
    course.told(words)
    for each in calls:
        course.saw(each, LabelModel(PUBLIC))
    return course.ahead([layer], everything)


def foreseeing(layer: LabelModel) -> ContextHistory:
    """It has listed a folder, and what is usually read of it was foretold."""
    course = ContextHistory()
    course.saw(call(LIST, {"path": "/home/x"}, listed(7)), layer)
    course.ahead([layer], everything)
    return course


def test_what_was_done_often_is_foretold_with_its_arguments() -> None:
    (foretold,) = after(taught(), call(LIST, {"path": "/home/x"}, listed(7)))

    assert foretold.form.tool == READ
    assert foretold.arguments == {"path": "/home/x/a7.txt"}
    assert foretold.live
    assert foretold.confidence > SURE
    assert foretold.sources == {"path": {Source(Origin.RESULT, LIST)}}


def test_nothing_is_foretold_of_what_nobody_did() -> None:
    assert after(LabelModel(PUBLIC), call(LIST, {"path": "/home/x"}, listed(7))) == []
    assert after(taught(), call(QUERY, {"path": "/home/x"}, listed(7))) == []
    assert after(taught(), call(LIST, {"path": "/home/x"}, text(""))) == []


def test_nor_before_anything_was_said_or_called() -> None:
    assert ContextHistory().ahead([taught()], everything) == []


def test_nor_of_tools_that_nobody_asked_about() -> None:
    course = ContextHistory()
    course.saw(call(LIST, {"path": "/home/x"}, listed(7)), LabelModel(PUBLIC))

    assert course.ahead([taught()], lambda place: place != READ) == []


def test_an_edge_predicts_in_shadow_before_it_is_live() -> None:
    few = taught(LEAST_TRIED // 2)

    (foretold,) = after(few, call(LIST, {"path": "/home/x"}, listed(7)))

    assert not foretold.live
    assert 0 < record_of([few], foretold.edge).tried < LEAST_TRIED


def test_an_edge_that_is_wrong_falls_back_into_shadow() -> None:
    layer = taught()
    for number in range(60):
        through(layer, [*work(number)[:1], (QUERY, {"q": True}, text(""))])

    foretold = after(layer, call(LIST, {"path": "/home/x"}, listed(7)))

    assert {it.form.tool for it in foretold} == {READ, QUERY}
    assert not any(it.live for it in foretold if it.form.tool == READ)


def test_a_prediction_that_is_used_later_was_right() -> None:
    layer = taught()
    course = foreseeing(layer)

    assert kinds(course.saw(call(QUERY, {}), layer), RECORD) == []
    used = course.saw(call(READ, {"path": "/home/x/a7.txt"}), layer)

    assert [it.hit for it in kinds(used, RECORD)] == [1]
    assert [it.hit for it in kinds(used, MADE)] == [1]


def test_a_prediction_that_is_not_used_for_long_was_wrong() -> None:
    layer = taught()
    course = foreseeing(layer)

    noted = [kinds(course.saw(call(QUERY, {"n": n}), layer), RECORD) for n in range(5)]

    assert [[it.hit for it in each] for each in noted] == [[], [], [], [0], []]


def test_after_a_change_nothing_is_right_that_was_foretold_before() -> None:
    layer = taught()

    noted = foreseeing(layer).saw(call(WRITE, {"path": "/home/x/z"}, reads=False), layer)

    assert [it.hit for it in kinds(noted, RECORD)] == [0]


def test_what_is_open_at_the_end_was_wrong() -> None:
    layer = taught()
    course = foreseeing(layer)

    noted = course.end(layer)

    assert [it.hit for it in kinds(noted, RECORD)] == [0]
    assert any(it.key.endswith('"end"]') for it in kinds(noted, FOLLOWS))
    assert course.end(layer) == []


def test_what_was_foretold_or_done_already_is_not_foretold_again() -> None:
    layer = taught()
    course = ContextHistory()
    course.saw(call(LIST, {"path": "/home/x"}, listed(7)), layer)

    assert len(course.ahead([layer], everything)) == 1
    assert course.ahead([layer], everything) == []
    course.saw(call(READ, {"path": "/home/x/a7.txt"}), layer)
    course.saw(call(LIST, {"path": "/home/x"}, listed(7)), layer)
    again = course.ahead([layer], everything)
    assert {"path": "/home/x/a7.txt"} not in [it.arguments for it in again]


def test_what_was_not_sure_enough_is_foretold_again_and_open_once_from_one_place() -> None:
    layer = taught(LEAST_TRIED // 2)
    course = ContextHistory()
    course.saw(call(LIST, {"path": "/home/x"}, listed(7)), layer)

    (unsure,) = course.ahead([layer], everything)
    (again,) = course.ahead([taught()], everything)
    noted = course.saw(call(READ, {"path": "/home/x/a7.txt"}), layer)

    assert not unsure.live
    assert again.live
    assert again.arguments == unsure.arguments
    assert course.ahead([taught()], everything) == []
    assert [it.hit for it in kinds(noted, RECORD)] == [1]


def test_what_was_done_before_a_change_may_be_done_again() -> None:
    layer = taught()
    course = ContextHistory()
    course.saw(call(READ, {"path": "/home/x/a7.txt"}), layer)
    course.saw(call(WRITE, {"path": "/home/x/a7.txt"}, reads=False), layer)
    course.saw(call(LIST, {"path": "/home/x"}, listed(7)), layer)

    assert course.ahead([layer], everything)[0].arguments == {"path": "/home/x/a7.txt"}


def test_one_task_teaches_an_edge_twice_in_half_an_hour() -> None:
    layer = LabelModel(PUBLIC)
    course = ContextHistory()
    for number in range(50):
        course.saw(call(LIST, {"n": number}, at=later(number / 10)), layer)

    key = next(key for key in keys(layer, FOLLOWS) if key.startswith("srv") and "\t" in key)
    ((tried, _),) = layer.row(FOLLOWS, key).values()
    assert tried == 2


def test_half_an_hour_later_it_teaches_again() -> None:
    layer = LabelModel(PUBLIC)
    course = ContextHistory()
    for number in range(4):
        course.saw(call(LIST, {}, at=later(20 * number)), layer)

    ((tried, _),) = layer.row(FOLLOWS, "start").values()
    assert tried == 4
    many = ContextHistory()
    for number in range(600):
        many.saw(call(ToolPlace(OTHER, f"t{number}"), {}, at=later(number / 60)), layer)
    assert len(many._taught) <= 512


def test_what_was_taught_long_ago_is_forgotten_with_its_session() -> None:
    course = ContextHistory()
    for number in range(3):
        course.saw(
            call(ToolPlace(OTHER, f"t{number}"), {}, at=later(40 * number)), LabelModel(PUBLIC)
        )

    assert not any("t0" in about for about in course._taught)


def test_one_task_is_wrong_about_an_edge_twice_and_ends_twice_in_half_an_hour() -> None:
    layer, course = taught(), ContextHistory()
    noted = list[Increment]()

    for number in range(4):
        course.saw(call(LIST, {"path": f"/home/{number}"}, listed(number)), LabelModel(PUBLIC))
        course.ahead([layer], everything)
        noted += course.end(LabelModel(PUBLIC))

    assert len(kinds(noted, RECORD)) == 2
    assert len([it for it in kinds(noted, FOLLOWS) if "end" in it.key]) == 4  # near and far


def test_a_session_that_is_over_is_ended_by_the_next_call() -> None:
    layer = taught()
    course = ContextHistory()
    course.told("look into it")
    course.saw(call(LIST, {"path": "/home/x"}, listed(7)), layer)
    course.ahead([layer], everything)
    course.told("something else")

    noted = course.saw(call(READ, {"path": "/home/x/a7.txt"}, at=later(11)), layer)

    assert [it.hit for it in kinds(noted, RECORD)] == [0]
    assert len(course.window.calls) == 1
    assert course.window.words == ("something else",)


def test_words_tell_what_comes_first() -> None:
    layer = LabelModel(PUBLIC)
    for number in range(40):
        folder = f"/srv/{number}"
        through(layer, [(LIST, {"path": folder}, listed(1))], words=f"what is in {folder}")
        through(layer, [(QUERY, {}, text("x"))], words="count everything")

    (foretold,) = [it for it in after(layer, words="what is in /srv/new") if it.live]

    assert foretold.arguments == {"path": "/srv/new"}
    assert foretold.sources == {"path": {Source(Origin.WORDS)}}
    assert after(layer, words="count everything")[0].form.tool == QUERY


def test_less_is_enough_where_the_words_named_what_is_called_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portico.learning.core.prefetch_predictor.SURE", 1.0)
    told = LabelModel(PUBLIC)
    for number in range(40):
        through(told, work(number), words=f"read in /home/{number}")
    one = call(LIST, {"path": "/home/x"}, listed(7))

    assert after(told, words="read in /home/x")[0].live
    assert after(told, one, words="read in /home/x")[0].live
    assert not after(told, one, words="read in /home/y")[0].live
    assert not after(told, one)[0].live


def test_a_word_that_a_result_said_before_is_named_with_that_result() -> None:
    layer = LabelModel(PUBLIC)
    for number in range(40):
        steps: list[Done] = [(QUERY, {}, text(f"see /srv/{number} now"))]
        steps += [(LIST, {"path": f"/srv/{number}"}, listed(1))]
        through(layer, steps, words=f"go to /srv/{number}")

    foretold = after(layer, call(QUERY, {}, text("see /srv/new now")), words="go to /srv/new")

    sources = foretold[0].sources["path"]
    assert Source(Origin.RESULT, QUERY) in sources


def test_what_was_given_before_is_named_with_the_results_that_it_stood_in() -> None:
    layer = LabelModel(PUBLIC)
    for number in range(40):
        given = {"path": f"/srv/{number}"}
        through(layer, [(LIST, given, text("nothing")), (READ, given, text("nothing"))])

    alone = after(layer, call(LIST, {"path": "/srv/x"}, text("nothing")))
    said = after(
        layer,
        call(QUERY, {}, text("go to /srv/x or so")),
        call(LIST, {"path": "/srv/x"}, text("nothing")),
    )

    assert alone[0].sources["path"] == {Source(Origin.ARGUMENT, LIST)}
    assert said[0].sources["path"] == {
        Source(Origin.ARGUMENT, LIST),
        Source(Origin.RESULT, QUERY),
    }


def test_constants_and_parts_of_queries_are_constants() -> None:
    layer = LabelModel(PUBLIC)
    for number in range(40):
        name = f"t{'abcdefghij'[number % 10]}xyz"
        query = f"SELECT COUNT(*) FROM {name} LIMIT 5"
        found = values([{"table": name}])
        through(layer, [(LIST, {}, found), (QUERY, {"query": query, "deep": True}, text("x"))])

    foretold = after(layer, call(LIST, {}, values([{"table": "sensors"}])))[0]

    assert foretold.arguments == {"query": "SELECT COUNT(*) FROM sensors LIMIT 5", "deep": True}
    assert foretold.sources["deep"] == {Source(Origin.CONSTANT)}
    assert foretold.sources["query"] == {Source(Origin.CONSTANT), Source(Origin.RESULT, LIST)}


def test_a_name_in_a_query_is_not_kept_however_many_had_it() -> None:
    layer = LabelModel(PUBLIC)
    query: JsonObject = {"query": "SELECT * FROM payments WHERE id = 5"}
    for _ in range(10):
        through(layer, [(LIST, {}, text("x")), (QUERY, query, text("x"))])

    assert not any("payments" in it.key for it in layer.counted())


@pytest.mark.parametrize("given", ["alice", "1234", "hiv", 9_999, 48.85, ["alice", "bob"]])
def test_no_short_word_and_no_number_of_somebodys_is_kept(given: JsonValue) -> None:
    layer = LabelModel(PUBLIC)

    for _ in range(10):
        through(layer, [(LIST, {}, text("x")), (QUERY, {"about": given}, text("x"))])

    assert not any("fixed" in it.key for it in layer.counted())


def test_no_word_that_a_line_begins_with_is_kept() -> None:
    layer, chat = (
        LabelModel(PUBLIC),
        text("Alice-Smith: see TCK-88412 please\nId: TCK-88412 and more"),
    )

    through(layer, [(LIST, {}, chat), (READ, {"id": "TCK-88412"}, text("x"))])

    assert not any("Alice" in it.key for it in layer.counted())
    assert any("text|Id:|1" in it.key for it in layer.counted())


def test_one_call_makes_only_so_many_counters() -> None:
    layer, course = LabelModel(PUBLIC), ContextHistory()
    for number in range(8):
        course.told(" ".join(f"word{number}x{other}" for other in range(24)))
    many: JsonObject = {f"name_{number}": f"value-{number}" for number in range(16)}
    same = values([{f"key_{at}": f"value-{at}" for at in range(16)}] * 4)
    course.saw(call(LIST, many, same), layer)
    before = layer.made

    course.saw(call(READ, many, same), layer)

    assert layer.made - before <= 201


def test_what_is_too_long_or_not_in_a_definition_teaches_nothing() -> None:
    layer, course = LabelModel(PUBLIC), ContextHistory()

    noted = course.saw(call(READ, {"path": "x" * 30_000}), layer)

    assert not [it for it in noted if "read" in it.key]
    assert course.window.calls[-1].arguments == {}


def test_no_value_is_written_down() -> None:
    layer = LabelModel(PUBLIC)
    secret = "hunter2-Ada-Lovelace"
    for number in range(5):
        found = values([{"id": f"{secret}{number}", f"{secret}@x.org": 1}])
        steps: list[Done] = [(LIST, {"q": f"about {secret}"}, found)]
        steps += [(READ, {"path": f"{secret}{number}", "deep": {"x": secret}}, text(secret))]
        through(layer, steps, words=f"read {secret} for me")

    assert layer.size
    for increment in layer.counted():
        assert not any(part in increment.key for part in ("hunter", "Ada", "Lovelace"))


def test_a_failure_is_another_place_to_stand() -> None:
    layer = LabelModel(PUBLIC)
    for number in range(40):
        path = f"/home/{number}/x.txt"
        broken = text("no such file", failed=True)
        through(
            layer, [(READ, {"path": path}, broken), (LIST, {"path": f"/home/{number}"}, text(""))]
        )
        through(layer, [(READ, {"path": path}, text("words")), (QUERY, {}, text(""))])

    failed = after(layer, call(READ, {"path": "/home/q/x.txt"}, text("no", failed=True)))
    well = after(layer, call(READ, {"path": "/home/q/x.txt"}, text("well")))

    assert failed[0].arguments == {"path": "/home/q"}
    assert failed[0].edge.failed
    assert well[0].form.tool == QUERY


def test_what_came_before_the_last_is_looked_at_too() -> None:
    layer = LabelModel(PUBLIC)
    for _ in range(40):
        through(layer, [(LIST, {}, text("")), (READ, {}, text("")), (QUERY, {}, text(""))])
        through(layer, [(WRITE, {}, text("")), (READ, {}, text("")), (LIST, {}, text(""))])

    one = after(layer, call(LIST, {}), call(READ, {}))
    other = after(layer, call(WRITE, {}, reads=False), call(READ, {}))

    assert one[0].form.tool == QUERY
    assert other[0].form.tool == LIST


def test_layers_are_looked_at_together() -> None:
    layers = [taught(12), taught(12)]
    course = ContextHistory()
    course.saw(call(LIST, {"path": "/home/x"}, listed(7)), LabelModel(PUBLIC))

    assert course.ahead(layers, everything)[0].live


def test_what_cannot_be_written_as_json_is_not_foretold() -> None:
    layer = LabelModel(PUBLIC)
    for number in range(30):
        found: JsonValue = {"n": number + 1 / 7, "m": 1}
        through(layer, [(LIST, {}, values(found)), (READ, {"n": number + 1 / 7}, text(""))])
    broken = ToolResult([{"type": "text", "text": "x"}], {"n": float("inf"), "m": 1})

    assert after(layer, call(LIST, {}, values({"n": 2.5, "m": 1})))[0].arguments == {"n": 2.5}
    assert [it for it in after(layer, call(LIST, {}, broken)) if it.form.tool == READ] == []


def test_a_record_moves_how_sure_it_is() -> None:
    rows: list[tuple[tuple[int, int], tuple[int, int]]] = [
        ((40, 36), (40, 36)),
        ((0, 0), (0, 0)),
        ((9, 0), (9, 0)),
    ]

    for made, edge in rows:
        unknown = calibrated(Evidence(0.5, 0.5, (0, 0), (0, 0), 1.0))

        sure = calibrated(Evidence(0.5, 0.5, made, edge, 1.0))

        assert 0 < sure < 1, made
        assert (sure > unknown) == (made[1] > 0)
        assert (sure < unknown) == (made == (9, 0))
        assert calibrated(Evidence(0.5, 0.5, made, edge, 0.5)) < sure


def kinds(increments: Iterable[Increment], kind: str) -> list[Increment]:
    return [it for it in increments if it.kind == kind]


def keys(layer: LabelModel, kind: str) -> list[str]:
    return [json.loads(it.key)[0] for it in layer.counted() if it.kind == kind]


def said(trust: Trust, *, right: bool, times: int = 1) -> bool:
    for _ in range(times):
        trust.note_predictions("task", [b"next"])
        trust.saw("task", b"next" if right else b"other", reads=right)
    return trust.good


def test_nobody_is_trusted_before_enough_has_come_true() -> None:
    trust = Trust()

    assert not said(trust, right=True, times=ENOUGH - 1)
    assert said(trust, right=True)


def test_whoever_does_something_else_is_not_called_ahead_for_until_that_has_passed() -> None:
    trust = Trust()

    assert said(trust, right=True, times=LATEST)
    assert said(trust, right=False, times=13)
    assert not said(trust, right=False)
    assert said(trust, right=True, times=7)


def test_it_may_come_a_few_calls_later_and_not_after_a_change() -> None:
    trust = Trust()
    for _ in range(ENOUGH):
        trust.note_predictions("task", [b"next", b"next"])
        for _ in range(3):
            trust.saw("task", b"other", reads=True)
        trust.saw("task", b"next", reads=True)
    assert trust.good

    for _ in range(LATEST):
        trust.note_predictions("task", [b"next"])
        for _ in range(4):
            trust.saw("task", b"other", reads=True)
        trust.saw("task", b"next", reads=True)
    assert not trust.good


def test_what_is_foretold_twice_counts_once_and_tasks_are_told_apart() -> None:
    trust = Trust()
    for _ in range(ENOUGH):
        trust.note_predictions("one", [b"next"])
        trust.note_predictions("one", [b"next"])
        trust.saw("two", b"next", reads=True)
    assert not trust.good

    trust.saw("one", b"next", reads=True)
    said(trust, right=True, times=ENOUGH - 1)

    assert trust.good


def test_what_has_not_come_when_a_task_ends_was_wrong() -> None:
    trust = Trust()
    for _ in range(LATEST):
        trust.note_predictions("task", [b"next"])
        trust.ended("task")

    assert not said(trust, right=True, times=6)
    assert said(trust, right=True)


def test_only_so_many_tasks_are_followed() -> None:
    trust = Trust()
    said(trust, right=True, times=LATEST)

    for number in range(64 + 14):
        trust.note_predictions(number, [b"next"])

    assert not trust.good
    assert len(trust._open) == 64


def came_true(trust: TrustInAll, *, times: int = ENOUGH) -> None:
    for _ in range(times):
        trust.predicted(ANA, [b"next"])
        trust.saw(ANA, b"next", reads=True)


def test_whoever_is_trusted_is_so_in_another_task_too_and_nobody_else_is() -> None:
    trust = TrustInAll()
    came_true(trust, times=ENOUGH - 1)
    assert not trust.predicted(ANA, [b"next"])

    trust.saw(ANA, b"next", reads=True)

    assert trust.predicted(replace(ANA, key="another"), [])
    assert not trust.predicted(VIEWER, [])


def test_what_had_not_come_when_its_task_ended_was_wrong() -> None:
    trust = TrustInAll()
    came_true(trust)
    for _ in range(LATEST):
        trust.predicted(ANA, [b"never"])
        trust.ended(ANA)

    assert not trust.predicted(ANA, [])


def test_only_the_latest_are_remembered() -> None:
    trust, dice = TrustInAll(), SeededEntropy("many")
    came_true(trust)

    def others(many: int) -> None:
        for _ in range(many):
            trust.predicted(replace(ANA, id=PrincipalId.mint(BEGINNING, dice)), [])

    others(999)
    assert trust.predicted(ANA, [])
    others(1_000)
    assert not trust.predicted(ANA, [])
