"""Search for tools: the index, the question, the ranking and its reasons."""

from collections import Counter
from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from portico.gateway.core.search import (
    LONGEST_QUERY,
    MOST_CLAUSES,
    MOST_QUERIES,
    NOTHING,
    Question,
    Ranking,
    SearchIndex,
    clauses,
    texts_to_embed,
    texts_to_index,
    whole,
)
from portico.gateway.core.search_scoring import (
    ENCODER,
    STATIC,
    Calibration,
    FitScores,
    Floats,
    Judgement,
    NameCoverage,
    ServerTexts,
    Weights,
    any_of,
    confidence,
    log_softmax,
    logits,
    scored,
    server_texts,
    standardised,
)
from portico.gateway.core.search_text import (
    FIELD_WEIGHTS,
    FIELDS,
    Document,
    Lexicon,
    ToolText,
    dense_text,
    fields,
    name_words,
    server_text,
    split_identifier,
    tool_document,
    words,
)
from tests.gateway.core.shop import TOOLS, a_tool, embedded, index_of, plain_stem, vectors_for
from tests.gateway.core.shop import Floats as ShopFloats


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


def signs(*top: float) -> FitScores:
    values = np.array(top, np.float32)
    return FitScores(values, values * 0, values * 0)


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


INDEX = index_of(TOOLS)
ALL_MODELS = [(), (STATIC,), (ENCODER,), (STATIC, ENCODER)]


def found(index: SearchIndex, *queries: str, limit: int = 10) -> Ranking:
    question = Question.of(queries)
    return index.search(question, vectors_for(question), limit)


def refs(ranking: Ranking) -> list[str]:
    return [hit.ref for hit in ranking.hits]


def test_the_right_tool_comes_first_with_whatever_models_there_are() -> None:
    for models in ALL_MODELS:
        ranking = found(index_of(TOOLS, models), "delete the file at this path")

        assert refs(ranking)[0] == "files.delete_file", models
        assert ranking.fits, models
        assert ranking.servers[0] == "files", models
        assert sum(hit.probability for hit in ranking.hits) == pytest.approx(1, rel=1e-3), models


def test_a_tool_is_found_by_meaning_where_no_word_is_the_same() -> None:
    assert refs(found(INDEX, "letter"))[0] == "post.send_email"
    assert refs(found(INDEX, "photo"))[0] == "pictures.resizeImage"


def test_several_steps_give_one_list_that_has_a_tool_for_each() -> None:
    ranking = found(INDEX, "send an email", "read a text file")

    assert set(refs(ranking)[:2]) == {"post.send_email", "files.read_file"}
    answers = {hit.ref: hit.why.answers for hit in ranking.hits[:2]}
    assert answers["post.send_email"] == "send an email"


def test_every_hit_says_why() -> None:
    [first, *_] = found(INDEX, "delete a file", limit=1).hits

    assert [str(each) for each in first.why.words] == [
        "delete (name, description)",
        "file (name, description, server)",
    ]
    assert 0 < first.why.lexical_share < 1
    assert first.why.similarity > 0.4
    assert str(first.why).startswith("delete (name, description), file (")
    assert first.why.answers == "delete a file"


def test_a_hit_without_anything_in_common_says_so() -> None:
    ranking = found(index_of(TOOLS, ()), "zebra")

    assert {str(hit.why) for hit in ranking.hits} == {"nothing in common"}
    assert ranking.hits[0].why.lexical_share == 0
    assert refs(ranking) == [tool.ref for tool in TOOLS]


def test_a_clause_is_named_where_a_question_has_several() -> None:
    ranking = found(INDEX, "Get the weather forecast and send an email to Ana")

    answers = {hit.ref: hit.why.answers for hit in ranking.hits}
    assert answers["post.send_email"] == "send an email to Ana"


def test_what_is_strange_to_the_catalogue_does_not_fit() -> None:
    ranking = found(INDEX, "tune the carburettor of an old moped")

    assert not ranking.fits
    assert ranking.confidence < 0.5 < found(INDEX, "send an email").confidence


def test_a_step_that_fits_is_enough() -> None:
    assert found(INDEX, "tune the carburettor", "send an email").fits


