"""What one task did last and said: bounded, and over after a while."""

from portico.gateway.core.ahead.window import call_key, seen_call
from portico.kernel.json import JsonObject
from tests.gateway.core.ahead.tasks import LIST, READ, call, later, text, values, window


def test_a_window_holds_the_last_calls() -> None:
    many = window(*(call(READ, {"n": number}) for number in range(100)))

    assert len(many.calls) == 32
    assert many.calls[-1].arguments == {"n": 99}


def test_a_window_holds_so_many_values() -> None:
    large = [call(LIST, {}, values([f"v{n}" for n in range(150)] * 6))] * 40
    wide = [call(LIST, {}, text("a b c d e f g\n" * 200))] * 40

    for calls in (large, wide):
        assert sum(it.values for it in window(*calls).calls) <= 4_000
    assert len(window(*wide).calls) < 32


def test_an_answer_that_is_too_large_is_not_looked_at() -> None:
    assert call(LIST, {"a": "x"}, text("a b\n" * 100_000)).places.keys() == {"given.a"}


def test_words_are_kept_once_and_bounded() -> None:
    found = window()
    for number in range(20):
        found = found.told(f"text {number}").told("   ")

    assert found.words == tuple(f"text {number}" for number in range(12, 20))
    assert found.told("text 19") is found
    assert len(found.told("x" * 9_000).words[-1]) == 2_000


def test_a_session_is_over_after_a_while() -> None:
    assert not window().over(later(60))
    assert not window(call(LIST, {})).over(later(9))
    assert window(call(LIST, {})).over(later(11))
    busy = window(*(call(LIST, {}, at=later(5 * number)) for number in range(7)))
    assert busy.over(later(31))
    assert not busy.over(later(30))


def test_a_call_is_known_again() -> None:
    first: JsonObject = {"a": 1, "b": [2]}

    assert call_key(LIST, first) == call_key(LIST, {"b": [2], "a": 1})
    assert call_key(LIST, first) != call_key(READ, first)
    assert call_key(LIST, {"a": float("nan")}) == b""


def test_the_path_that_a_call_was_made_for_is_known() -> None:
    assert call(LIST, {"deep": True, "path": "/a/b"}).base == "/a/b"
    assert call(LIST, {"path": "/" + "a" * 400, "query": "x"}).base is None


def test_of_parameters_that_no_definition_lists_nothing_is_held() -> None:
    found = seen_call(
        READ, {"path": "/a", "alice": 1}, text(""), ended=later(0), reads=True, parameters={"path"}
    )

    assert (found.key, found.arguments) == (b"", {})
    assert call(READ, {"path": "/a"}).key == call_key(READ, {"path": "/a"})
