"""Words of tools and questions, whoever wrote them."""

from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.search.text import (
    ToolText,
    dense_text,
    fields,
    name_words,
    server_text,
    split_identifier,
    words,
)
from tests.gateway.core.search.shop import a_tool


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
