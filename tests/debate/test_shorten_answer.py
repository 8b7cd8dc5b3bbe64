"""An answer is cut off where whoever asked has room for no more of it."""

from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.tokens.o200k import O200k
from portico.debate.shorten_answer import ShortenAnswer

SHORTEN = ShortenAnswer(tokenizer=O200k())


def test_what_fits_stays_whole() -> None:
    assert SHORTEN("It is so.", None) == SHORTEN("It is so.", 100) == "It is so."


def test_what_does_not_fit_is_cut_as_late_as_can_be() -> None:
    assert SHORTEN("one two three four", 3) == "one two three"


@given(st.text(max_size=60), st.integers(1, 10))
def test_it_is_a_beginning_that_fits(text: str, most: int) -> None:
    short = SHORTEN(text, most)

    assert text.startswith(short)
    assert O200k().count(short) <= most
