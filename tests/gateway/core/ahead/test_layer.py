"""Counters at one label: bounded, added up, and read back as they were written."""

from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.ahead.forms import EdgeKey, form_of
from portico.gateway.core.ahead.layer import (
    FOLLOWS,
    LIMITS,
    MADE,
    RECORD,
    WAYS,
    Increment,
    Layer,
    added_up,
    summed,
)
from portico.gateway.core.ahead.records import (
    LEAST_TRIED,
    EdgeRecord,
    band_of,
    in_band,
    lower_bound,
    record_of,
)
from portico.kernel.label import PUBLIC
from tests.gateway.core.ahead.tasks import LIST, READ

EDGE = EdgeKey(None, LIST, failed=False, form=form_of(READ, {"path": 1}), band=2)
SURER = EdgeKey(None, LIST, failed=False, form=form_of(READ, {"path": 1}), band=4)


def test_what_is_noted_is_counted_and_told() -> None:
    layer = Layer(PUBLIC)

    first = list(layer.note(WAYS, "a", "b"))
    second = list(layer.note(WAYS, "a", "b", 0))

    assert first == [Increment(WAYS, '["a","b"]', 1, 1)]
    assert second == [Increment(WAYS, '["a","b"]', 1, 0)]
    assert layer.row(WAYS, "a") == {"b": [2, 1]}
    assert layer.row(WAYS, "z") == {}
    assert added_up(first + second) == {(WAYS, '["a","b"]'): Increment(WAYS, '["a","b"]', 2, 1)}


def test_what_is_too_long_to_be_written_is_not_counted() -> None:
    layer = Layer(PUBLIC)

    assert list(layer.note(WAYS, "a" * 3_000, "b")) == []
    assert layer.size == 0


def test_it_is_read_back_as_it_was_written() -> None:
    layer = Layer(PUBLIC)
    layer.note(FOLLOWS, "a", "b")
    layer.note(RECORD, str(EDGE), "", 0)

    again = Layer.of(PUBLIC, layer.counted())

    assert list(again.counted()) == list(layer.counted())
    assert Increment(RECORD, str(EDGE), 1, 0) in layer.counted()
    assert again.size == 2


def test_what_is_no_counter_is_passed_over() -> None:
    keys = ["{", "[1,2]", '["a"]', "x" * 3_000]
    layer = Layer.of(PUBLIC, [Increment(FOLLOWS, key, 1, 1) for key in keys])
    layer.add([Increment("ran", '["a","b"]', 1, 1), Increment(FOLLOWS, '["a","b"]', 1, 2)])
    layer.add([Increment(FOLLOWS, '["a","b"]', 0, 0)])

    assert layer.size == 0


def test_layers_are_added_up() -> None:
    one, other = Layer(PUBLIC), Layer(PUBLIC)
    one.note(WAYS, "a", "b")
    other.note(WAYS, "a", "b", 0)
    other.note(WAYS, "a", "c")

    assert summed([one, other], WAYS, "a") == {"b": (2, 1), "c": (1, 1)}


def test_what_came_true_least_makes_room() -> None:
    layer = Layer(PUBLIC)
    layer.note(WAYS, "a", "good")
    layer.note(WAYS, "a", "bad", 0)

    for number in range(LIMITS[WAYS][1]):
        layer.note(WAYS, "a", f"w{number}")

    assert "bad" not in layer.row(WAYS, "a")
    assert len(layer.row(WAYS, "a")) == LIMITS[WAYS][1]


@given(st.lists(st.tuples(st.sampled_from(sorted(LIMITS)), st.integers(0, 9))))
def test_its_size_is_what_it_holds(noted: list[tuple[str, int]]) -> None:
    layer = Layer(PUBLIC)
    for kind, number in noted:
        layer.note(kind, f"o{number % 3}", f"i{number}")

    assert layer.size == len(list(layer.counted()))


def test_it_never_grows_beyond_its_bounds() -> None:
    layer = Layer(PUBLIC)
    outers, inners = LIMITS[MADE]

    for number in range(10_000):
        layer.note(MADE, f"o{number}", "a")
        layer.note(MADE, f"p{number // 100}", str(number))

    assert layer.size <= 16_000
    assert len({increment.key.partition(",")[0] for increment in layer.counted()}) <= outers
    assert len(layer.row(MADE, "p99")) <= inners
    assert "a" in layer.row(MADE, "o9999")


def test_a_record_is_of_one_edge_however_sure() -> None:
    layer = Layer(PUBLIC)
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
