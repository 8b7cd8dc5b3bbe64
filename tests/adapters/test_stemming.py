"""Words that mean the same have the same stem."""

import pytest

from portico.adapters.stemming import stem


@pytest.mark.parametrize(
    ("word", "stemmed"), [("issues", "issu"), ("issue", "issu"), ("created", "creat"), ("日", "日")]
)
def test_a_word_loses_its_ending(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed
