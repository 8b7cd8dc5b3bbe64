"""Variables, as each client writes them."""

import pytest

from portico.gateway.core.client_files.variables import (
    Unknown,
    built_in_at,
    filled,
    pieces,
    project_of,
    variable_for,
)
from portico.gateway.core.server import FromEnvironment, Spelling

X = FromEnvironment("X")


def test_a_text_is_taken_apart() -> None:
    rows: list[tuple[str, Spelling | None, list[object]]] = [
        ("${X}", None, ["${X}"]),
        ("${X}", "braces", [X]),
        ("${env:X}", "braces", [X]),
        ("$X and ${X:-a b}!", "braces", ["$X and ", FromEnvironment("X", "a b"), "!"]),
        ("${X:-${Y}}", "braces", [Unknown("${X:-${Y}}")]),
        ("${x y}", "braces", [Unknown("${x y}")]),
        ("${X", "braces", ["${X"]),
        ("", "braces", []),
        ("${X}", "env", [Unknown("${X}")]),
        ("a${env:X}b", "env", ["a", X, "b"]),
        ("${input:my key}", "env", [FromEnvironment("MY_KEY")]),
        ("${userHome}${/}x", "env", ["/home/ana", "/", "x"]),
        ("${config:x}", "env", [Unknown("${config:x}")]),
        ("$X-${X:-1}$5$", "shell", [X, "-", FromEnvironment("X", "1"), "$5$"]),
    ]

    for text, spelling, parts in rows:
        known = built_in_at("/home/ana/.cursor/mcp.json", "/home/ana")

        assert list(pieces(text, spelling, known)) == parts


def test_a_text_is_filled_in_with_what_is_set_now() -> None:
    around = {"HOME": "/home/ana", "X": "1", "EMPTY": ""}
    text = "${env:X} ${workspaceFolder} ${workspaceFolderBasename} ${userHome}"

    told = filled(text, "env", path="/srv/shop/.vscode/mcp.json", environment=around)

    assert told == "1 /srv/shop shop /home/ana"
    assert filled("${EMPTY:-d} ${N:-e}", "braces", path="", environment=around) == "d e"


@pytest.mark.parametrize(
    ("text", "name"), [("a${env:GONE}", "GONE"), ("${config:x}", "${config:x}")]
)
def test_what_is_not_set_is_named(text: str, name: str) -> None:
    with pytest.raises(KeyError) as caught:
        filled(text, "env", path="/x", environment={})

    assert caught.value.args == (name,)


def test_a_file_belongs_to_a_project_or_to_all() -> None:
    rows: list[tuple[str, str | None]] = [
        ("/srv/shop/.mcp.json", "/srv/shop"),
        ("/srv/shop/.cursor/mcp.json", "/srv/shop"),
        ("/home/ana/.cursor/mcp.json", None),
        ("/home/ana/.mcp.json", None),
        ("/home/ana/.config/Code/User/mcp.json", None),
    ]

    for path, project in rows:
        assert project_of(path, "/home/ana") == project


def test_a_question_has_a_variable() -> None:
    assert variable_for("-my api.key ") == "MY_API_KEY"
