"""What came of calls made ahead, added up."""

from datetime import timedelta

from portico.gateway.core.ahead.totals import CALLS, RAN, SAVED, AheadTotals, added_up


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
