"""Taking a question apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.search.clauses import LONGEST_QUERY, MOST_CLAUSES, clauses, whole


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Find a hotel and book it", ["Find a hotel", "book it"]),
        ("I need a bed and breakfast", ["a bed and breakfast"]),
        (
            "First, convert the file. Then send it to Ana, and finally delete the copy.",
            ["convert the file", "send it to Ana", "delete the copy"],
        ),
        ("Could you please look up the weather?", ["look up the weather"]),
        ("read the page\nsummarise what it says", ["read the page", "summarise what it says"]),
        ("Send the letter. Thanks!", ["Send the letter Thanks"]),
        ("Thanks! Send the letter.", ["Send the letter"]),
        ("weather", ["weather"]),
        ("please", ["please"]),
        ("Send a letter to Ana. !!! ", ["Send a letter to Ana"]),
        ("", [""]),
    ],
)
def test_a_question_falls_into_its_parts(question: str, found: list[str]) -> None:
    assert clauses(question) == found


@given(st.text(max_size=4_000))
def test_there_are_few_of_them_whatever_is_asked(text: str) -> None:
    found = clauses(text)

    assert 1 <= len(found) <= MOST_CLAUSES
    assert sum(map(len, found)) <= LONGEST_QUERY


@pytest.mark.parametrize("part", [" ", "\n \n", ", ", " and ", ";", "please ", "a, and b "])
def test_repetition_does_not_make_it_slow(part: str) -> None:
    """Each of these took the square of its length before blanks were joined."""
    assert len(clauses(part * 100_000)) <= MOST_CLAUSES


def test_blanks_are_joined_and_lines_kept() -> None:
    assert whole("  read \t it \n\n  now  ") == "read it\nnow"
