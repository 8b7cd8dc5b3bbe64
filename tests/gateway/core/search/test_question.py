"""What is asked, and how it is taken apart."""

from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.search.clauses import LONGEST_QUERY, MOST_CLAUSES, clauses, whole
from portico.gateway.core.search.fusion import ENCODER, STATIC
from portico.gateway.core.search.question import MOST_QUERIES, Question, texts_to_embed


def test_one_query_is_taken_apart() -> None:
    question = Question.of(["Find a hotel and book it"])

    assert question.texts == ("Find a hotel and book it", "Find a hotel", "book it")
    assert question.words == ("hotel", "book")
    assert question.groups == [[0, 1], [0], [1]]
    assert not question.steps


def test_several_queries_are_steps_beside_their_sum() -> None:
    question = Question.of(["find a hotel and book it", "", "rent a car"])

    assert question.texts == (
        "find a hotel and book it rent a car",
        "find a hotel and book it",
        "rent a car",
    )
    assert question.steps


def test_a_question_without_parts_is_its_own_whole() -> None:
    whole = Question.of(["Find a hotel and book it"]).as_a_whole

    assert whole == Question.of(["Find a hotel and book it"]).as_a_whole
    assert whole.texts == ("Find a hotel and book it",)
    assert Question.of(["weather"]).texts == ("weather",)


def test_the_static_table_looks_up_single_words_too() -> None:
    wanted = texts_to_embed(Question.of(["rain tomorrow"]))

    assert wanted[STATIC] == ["rain tomorrow", "rain", "tomorrow"]
    assert list(wanted[ENCODER]) == ["rain tomorrow"]


def test_nothing_asked_has_no_texts() -> None:
    assert Question.of(["", "  "]) == Question((), (), ())


@given(st.lists(st.text(max_size=5_000), max_size=30))
def test_a_question_stays_small(queries: list[str]) -> None:
    question = Question.of(queries)

    assert len(question.texts) <= 1 + MOST_QUERIES
    assert all(len(text) <= 2_000 for text in question.texts)
    assert len(question.words) <= 8 * MOST_QUERIES


def test_every_step_has_a_share_of_the_words_that_are_looked_at() -> None:
    question = Question.of([" ".join(f"a{n}" for n in range(90)), "rent a car"])

    assert {"rent", "car"} <= set(question.words)


def test_a_question_falls_into_its_parts() -> None:
    rows: list[tuple[str, list[str]]] = [
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
    ]

    for question, found in rows:
        assert clauses(question) == found


@given(st.text(max_size=4_000))
def test_there_are_few_of_them_whatever_is_asked(text: str) -> None:
    found = clauses(text)

    assert 1 <= len(found) <= MOST_CLAUSES
    assert sum(map(len, found)) <= LONGEST_QUERY


def test_repetition_does_not_make_it_slow() -> None:
    """Each of these took the square of its length before blanks were joined."""
    for part in (" ", "\n \n", ", ", " and ", ";", "please ", "a, and b "):
        assert len(clauses(part * 100_000)) <= MOST_CLAUSES


def test_blanks_are_joined_and_lines_kept() -> None:
    assert whole("  read \t it \n\n  now  ") == "read it\nnow"
