"""What is asked, and how it is taken apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from portico.gateway.core.search import (
    LONGEST_QUERY,
    MOST_CLAUSES,
    MOST_QUERIES,
    Question,
    clauses,
    texts_to_embed,
    whole,
)
from portico.gateway.core.search_scoring import (
    ENCODER,
    STATIC,
    Calibration,
    Floats,
    Judgement,
    Signs,
    Weights,
    any_of,
    confidence,
    log_softmax,
    logits,
    scored,
    standardised,
)
from portico.gateway.core.search_text import (
    ToolText,
    dense_text,
    fields,
    name_words,
    server_text,
    split_identifier,
    words,
)
from tests.gateway.core.search.shop import a_tool


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


def test_an_identifier_is_split_where_a_reader_would() -> None:
    rows: list[tuple[str, str]] = [
        ("get_user", "get user"),
        ("getHTTPUserById", "get HTTP User By Id"),
        ("files/read-all.now", "files read all now"),
        ("resize2Large", "resize2 Large"),
        ("plain words", "plain words"),
        ("", ""),
    ]

    for identifier, split in rows:
        assert split_identifier(identifier) == split


def test_words_are_found_in_any_script() -> None:
    rows: list[tuple[str, list[str]]] = [
        ("Please send the LETTER to me", ["send", "letter"]),
        ("天気を調べる", ["天", "気", "を", "調", "べ", "る"]),
        ("서울 날씨", ["서", "울", "날", "씨"]),
        ("मौसम की जानकारी", ["मौसम", "की", "जानकारी"]),
        ("Météo à Orléans", ["météo", "à", "orléans"]),
        ("\uff46\uff55\uff4c\uff4c\u3000width", ["full", "width"]),
        ("¿¡—…\x00\u200b", []),
        ("half \ud800 a character", ["half", "character"]),
    ]

    for text, found in rows:
        assert words(text) == found


def test_a_word_without_end_is_cut() -> None:
    assert words("x" * 10_000) == ["x" * 64]


def test_a_tool_is_told_to_a_model_in_one_line() -> None:
    tool = a_tool("my_files.readFile", "Reads it.", parameters=[("maxLines", "how many")])

    assert dense_text(tool) == "my files read File: Reads it. Parameters: max Lines"
    assert dense_text(a_tool("ping")) == "ping: "


def test_a_server_is_told_by_its_name_and_what_it_says() -> None:
    assert server_text(a_tool("my_files.x", about="All of them")) == "my files: All of them"


def test_what_a_tool_is_called_names_each_word_once() -> None:
    assert name_words(a_tool("files.files_read")) == ["files", "read"]


@given(st.builds(ToolText, st.text(), *[st.text(max_size=50)] * 3, st.just(()), st.text()))
def test_any_text_becomes_words(tool: ToolText) -> None:
    assert all(word and word == word.lower() for text in fields(tool) for word in words(text))


def test_a_tool_that_never_ends_is_read_to_a_point() -> None:
    endless = ToolText(
        ref="a.b",
        server="s" * 10_000,
        name="n" * 10_000,
        description="d" * 1_000_000,
        parameters=(("p" * 10_000, "q" * 10_000),) * 1_000,
        about_server="a" * 1_000_000,
    )

    assert sum(map(len, fields(endless))) < 140_000
    assert len(dense_text(endless)) < 50_000
    assert len(server_text(endless)) < 10_000


ROWS = arrays(
    np.float32,
    st.tuples(st.integers(1, 5), st.integers(1, 6)),
    elements=st.floats(-50, 50, width=32),
)


@given(ROWS)
def test_probabilities_sum_to_one(rows: Floats) -> None:
    assert np.exp(log_softmax(rows)).sum(axis=1) == pytest.approx(1, rel=1e-3)


@given(ROWS)
def test_answering_any_part_is_as_likely_as_the_likeliest_at_least(rows: Floats) -> None:
    known = log_softmax(rows)

    either = any_of(known)

    assert np.isfinite(either).all()
    assert (either >= known.max(axis=0) - 0.01).all()


@given(ROWS, st.booleans())
def test_scores_are_log_probabilities(rows: Floats, steps: bool) -> None:
    found = scored(rows, steps=steps)

    assert np.exp(found).sum() == pytest.approx(1, rel=1e-3)


def test_the_whole_decides_beside_clauses_and_the_parts_beside_steps() -> None:
    rows = np.array([[6, 0, 0], [0, 5, 0], [0, 0, 5]], np.float32)

    clauses, steps = scored(rows, steps=False), scored(rows, steps=True)

    assert clauses.argmax() == 0
    assert set(np.argsort(-steps)[:2]) == {1, 2}


def test_evidence_is_weighed_and_a_server_that_stands_out_gives_a_nudge() -> None:
    evidence = {
        "lexical": np.array([[2, 0]], np.float32),
        "static": np.array([[0, 1]], np.float32),
    }
    weights = Weights({"lexical": 1.0, "static": 3.0}, server=0.5)

    assert logits(evidence, None, weights).tolist() == [[2, 3]]
    assert logits(evidence, np.array([[1, 0]], np.float32), weights).tolist() == [[2.25, 3]]


def test_what_does_not_differ_says_nothing() -> None:
    assert standardised(np.full((1, 3), 7, np.float32)).tolist() == [[0, 0, 0]]


def signs(*top: float) -> Signs:
    values = np.array(top, np.float32)
    return Signs(values, values * 0, values * 0)


def test_most_of_the_background_is_turned_away() -> None:
    background = signs(*range(100))

    scores = Calibration.of(background, Judgement(1.0, 1.0, 1.0)).scores(background)

    assert (scores < 0).sum() == 80


def test_a_score_is_in_terms_of_what_is_usual_for_the_catalogue() -> None:
    judgement = Judgement(2.0, 0.0, 0.0)

    low = Calibration.of(signs(1, 2, 3), judgement).scores(signs(4))
    high = Calibration.of(signs(101, 102, 103), judgement).scores(signs(104))

    assert low == pytest.approx(high, abs=1e-3)


def test_confidence_is_a_half_where_doubt_begins() -> None:
    rows: list[tuple[float, float]] = [(0.0, 0.5), (-1e9, 0.0), (1e9, 1.0)]

    for score, sure in rows:
        assert confidence(score) == pytest.approx(sure)
