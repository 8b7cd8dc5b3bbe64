"""Counters at one label: bounded, added up, and read back as they were written."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.label import PUBLIC
from portico.learning.core.observation import (
    FOLLOWS,
    LIMITS,
    MADE,
    RECORD,
    WAYS,
    Count,
    Increment,
    LabelModel,
    added_up,
    summed,
)
from portico.learning.core.observed_calls import CallForm, EdgeKey, form_of, learnable, place_of
from portico.learning.core.prefetch import CALLS, RAN, SAVED, SUGGESTED, PrefetchTotals, edge_table
from portico.learning.core.prefetch import added_up as totalled
from portico.learning.core.prefetch_predictor import (
    LEAST_TRIED,
    EdgeRecord,
    band_of,
    in_band,
    lower_bound,
    record_of,
)
from portico.testing.gateway import a_server
from portico.testing.memory_store import BEGINNING
from tests.learning.core.prefetch.tasks import LIST, READ

EDGE = EdgeKey(None, LIST, failed=False, form=form_of(READ, {"path": 1}), band=2)
SURER = EdgeKey(None, LIST, failed=False, form=form_of(READ, {"path": 1}), band=4)


def test_what_is_noted_is_counted_and_told() -> None:
    layer = LabelModel(PUBLIC)

    first = list(layer.note(WAYS, "a", "b"))
    second = list(layer.note(WAYS, "a", "b", 0))

    assert first == [Increment(WAYS, '["a","b"]', 1, 1)]
    assert second == [Increment(WAYS, '["a","b"]', 1, 0)]
    assert layer.row(WAYS, "a") == {"b": [2, 1]}
    assert layer.row(WAYS, "z") == {}
    assert added_up(first + second) == {(WAYS, '["a","b"]'): Increment(WAYS, '["a","b"]', 2, 1)}


def test_what_is_too_long_to_be_written_is_not_counted() -> None:
    layer = LabelModel(PUBLIC)

    assert list(layer.note(WAYS, "a" * 3_000, "b")) == []
    assert layer.size == 0


def test_it_is_read_back_as_it_was_written() -> None:
    layer = LabelModel(PUBLIC)
    layer.note(FOLLOWS, "a", "b")
    layer.note(RECORD, str(EDGE), "", 0)

    again = LabelModel.of(PUBLIC, layer.counted())

    assert list(again.counted()) == list(layer.counted())
    assert Increment(RECORD, str(EDGE), 1, 0) in layer.counted()
    assert again.size == 2


def test_what_is_no_counter_is_passed_over() -> None:
    keys = ["{", "[1,2]", '["a"]', "x" * 3_000]
    layer = LabelModel.of(PUBLIC, [Increment(FOLLOWS, key, 1, 1) for key in keys])
    layer.add([Increment("ran", '["a","b"]', 1, 1), Increment(FOLLOWS, '["a","b"]', 1, 2)])
    layer.add([Increment(FOLLOWS, '["a","b"]', 0, 0)])

    assert layer.size == 0


def test_layers_are_added_up() -> None:
    one, other = LabelModel(PUBLIC), LabelModel(PUBLIC)
    one.note(WAYS, "a", "b")
    other.note(WAYS, "a", "b", 0)
    other.note(WAYS, "a", "c")

    assert summed([one, other], WAYS, "a") == {"b": (2, 1), "c": (1, 1)}


def test_what_came_true_least_makes_room() -> None:
    layer = LabelModel(PUBLIC)
    layer.note(WAYS, "a", "good")
    layer.note(WAYS, "a", "bad", 0)

    for number in range(LIMITS[WAYS][1]):
        layer.note(WAYS, "a", f"w{number}")

    assert "bad" not in layer.row(WAYS, "a")
    assert len(layer.row(WAYS, "a")) == LIMITS[WAYS][1]


@given(st.lists(st.tuples(st.sampled_from(sorted(LIMITS)), st.integers(0, 9))))
def test_its_size_is_what_it_holds(noted: list[tuple[str, int]]) -> None:
    layer = LabelModel(PUBLIC)
    for kind, number in noted:
        layer.note(kind, f"o{number % 3}", f"i{number}")

    assert layer.size == len(list(layer.counted()))


def test_it_never_grows_beyond_its_bounds() -> None:
    layer = LabelModel(PUBLIC)
    outers, inners = LIMITS[MADE]

    for number in range(10_000):
        layer.note(MADE, f"o{number}", "a")
        layer.note(MADE, f"p{number // 100}", str(number))

    assert layer.size <= 16_000
    assert len({increment.key.partition(",")[0] for increment in layer.counted()}) <= outers
    assert len(layer.row(MADE, "p99")) <= inners
    assert "a" in layer.row(MADE, "o9999")


def test_a_record_is_of_one_edge_however_sure() -> None:
    layer = LabelModel(PUBLIC)
    for number in range(LEAST_TRIED):
        layer.note(RECORD, str(EDGE), "", number % 2)
    assert record_of([layer], EDGE).live

    layer.note(RECORD, str(SURER), "", 1)
    layer.note(RECORD, "no edge", "", 1)

    assert in_band([layer], SURER) == EdgeRecord(SURER, 1, 1)
    assert record_of([layer, layer], EDGE) == EdgeRecord(EDGE, 42, 22)


def test_too_few_or_too_bad_is_not_live() -> None:
    assert not EdgeRecord(EDGE, LEAST_TRIED - 1, LEAST_TRIED - 1).live
    assert not EdgeRecord(EDGE, 1_000, 50).live
    assert EdgeRecord(EDGE, 1_000, 500).bound < 0.5


def test_a_bound_is_below_what_was_seen_and_nears_it() -> None:
    bounds = [lower_bound(n // 2, n) for n in (0, 2, 20, 2_000)]

    assert bounds == sorted(bounds)
    assert bounds[0] == 0
    assert 0.48 < bounds[-1] < 0.5
    assert lower_bound(0, 5) == 0


def test_bands_are_fifths() -> None:
    assert [band_of(raw) for raw in (0.0, 0.19, 0.2, 0.99, 1.0)] == [0, 0, 1, 4, 4]


FORM = form_of(READ, {"tail": 5, "path": "/a"})


def test_a_form_is_a_tool_and_the_names_of_what_it_is_given() -> None:
    assert CallForm(READ, ("path", "tail")) == FORM
    assert CallForm.parse(str(FORM)) == FORM


def test_an_edge_is_read_back_as_it_was_written() -> None:
    rows: list[EdgeKey] = [
        EdgeKey(None, LIST, failed=False, form=FORM, band=3),
        EdgeKey(LIST, READ, failed=True, form=FORM, band=0),
        EdgeKey(None, None, failed=False, form=FORM, band=4),
    ]

    for edge in rows:
        assert EdgeKey.parse(str(edge)) == edge


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '["x"]', '["srv_x/read"]', '["/"]'])
def test_what_is_no_form_is_told(text: str) -> None:
    with pytest.raises(ValueError):
        CallForm.parse(text)


@pytest.mark.parametrize("text", ["[]", '["start","start","","[]","0"]', '["start","a"]'])
def test_what_is_no_edge_is_told(text: str) -> None:
    with pytest.raises(ValueError):
        EdgeKey.parse(text)


def test_a_place_needs_a_server_and_a_tool() -> None:
    with pytest.raises(ValueError, match="srv_0"):
        place_of("srv_0")


def test_names_that_are_data_are_not_learnt() -> None:
    assert learnable(FORM)
    assert not learnable(form_of(READ, {"call me on 0171 234": 1}))
    assert not learnable(form_of(READ, {f"name_{chr(97 + n)}": n for n in range(17)}))


FILES = a_server("files").id
FILE_LIST, FILE_READ, STAT = (ToolPlace(FILES, name) for name in ("list", "read", "stat"))
NAMES = {place: ToolRef("files", place.tool) for place in (FILE_LIST, FILE_READ, STAT)}
AFTER_LIST = EdgeKey(FILE_LIST, STAT, failed=False, form=CallForm(FILE_READ, ("path",)), band=9)
FIRST = EdgeKey(None, None, failed=False, form=CallForm(FILE_LIST, ("path",)), band=5)
LATER = BEGINNING + timedelta(hours=1)


def count(tried: int, hit: int) -> Count:
    return Count(tried, hit, BEGINNING)


def test_an_edge_is_told_with_its_record_and_with_what_came_of_it() -> None:
    [edge] = edge_table(
        [
            (RECORD, str(AFTER_LIST), count(30, 29)),
            (RAN, str(AFTER_LIST), Count(8, 6, LATER)),
            (SAVED, str(AFTER_LIST), count(6_500, 0)),
        ],
        NAMES,
        {AFTER_LIST.way: "worth_it"},
    )

    assert (str(edge.before), str(edge.after), str(edge.tool)) == (
        "files.list",
        "files.stat",
        "files.read",
    )
    assert (edge.arguments, edge.failed) == (("path",), False)
    assert (edge.predicted, edge.right, edge.live) == (30, 29, True)
    assert 0.8 < edge.at_least < 29 / 30
    assert edge.totals == PrefetchTotals(tried=8, served=6, saved=timedelta(seconds=6.5))
    assert (edge.last_seen, edge.turned_down) == (LATER, "worth_it")


def test_how_sure_each_time_was_makes_no_edge_of_its_own() -> None:
    unsure = replace(AFTER_LIST, band=1)

    [edge] = edge_table(
        [
            (RECORD, str(unsure), count(30, 0)),
            (RECORD, str(AFTER_LIST), count(10, 10)),
            (RECORD, str(AFTER_LIST), count(15, 15)),
        ],
        NAMES,
        {AFTER_LIST.way: "worth_it"},
    )

    assert (edge.predicted, edge.right, edge.live) == (55, 25, True)


def test_an_edge_is_not_live_before_it_has_proved_right() -> None:
    [often, seldom] = edge_table(
        [(RECORD, str(FIRST), count(19, 19)), (RECORD, str(AFTER_LIST), count(100, 10))], NAMES, {}
    )

    assert (often.turned_down, seldom.turned_down) == (None, None)
    assert (often.tool, often.live) == (NAMES[FILE_READ], False)
    assert (seldom.tool, seldom.live) == (NAMES[FILE_LIST], False)
    assert (seldom.before, seldom.after) == (None, None)


def test_what_has_no_name_here_is_not_told() -> None:
    counted = [(RECORD, str(AFTER_LIST), count(5, 5)), (RECORD, str(FIRST), count(3, 3))]

    told = [
        [str(edge.tool) for edge in edge_table(counted, known, {})]
        for known in (
            {FILE_LIST: NAMES[FILE_LIST]},
            {FILE_LIST: NAMES[FILE_LIST], FILE_READ: NAMES[FILE_READ]},
            {STAT: NAMES[STAT], FILE_READ: NAMES[FILE_READ]},
            {},
        )
    ]

    assert told == [["files.list"], ["files.list"], [], []]


def test_what_is_no_edge_is_passed_over() -> None:
    counted = [(RAN, SUGGESTED, count(5, 5)), (RECORD, "{", count(3, 3)), (RAN, "[]", count(1, 1))]

    assert edge_table(counted, NAMES, {}) == []


def test_each_kind_of_count_is_added_to_what_it_is_of() -> None:
    totals = totalled(
        [(CALLS, 100, 0), (RAN, 12, 5), (SAVED, 800, 0), (RAN, 3, 3), (SAVED, 150, 0), ("x", 9, 9)]
    )

    assert totals == PrefetchTotals(
        calls=100, tried=15, served=8, saved=timedelta(milliseconds=950)
    )
    assert (totals.coverage, totals.exact, totals.waste) == (0.08, 8 / 15, 0.07)


def test_of_nothing_there_are_no_shares() -> None:
    nothing = PrefetchTotals()

    assert (nothing.coverage, nothing.exact, nothing.waste, nothing.wasted) == (None, None, None, 0)


def test_what_is_served_before_it_is_counted_as_made_is_no_waste_below_nothing() -> None:
    """The two are counted in different processes, or written at different times."""
    assert PrefetchTotals(calls=1, tried=0, served=1).wasted == 0


def test_sums_are_added() -> None:
    one = PrefetchTotals(calls=1, tried=2, served=3, saved=timedelta(seconds=4))

    assert one.and_then(one) == PrefetchTotals(
        calls=2, tried=4, served=6, saved=timedelta(seconds=8)
    )
