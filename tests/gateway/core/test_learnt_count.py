"""Keys of counters, and the servers that they name."""

from portico.gateway.core.ahead.forms import CallForm
from portico.gateway.core.ahead.layer import WAYS, Layer
from portico.gateway.core.ahead.learning import follow, scopes
from portico.gateway.core.ahead.signs import Stand
from portico.gateway.core.learnt import ToolPlace
from portico.gateway.core.learnt_count import Count, CountKey
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
