"""Evidence: BM25F beside the same written out by the book, names, and servers."""

from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.search.coverage import NameCoverage
from portico.gateway.core.search.lexical import (
    FIELD_WEIGHTS,
    Document,
    Lexicon,
    tool_document,
)
from portico.gateway.core.search.servers import ServerTexts, server_texts
from portico.gateway.core.search.text import FIELDS
from tests.gateway.core.search.shop import TOOLS, a_tool, embedded, plain_stem

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
