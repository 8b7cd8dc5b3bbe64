"""What came of calls made ahead: added up, and by the edges that they go along."""

from dataclasses import replace
from datetime import timedelta

from portico.gateway.core.ahead.edge_table import edge_table
from portico.gateway.core.ahead.forms import CallForm, EdgeKey
from portico.gateway.core.ahead.layer import RECORD
from portico.gateway.core.ahead.totals import CALLS, RAN, SAVED, SUGGESTED, AheadTotals, added_up
from portico.gateway.core.learnt import ToolPlace
from portico.gateway.core.learnt_count import Count
from portico.gateway.core.tool import ToolRef
from portico.testing.gateway import a_server
from portico.testing.kernel import BEGINNING

FILES = a_server("files").id
LIST, READ, STAT = (ToolPlace(FILES, name) for name in ("list", "read", "stat"))
NAMES = {place: ToolRef("files", place.tool) for place in (LIST, READ, STAT)}
EDGE = EdgeKey(LIST, STAT, failed=False, form=CallForm(READ, ("path",)), band=9)
FIRST = EdgeKey(None, None, failed=False, form=CallForm(LIST, ("path",)), band=5)
LATER = BEGINNING + timedelta(hours=1)


def count(tried: int, hit: int) -> Count:
    return Count(tried, hit, BEGINNING)


def test_an_edge_is_told_with_its_record_and_with_what_came_of_it() -> None:
    [edge] = edge_table(
        [
            (RECORD, str(EDGE), count(30, 29)),
            (RAN, str(EDGE), Count(8, 6, LATER)),
            (SAVED, str(EDGE), count(6_500, 0)),
        ],
        NAMES,
        {EDGE.way: "worth_it"},
    )

    assert (str(edge.before), str(edge.after), str(edge.tool)) == (
        "files.list",
        "files.stat",
        "files.read",
    )
    assert (edge.arguments, edge.failed) == (("path",), False)
    assert (edge.predicted, edge.right, edge.live) == (30, 29, True)
    assert 0.8 < edge.at_least < 29 / 30
    assert edge.totals == AheadTotals(tried=8, served=6, saved=timedelta(seconds=6.5))
    assert (edge.last_seen, edge.turned_down) == (LATER, "worth_it")


def test_how_sure_each_time_was_makes_no_edge_of_its_own() -> None:
    unsure = replace(EDGE, band=1)

    [edge] = edge_table(
        [
            (RECORD, str(unsure), count(30, 0)),
            (RECORD, str(EDGE), count(10, 10)),
            (RECORD, str(EDGE), count(15, 15)),
        ],
        NAMES,
        {EDGE.way: "worth_it"},
    )

    assert (edge.predicted, edge.right, edge.live) == (55, 25, True)


def test_an_edge_is_not_live_before_it_has_proved_right() -> None:
    [often, seldom] = edge_table(
        [(RECORD, str(FIRST), count(19, 19)), (RECORD, str(EDGE), count(100, 10))], NAMES, {}
    )

    assert (often.turned_down, seldom.turned_down) == (None, None)
    assert (often.tool, often.live) == (NAMES[READ], False)
    assert (seldom.tool, seldom.live) == (NAMES[LIST], False)
    assert (seldom.before, seldom.after) == (None, None)


def test_what_has_no_name_here_is_not_told() -> None:
    counted = [(RECORD, str(EDGE), count(5, 5)), (RECORD, str(FIRST), count(3, 3))]

    told = [
        [str(edge.tool) for edge in edge_table(counted, known, {})]
        for known in (
            {LIST: NAMES[LIST]},
            {LIST: NAMES[LIST], READ: NAMES[READ]},
            {STAT: NAMES[STAT], READ: NAMES[READ]},
            {},
        )
    ]

    assert told == [["files.list"], ["files.list"], [], []]


def test_what_is_no_edge_is_passed_over() -> None:
    counted = [(RAN, SUGGESTED, count(5, 5)), (RECORD, "{", count(3, 3)), (RAN, "[]", count(1, 1))]

    assert edge_table(counted, NAMES, {}) == []


def test_each_kind_of_count_is_added_to_what_it_is_of() -> None:
    totals = added_up(
        [(CALLS, 100, 0), (RAN, 12, 5), (SAVED, 800, 0), (RAN, 3, 3), (SAVED, 150, 0), ("x", 9, 9)]
    )

    assert totals == AheadTotals(calls=100, tried=15, served=8, saved=timedelta(milliseconds=950))
    assert (totals.coverage, totals.exact, totals.waste) == (0.08, 8 / 15, 0.07)


def test_of_nothing_there_are_no_shares() -> None:
    nothing = AheadTotals()

    assert (nothing.coverage, nothing.exact, nothing.waste, nothing.wasted) == (None, None, None, 0)


def test_what_is_served_before_it_is_counted_as_made_is_no_waste_below_nothing() -> None:
    """The two are counted in different processes, or written at different times."""
    assert AheadTotals(calls=1, tried=0, served=1).wasted == 0


def test_sums_are_added() -> None:
    one = AheadTotals(calls=1, tried=2, served=3, saved=timedelta(seconds=4))

    assert one.and_then(one) == AheadTotals(calls=2, tried=4, served=6, saved=timedelta(seconds=8))
