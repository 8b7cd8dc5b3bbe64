"""The keys that vectors are kept under."""

from hypothesis import given
from hypothesis.strategies import lists, text

from portico.gateway.core.search_text import EmbeddingModel, content_key, fingerprint

MODEL = EmbeddingModel("minilm", 384, "f1")


def test_the_same_text_by_the_same_weights_has_one_key_whatever_the_name() -> None:
    renamed = EmbeddingModel("other", 384, "f1")

    assert content_key(MODEL, "book a flight") == content_key(renamed, "book a flight")


@given(lists(text()), lists(text()))
def test_no_two_lists_of_parts_meet(one: list[str], other: list[str]) -> None:
    assert (fingerprint(*one) == fingerprint(*other)) == (one == other)


def test_a_key_is_the_same_on_every_machine() -> None:
    expected = "b9a774e6"

    assert content_key(MODEL, "book a flight")[:8] == expected


def test_half_a_character_has_a_key_too() -> None:
    assert content_key(MODEL, "a\ud800") != content_key(MODEL, "a")
