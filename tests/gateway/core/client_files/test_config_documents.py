"""Documents with comments, trailing commas and marks, and the places in them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.client_configs import (
    CURSOR,
    Noticing,
    client_of,
    commands_of_ours,
    leads_here,
    names_in,
    project_files,
    seconds,
    told_apart,
    user_files,
)
from portico.gateway.core.config_documents import (
    ConfigLocation,
    Described,
    Lines,
    ServerSpec,
    Unreadable,
    parsed,
    pointer_to,
    text_at,
    value_at,
)
from portico.gateway.core.servers import Foreign, FromFile, Http, Plain, Stdio

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


def test_files_are_where_the_environment_says_and_in_projects() -> None:
    """Where they are stands in `places.json`."""
    moved = {"XDG_CONFIG_HOME": "/cfg", "CODEX_HOME": "/codex", "CLAUDE_CONFIG_DIR": "/claude"}
    found = {
        "usual": user_files({}, "/home/ana"),
        "moved": user_files(moved, "/home/ana"),
        "of a project": project_files("/srv"),
    }

    assert {
        kind: {path: client.name for path, client in files.items()} for kind, files in found.items()
    } == json.loads(Path(__file__).with_name("places.json").read_text("utf-8"))


def test_a_file_is_known_by_its_place_or_by_its_top() -> None:
    rows: list[tuple[str, str, str]] = [
        ("/home/ana/.claude.json", "", "claude-code"),
        ("/srv/.cursor/mcp.json", "", "cursor"),
        ("/srv/x.json", '{"context_servers": {}}', "zed"),
        ("/srv/x.json", '{"servers": {}}', "vscode"),
        ("/srv/x.toml", "[mcp_servers.x]", "codex"),
        ("/srv/x.json", '{"mcpServers": {}}', "mcp-json"),
        ("/srv/x.json", "{", "mcp-json"),
    ]

    for path, text, name in rows:
        assert client_of(path, text, user_files({}, "/home/ana")).name == name


def test_lists_and_spans_are_taken_as_far_as_they_are_some() -> None:
    assert names_in(["a", 1, "b"]) == ["a", "b"]
    assert names_in("ab") == []
    assert seconds(1500, 0.001) == 1.5
    assert [seconds(each) for each in (0, -1, "5", True, None, 4000)] == [None] * 6


PLACE = ConfigLocation(
    path="/home/ana/.cursor/mcp.json",
    home="/home/ana",
    environment={},
    own_url="http://127.0.0.1:3100",
    read=lambda _: None,
)


def test_a_client_comes_to_us_by_command_or_address() -> None:
    rows: list[tuple[str, bool]] = [
        ('{"mcpServers": {"x": {"command": "/opt/bin/portico", "args": ["stdio"]}}}', True),
        ('{"mcpServers": {"y": {}, "x": {"url": "http://localhost:3100/mcp"}}}', True),
        ('{"mcpServers": {"x": {"url": "http://127.0.0.1:3999/mcp"}}}', False),
        ('{"mcpServers": {"portico": {"command": "other"}}}', False),
        ('{"mcpServers": {"portico": 5}}', False),
        ('{"mcpServers": []}', False),
        ("{", False),
        ("", False),
    ]

    for text, leads in rows:
        assert leads_here(CURSOR, PLACE, text) is leads


def test_the_commands_by_which_we_are_started_are_told() -> None:
    rows: list[tuple[str, list[str]]] = [
        (
            '{"mcpServers": {"x": {"command": "/opt/bin/portico", "args": ["stdio"]}, "y": {},'
            ' "z": {"command": 7}, "u": {"command": "uvx", "args": ["portico", "stdio"]}}}',
            ["/opt/bin/portico", "uvx"],
        ),
        ('{"mcpServers": []}', []),
        ('{"mcpServers": {"x": {"url": "http://localhost:3100/mcp"}}}', []),
        ('{"mcpServers": {"x": {"command": "other"}}}', []),
        ("{", []),
    ]

    for text, commands in rows:
        assert commands_of_ours(CURSOR, PLACE, text) == commands


def test_a_change_counts_when_it_has_been_seen_twice() -> None:
    noticing = Noticing({"a": "1", "b": "1"})

    told = [noticing.changed({"a": each, "b": "1"}) for each in ("1", "2", "2", "2")]

    assert told == [set(), set(), {"a"}, set()]


def test_a_file_that_is_still_being_written_is_waited_for() -> None:
    noticing = Noticing({"a": "1"})

    told = [noticing.changed({"a": each}) for each in ("half", "more", "all", "all")]

    assert told == [set(), set(), set(), {"a"}]


def test_a_file_that_comes_back_as_it_was_has_not_changed() -> None:
    noticing = Noticing({"a": "1"})

    told = [noticing.changed({"a": each}) for each in (None, None, "1", None, None, "1")]

    assert told == [set()] * 6


def test_a_file_that_stays_away_has_changed() -> None:
    noticing = Noticing({"a": "1"})

    told = [noticing.changed({"a": None}) for _ in range(4)]

    assert told == [set(), set(), {"a"}, set()]


def test_other_files_may_be_asked_for_from_then_on() -> None:
    noticing = Noticing({"a": "1"})

    told = [noticing.changed({"b": "1"}) for _ in range(3)]
    again = [noticing.changed({"a": "1", "b": "1"}) for _ in range(3)]

    assert told == [set(), {"b"}, set()]
    assert again == [set(), {"a"}, set()]


def wish(name: str, launch: Foreign, otherwise: str = "") -> ServerSpec:
    return ServerSpec(name=name, called=name, launch=launch, where=f"/{name}", otherwise=otherwise)


def file(name: str, *wishes: ServerSpec) -> Described:
    return Described(origin=name, client=name, wishes=wishes)


def test_the_same_server_in_two_files_is_taken_once() -> None:
    def github(where: str) -> Stdio:
        key = FromFile(where, "/x")
        return Stdio("npx", (Plain("gh"), key), {"TOKEN": key})

    first, second = told_apart(
        [file("a", wish("github", github("a"))), file("b", wish("github", github("b")))]
    )

    assert [each.name for each in first.wishes] == ["github"]
    assert second.wishes == []
    assert [each.left_out for each in second.problems] == [False]


def test_different_servers_of_one_name_are_told_apart() -> None:
    first, second = told_apart(
        [
            file("a", wish("db", Stdio("one")), wish("db", Stdio("two"), "shop")),
            file("b", wish("db", Http("https://x"), "cursor"), wish("y", Http("https://x"))),
        ]
    )

    assert [each.name for each in first.wishes] == ["db", "db-shop"]
    assert [each.name for each in second.wishes] == ["db-cursor", "y"]


def test_what_has_nothing_to_tell_it_apart_is_numbered() -> None:
    [told] = told_apart([file("a", *(wish("db", Stdio(each)) for each in ("x", "y", "z")))])

    assert [each.name for each in told.wishes] == ["db", "db-2", "db-3"]
