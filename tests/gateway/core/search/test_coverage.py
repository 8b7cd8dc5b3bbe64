"""How much of a name a question speaks of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.search.coverage import NameCoverage
from tests.gateway.core.search.shop import embedded

VOCABULARY = ["send", "email", "file"]
NAMES = [["send", "email"], ["file"], []]


def covered(question: list[str], groups: list[list[int]]) -> list[list[float]]:
    names = NameCoverage.of(NAMES, VOCABULARY, embedded(VOCABULARY), [1.0, 3.0, 1.0])
    found: list[list[float]] = names.scores(embedded(question), groups).tolist()
    return found


def test_a_name_is_met_by_a_word_of_the_same_meaning_and_a_rare_part_counts_more() -> None:
    [[sending, file, nameless], [nothing, *_]] = covered(["letter"], [[0], []])

    assert sending == pytest.approx(0.75, abs=0.15)
    assert file < 0.4
    assert nameless == nothing == 0


def test_all_of_a_name_is_one() -> None:
    [[sending, *_]] = covered(["mail", "send"], [[0, 1]])

    assert sending == pytest.approx(1.0, abs=1e-4)


@given(st.lists(st.sampled_from(["send", "letter", "zebra"]), max_size=3, unique=True))
def test_a_share_is_between_nought_and_one(question: list[str]) -> None:
    [row] = covered(question, [list(range(len(question)))])

    assert all(0 <= share <= 1.0001 for share in row)


def test_no_tools_have_no_names() -> None:
    empty = NameCoverage.of([], [], np.zeros((0, 8), np.float32), [])

    assert empty.scores(np.ones((1, 8), np.float32), [[0]]).shape == (1, 0)