@pytest.mark.parametrize("marks", [True, False])
def test_a_tool_that_is_not_allowed_does_not_exist(marks: bool) -> None:
    question = Question.of(["delete the file"])
    visible = np.array([tool.ref != "files.delete_file" for tool in TOOLS])
    allowed = visible if marks else lambda ref: ref != "files.delete_file"

    ranking = INDEX.search(question, vectors_for(question), 10, allowed=allowed)

    assert "files.delete_file" not in refs(ranking)
    assert sum(hit.probability for hit in ranking.hits) == pytest.approx(1, rel=1e-3)
    assert INDEX.search(question, {}, 10, allowed=np.zeros(len(TOOLS), np.bool_)) is NOTHING


@settings(max_examples=25)
@given(st.sets(st.integers(0, 5), min_size=1), st.sampled_from(["file", "letter", "rain days"]))
def test_hiding_tools_leaves_the_order_of_the_others(shown: set[int], text: str) -> None:
    silent = index_of([replace(tool, about_server="") for tool in TOOLS])
    question = Question.of([text])
    mask = np.isin(np.arange(len(TOOLS)), list(shown))

    some = silent.search(question, vectors_for(question), 10, allowed=mask)

    visible = {TOOLS[place].ref for place in shown}
    assert refs(some) == [ref for ref in refs(found(silent, text)) if ref in visible]


@settings(max_examples=25)
@given(st.sampled_from(["zebra", "quagga herd", "gnu"]), st.text("klmnop ", min_size=1))
def test_another_tool_leaves_the_order_by_vectors_of_the_others(text: str, more: str) -> None:
    """No word of the question is in any tool, so that nothing but vectors speaks."""
    silent = [replace(tool, about_server="") for tool in TOOLS]

    before = refs(found(index_of(silent, (ENCODER,)), text))
    after = refs(found(index_of([*silent, a_tool("new.one", more)], (ENCODER,)), text))

    assert [ref for ref in after if ref != "new.one"] == before


@settings(max_examples=25)
@given(st.lists(st.text(max_size=400), min_size=1, max_size=4), st.text(), st.text())
def test_hostile_texts_are_ranked_like_any_others(
    queries: list[str], name: str, description: str
) -> None:
    tools = [*TOOLS[:2], a_tool(f"x.{name}", description, about=name)]

    ranking = found(index_of(tools), *queries)

    assert all(np.isfinite(hit.score) for hit in ranking.hits)
    assert 0 <= ranking.confidence <= 1


def test_half_a_character_is_no_obstacle() -> None:
    assert found(index_of([a_tool("x.\ud800", "\udfff broken")]), "\ud800 broken").hits


def test_an_index_made_from_an_older_one_is_the_same_as_a_fresh_one() -> None:
    changed = (*TOOLS[:3], a_tool("files.read_file", "Read the text of a file"))

    again, fresh = index_of(changed, reuse=INDEX), index_of(changed)

    assert again.lexicon.documents[0] is INDEX.lexicon.documents[0]
    assert refs(found(again, "read text")) == refs(found(fresh, "read text"))
    assert np.array_equal(again.lexicon.impacts, fresh.lexicon.impacts)


def test_vectors_of_another_model_are_left_aside() -> None:
    question = Question.of(["delete a file"])
    vectors = {**vectors_for(question, (STATIC,)), ENCODER: np.ones((1, 7), np.float32)}

    ranking = INDEX.search(question, vectors, 10)

    assert ranking == INDEX.search(question, vectors_for(question, (STATIC,)), 10)


def test_a_model_that_gives_no_numbers_breaks_nothing() -> None:
    question = Question.of(["delete a file"])
    broken = {model: np.full_like(rows, np.nan) for model, rows in vectors_for(question).items()}

    assert refs(INDEX.search(question, broken, 1)) == ["files.delete_file"]


def test_a_missing_vector_is_told_at_once() -> None:
    with pytest.raises(ValueError, match="vectors for"):
        SearchIndex.build(TOOLS, {STATIC: embedded(["one"])}, stem=plain_stem)


def test_no_more_than_asked_for() -> None:
    rows: list[tuple[int, int]] = [(-1, 0), (0, 0), (2, 2), (6, 6), (99, 6)]

    for limit, count in rows:
        assert refs(found(INDEX, "file", limit=limit)) == refs(found(INDEX, "file"))[:count]


def test_without_tools_or_without_a_question_there_is_nothing() -> None:
    assert found(index_of([]), "anything") is NOTHING
    assert found(INDEX, "", " ") is NOTHING
    assert texts_to_index([])[ENCODER]


