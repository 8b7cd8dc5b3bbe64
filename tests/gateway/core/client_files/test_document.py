"""Documents with comments, trailing commas and marks, and the places in them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.client_files.document import (
    Lines,
    Unreadable,
    parsed,
    pointer_to,
    text_at,
    value_at,
)

JSONC = """\ufeff// a comment
{
  "a": "// no comment, and /* none */, \\" either", // but this is
  /* over
     two lines */ "b": [1, 2, /* , */ ],
  "c": {"d/e": {"x~y": true,},},
}
"""


def test_comments_and_trailing_commas_are_passed_over() -> None:
    assert parsed("x.json", JSONC) == {
        "a": '// no comment, and /* none */, " either',
        "b": [1, 2],
        "c": {"d/e": {"x~y": True}},
    }


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_plain_json_is_read_as_it_is(value: object) -> None:
    assert parsed("x.json", json.dumps({"it": value})) == {"it": value}


def test_a_pointer_finds_a_text() -> None:
    rows: list[tuple[str, str | None]] = [
        ("/a", '// no comment, and /* none */, " either'),
        ("/b/1", "2"),
        ("/b/2", None),
        ("/b/x", None),
        ("/b/0/1", None),
        ("/a/0", None),
        ("/c", None),
        ("/c/d~1e/x~0y", "true"),
        ("/nothing/there", None),
    ]

    for pointer, text in rows:
        assert text_at("x.json", JSONC, pointer) == text


def test_the_pointer_to_the_whole_is_the_whole_text() -> None:
    assert text_at("/run/secrets/key", "\ufeffabc \n", "") == "abc"
    assert value_at({"a": 1}, "") == {"a": 1}


def test_a_pointer_is_written_and_read_alike() -> None:
    assert pointer_to("a/b", "c~d", 3) == "/a~1b/c~0d/3"
    assert value_at({"a/b": {"c~d": [0, 1, 2, "x"]}}, pointer_to("a/b", "c~d", 3)) == "x"


def test_a_place_has_a_line() -> None:
    rows: list[tuple[str, int | None]] = [
        ("", 2),
        ("/a", 3),
        ("/b", 5),
        ("/b/1", 5),
        ("/c/d~1e/x~0y", 6),
        ("/d", None),
        ("/a/x", None),
    ]

    for pointer, line in rows:
        assert Lines("x.json", JSONC).of(pointer) == line


def test_of_two_members_of_one_name_the_last_counts() -> None:
    text = '{"a": 1,\n"a": 2}'

    assert text_at("x.json", text, "/a") == "2"
    assert Lines("x.json", text).of("/a") == 2


TOML = """\ufeffname = "x"\r
[[list]]
[a."b.c"]
x = 1.5
[broken =
"""


def test_toml_is_read_with_a_mark_and_with_any_line_ends() -> None:
    assert parsed("x.toml", TOML.partition("[broken")[0]) == {
        "name": "x",
        "list": [{}],
        "a": {"b.c": {"x": 1.5}},
    }
    assert text_at("x.toml", TOML.partition("[broken")[0], "/a/b.c/x") == "1.5"


def test_a_table_has_a_line() -> None:
    assert Lines("x.toml", TOML).of("/a/b.c") == 3
    assert Lines("x.toml", TOML).of("/name") is None


def test_lines_of_names_and_values_are_read() -> None:
    text = "A=1\n# B=2\nexport C = \"x # y\"\nD='z'\nE=v # why\nF=\n=G\n"

    assert parsed("/p/.env.local", text) == {"A": "1", "C": "x # y", "D": "z", "E": "v", "F": ""}
    assert text_at("/p/prod.env", text, "/E") == "v"


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("x.json", '{"a": 1\n"b": 2}', 2),
        ("x.json", "[" * 100_000, None),
        ("x.json", '{"a": ' + "9" * 5000 + "}", None),
        ("x.json", '"x"', 1),
        ("x.toml", "a = 1\nb = = 2", 2),
        ("x.toml", "a = " + "[" * 5000, None),
    ],
)
def test_what_is_no_document_says_where(path: str, text: str, line: int | None) -> None:
    with pytest.raises(Unreadable) as caught:
        parsed(path, text)

    assert caught.value.line == line
