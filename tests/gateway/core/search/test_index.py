"""Searching a catalogue."""

from collections import Counter
from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.gateway.core.search import NOTHING, Question, Ranking, SearchIndex, texts_to_index
from portico.gateway.core.search_scoring import (
    ENCODER,
    STATIC,
    NameCoverage,
    ServerTexts,
    server_texts,
)
from portico.gateway.core.search_text import FIELD_WEIGHTS, FIELDS, Document, Lexicon, tool_document
from tests.gateway.core.search.shop import (
    TOOLS,
    Floats,
    a_tool,
    embedded,
    index_of,
    plain_stem,
    vectors_for,
)

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

    def squeezed(rows: Floats) -> Floats:
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