def test_a_model_that_puts_everything_close_together_counts_as_much() -> None:
    """Some encoders give cosines between 0.8 and 0.9 and nothing else."""
    close = np.concatenate([np.ones((1, 1)), np.zeros((1, 47))], axis=1).astype(np.float32)
    question = Question.of(["letter"])

    def squeezed(rows: ShopFloats) -> ShopFloats:
        near = rows + 3 * close
        return np.asarray(near / np.linalg.norm(near, axis=1, keepdims=True), np.float32)

    tools = texts_to_index(TOOLS)[ENCODER]
    index = SearchIndex.build(TOOLS, {ENCODER: squeezed(embedded(tools))}, stem=plain_stem)
    ranking = index.search(question, {ENCODER: squeezed(embedded(["letter"]))}, 10)

    usual = index_of(TOOLS, (ENCODER,)).search(question, vectors_for(question, (ENCODER,)), 10)
    assert refs(ranking)[0] == refs(usual)[0] == "post.send_email"
    assert ranking.hits[0].probability == pytest.approx(usual.hits[0].probability, abs=0.25)
    assert ranking.hits[0].why.similarity > 0.8


Fields = list[list[str]]
WORDS = st.lists(st.sampled_from("abcdef"), max_size=6)


def by_the_book(documents: list[Fields], weights: list[float], query: list[str]) -> list[float]:
    average = [sum(len(each[f]) for each in documents) / len(documents) for f in range(2)]
    scores = []
    for document in documents:
        total = 0.0
        for stem in set(query):
            having = sum(any(stem in field for field in each) for each in documents)
            rarity = log(1 + (len(documents) - having + 0.5) / (having + 0.5))
            amount = sum(
                weights[f] * Counter(field)[stem] / (0.5 + 0.5 * len(field) / (average[f] or 1))
                for f, field in enumerate(document)
            )
            total += rarity * amount * 2.2 / (amount + 1.2)
        scores.append(total)
    return scores


@given(st.lists(st.tuples(WORDS, WORDS).map(list), min_size=1, max_size=6), WORDS)
def test_scores_are_those_of_the_book(documents: list[Fields], query: list[str]) -> None:
    lexicon = Lexicon.of([Document.of(each) for each in documents], [2.0, 0.5])

    assert lexicon.scores(query) == pytest.approx(
        by_the_book(documents, [2.0, 0.5], query), rel=1e-4, abs=1e-5
    )


def test_a_name_counts_more_than_a_description() -> None:
    tools = [a_tool("x.forecast", "about days"), a_tool("x.days", "about forecast")]

    lexicon = Lexicon.of([tool_document(tool, plain_stem) for tool in tools], FIELD_WEIGHTS)

    name, description = lexicon.scores(["forecast"])
    assert name > description > 0


def test_a_rare_word_counts_more_and_an_unknown_one_most() -> None:
    lexicon = Lexicon.of([tool_document(tool, plain_stem) for tool in TOOLS], FIELD_WEIGHTS)

    assert lexicon.rarity_of("file") < lexicon.rarity_of("email") < lexicon.rarity_of("zebra")


def test_a_word_is_found_in_the_fields_that_have_it() -> None:
    tool = a_tool("files.read_file", "Read a text", parameters=[("file", "of text")])

    found = tool_document(tool, plain_stem).fields_with({"file", "text", "nowhere"})

    named = {stem: [FIELDS[field] for field in each] for stem, each in found.items()}
    assert named == {
        "file": ["name", "server", "parameter"],
        "text": ["description", "parameter description"],
    }


def test_an_empty_lexicon_has_nothing_to_say() -> None:
    assert np.array_equal(Lexicon.of([], FIELD_WEIGHTS).scores(["word"]), np.zeros(0))


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


def test_a_server_that_speaks_of_it_lifts_all_of_its_tools() -> None:
    servers = ServerTexts.of(TOOLS, {"static": embedded(server_texts(TOOLS))}, plain_stem)

    [row] = servers.scores([["parcel"]], {"static": embedded(["parcel"])})

    assert servers.told
    assert row[0] == row[1] == row.max()


def test_servers_that_say_nothing_are_no_evidence() -> None:
    silent = [a_tool("a.x"), a_tool("b.y")]
    single = [a_tool("a.x", about="All about x")]

    assert not ServerTexts.of(silent, {}, plain_stem).told
    assert not ServerTexts.of(single, {}, plain_stem).told


def test_the_best_servers_are_those_whose_tools_have_most_together() -> None:
    servers = ServerTexts.of(TOOLS, {}, plain_stem)

    best = servers.best(np.array([0.2, 0.2, 0.3, 0, 0, 0], np.float32), 5)

    assert best == ["post", "sky"]
