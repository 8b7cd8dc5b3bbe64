"""Tokens are counted as o200k_base counts them."""

from portico.adapters.tokens import O200k
from portico.kernel.budget import Tokenizer


def test_known_texts_have_their_known_counts() -> None:
    tokenizer: Tokenizer = O200k()

    assert tokenizer.name == "o200k_base"
    assert tokenizer.count("") == 0
    assert tokenizer.count("hello world") == 2
    assert tokenizer.count("antidisestablishmentarianism") == 6
    assert tokenizer.count("2 + 2 = 4") == 7
    assert tokenizer.count("お誕生日おめでとう") == 8


def test_half_of_a_surrogate_pair_is_counted_as_something() -> None:
    assert O200k().count("a\ud800") > 0
