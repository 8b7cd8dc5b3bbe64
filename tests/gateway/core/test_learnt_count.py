"""What is learnt of tools: what they return, how often, and how it fades."""

from datetime import timedelta

import pytest

from portico.gateway.core.acquaintance import faded
from portico.gateway.core.ahead.forms import CallForm
from portico.gateway.core.ahead.layer import WAYS, Layer
from portico.gateway.core.ahead.learning import follow, scopes
from portico.gateway.core.ahead.signs import Stand
from portico.gateway.core.learnt import SeenShape, ToolPlace
from portico.gateway.core.learnt_count import Count, CountKey
from portico.gateway.core.shapes import merged, shape_of
from portico.kernel.label import PUBLIC
from portico.testing.gateway import a_server
from portico.testing.kernel import BEGINNING

FILES, MAIL = a_server("files").id, a_server("mail").id


def test_servers_are_found_in_either_spelling() -> None:
    key = CountKey.of("next", f'[["{FILES.value}","read"],["{MAIL}","send"],"srv_x"]')

    assert key.servers == {FILES, MAIL}
    assert CountKey.of("next", "[]").servers == frozenset()


def test_every_server_is_found_in_what_is_counted_of_two_calls_in_a_row() -> None:
    git = a_server("git").id
    first, second, third = (ToolPlace(server, "t") for server in (FILES, MAIL, git))
    form, at = CallForm(third, ("x",)), Stand(first, second, False, ("q17",))
    layer = Layer(PUBLIC)
    counted = [*follow(layer, at, str(form))]
    counted += [it for scope in scopes(at, form, "x") for it in layer.note(WAYS, scope, "y")]

    for each in counted:
        named = {server for server in (FILES, MAIL, git) if str(server) in each.key}
        assert CountKey.of(each.kind, each.key).servers == named
    assert any(str(FILES) in each.key for each in counted)


def test_counts_are_added_and_the_later_time_stays() -> None:
    one, other = Count(1, 1, BEGINNING), Count(2, 0, BEGINNING.replace(year=2030))

    assert one.and_then(other) == other.and_then(one) == Count(3, 1, other.last_seen)


def test_what_the_store_cannot_hold_does_not_fit() -> None:
    assert CountKey.of("k", "1").fits
    for unfit in (CountKey.of("", "1"), CountKey.of("k", "x\x00"), CountKey.of("k", "x" * 4_001)):
        assert not unfit.fits


ONE, OTHER = shape_of({"a": 1}), shape_of({"b": 1})


def test_of_the_same_definition_it_adds_up() -> None:
    both = SeenShape("p", 2, ONE).and_then(SeenShape("p", 3, OTHER))

    assert both == SeenShape("p", 5, merged(ONE, OTHER))


def test_with_another_it_begins_anew() -> None:
    assert SeenShape("old", 9, ONE).and_then(SeenShape("new", 1, OTHER)) == (
        SeenShape("new", 1, OTHER)
    )


def test_a_use_fades() -> None:
    rows: list[tuple[float, float]] = [(0, 8.0), (1, 4.0), (2, 2.0), (0.5, 8 / 2**0.5), (-5, 8.0)]

    for weeks, left in rows:
        assert faded(8, timedelta(weeks=weeks)) == pytest.approx(left)
