"""Descriptions that are odd, wrong or hostile."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.client_files.claude_desktop import CLAUDE_DESKTOP
from portico.gateway.core.client_files.codex import CODEX
from portico.gateway.core.client_files.mcp_json import MCP_JSON
from portico.gateway.core.client_files.wish import Described
from portico.gateway.core.server import FromEnvironment, FromFile, Http, Plain, Stdio, Template
from tests.gateway.core.client_files.reading import left_out, said

PATH = "/home/ana/mcp.json"


def one(fields: object, name: str = "x", **environment: str) -> Described:
    return said(MCP_JSON, json.dumps({"mcpServers": {name: fields}}), PATH, **environment)


def test_what_cannot_be_taken_is_left_out_with_the_reason() -> None:
    rows: list[tuple[object, str]] = [
        ({"command": ""}, "its command is not a text"),
        ({"command": ["npx", "x"]}, "its command is not a text"),
        ({"command": "npx", "args": "x y"}, "its args are not a list"),
        ({"command": "npx", "args": [["x"]]}, "one of its args is not a text"),
        ({"command": "npx", "env": ["A=1"]}, "its env is not an object"),
        ({"command": "npx", "env": {"A": {}}}, "the value of A is not a text"),
        ({"command": "npx", "env": {"A=B": "1"}}, "a name in its env cannot be one"),
        ({"command": "npx", "cwd": 1}, "its cwd is not a text"),
        ({"command": "npx 'x"}, "its command has an odd quote"),
        ({"command": "${NOT_SET}/x"}, "its command names a variable that is not set"),
        ({"command": "${NOT_SET:-}"}, "its command is empty"),
        (
            {"command": "npx x --token SECRET"},
            "a secret stands in its command; in args it could be taken from there",
        ),
        ({"url": "ftp://x"}, "its url is not an address of the form https://…"),
        ({"url": 5}, "its url is not an address of the form https://…"),
        ({"url": "https://x", "headers": {"A\nB": "1"}}, "a name in its headers cannot be one"),
        (
            {"command": "npx", "args": ["${A:-${B}}"]},
            "it names ${A:-${B}}, which only its client knows",
        ),
        ({"command": "npx\x00"}, "a letter in it is no letter"),
        ({"command": "npx\ud800"}, "it holds what is no text, number or list"),
    ]

    for fields, reason in rows:
        told = one(fields)

        assert not told.wishes, fields
        assert left_out(told) == {"x": reason}


def test_a_name_is_something_that_can_be_told() -> None:
    for name in ("", "x" * 201):
        assert left_out(one({"command": "npx"}, name=name)) == {
            name: "its name is empty, or too long"
        }


def test_a_date_in_a_description_is_none_of_ours() -> None:
    told = said(CODEX, '[mcp_servers.x]\ncommand = "npx"\nsince = 2026-01-01', "/c/config.toml")

    assert left_out(told) == {"x": "it holds what is no text, number or list"}


def test_a_list_of_servers_that_is_none_is_a_problem_of_the_file() -> None:
    for text in ('{"mcpServers": 5}', '{"mcpServers": ["x"]}'):
        told = said(MCP_JSON, text, PATH)

        assert left_out(told) == {None: "mcpServers is not an object"}, text


def test_a_file_that_cannot_be_read_says_where() -> None:
    rows: list[tuple[str, int]] = [('{\n"mcpServers": {\n"x": }\n}', 3), ("[]", 1), ("{", 1)]

    for text, line in rows:
        told = said(MCP_JSON, text, PATH)

        assert [(each.server, each.line) for each in told.problems] == [(None, line)]
        assert not told.readable, text


def test_a_file_without_servers_says_nothing() -> None:
    for text in ("", " \n", "{}", '{"other": 1}'):
        told = said(CLAUDE_DESKTOP, text, PATH)
        assert (told.wishes, told.problems) == ([], [])


def test_a_variable_of_the_command_is_filled_in_where_it_can_be_seen() -> None:
    told = one({"command": "${TOOLS}/x", "cwd": "${TOOLS:-/opt}"}, TOOLS="/srv/tools")

    assert told.readable
    assert told.wishes[0].launch == Stdio("/srv/tools/x", (), {}, "/srv/tools")


@pytest.mark.parametrize(
    ("given", "folder"),
    [("~", "/home/ana"), ("~/x", "/home/ana/x"), ("x", "/home/ana/x"), ("/x", "/x"), ("", None)],
)
def test_a_folder_is_absolute(given: str, folder: str | None) -> None:
    launch = one({"command": "npx", "cwd": given}).wishes[0].launch

    assert isinstance(launch, Stdio)
    assert launch.folder == folder


def test_a_program_with_a_path_is_not_taken_apart() -> None:
    launch = one({"command": "/Applications/My Tools/server"}).wishes[0].launch

    assert launch == Stdio("/Applications/My Tools/server")


def test_variables_that_decide_what_runs_are_part_of_what_is_approved() -> None:
    given = {
        "NODE_OPTIONS": "--require ./x.js",
        "PATH": "${HOME}/bin",
        "UV_INDEX_URL": "https://ana:SECRET@pypi.example/simple",
        "PORT": "3000",
    }

    launch = one({"command": "npx", "env": given}).wishes[0].launch

    assert isinstance(launch, Stdio)
    assert launch.environment == {
        "NODE_OPTIONS": Plain("--require ./x.js"),
        "PATH": Template((FromEnvironment("HOME"), "/bin")),
        "UV_INDEX_URL": FromFile(PATH, "/mcpServers/x/env/UV_INDEX_URL"),
        "PORT": FromFile(PATH, "/mcpServers/x/env/PORT"),
    }


def test_a_default_of_a_variable_may_be_a_secret() -> None:
    given = {"A": "${A:-SECRET}", "B": "${B:-}"}

    launch = one({"command": "x", "args": ["${T:-sk-0123456789abcdef}"], "env": given}).wishes[0]

    assert launch.launch == Stdio(
        "x",
        (FromFile(PATH, "/mcpServers/x/args/0", "braces"),),
        {"A": FromFile(PATH, "/mcpServers/x/env/A", "braces"), "B": FromEnvironment("B", "")},
    )


def test_a_variable_in_an_argument_leaves_the_rest_to_be_seen() -> None:
    rows: list[tuple[str, object]] = [
        (
            "Authorization: Bearer ${T}",
            Template(("Authorization: Bearer ", FromEnvironment("T"))),
        ),
        ("--token=${T}", Template(("--token=", FromEnvironment("T")))),
        (
            "Authorization: Bearer abcdef0123 ${T}",
            FromFile(PATH, "/mcpServers/x/args/1", "braces"),
        ),
    ]

    for argument, value in rows:
        launch = one({"command": "npx", "args": ["--header", argument]}).wishes[0].launch

        assert isinstance(launch, Stdio), argument
        assert launch.arguments[1] == value


def test_a_variable_in_a_value_is_seen_unless_the_rest_could_be_a_secret() -> None:
    rows: list[tuple[str, object]] = [
        ("Bearer ${T}", Template(("Bearer ", FromEnvironment("T")))),
        ("${U}:${T}", Template((FromEnvironment("U"), ":", FromEnvironment("T")))),
        ("https://${T}/api", Template(("https://", FromEnvironment("T"), "/api"))),
        ("hunter2${T}", None),
        ("${T:-hunter2}", None),
        ("https://ana:hunter2@${T}/api", None),
    ]

    for text, value in rows:
        told = one({"url": "https://x.example", "headers": {"X": text}})

        launch = told.wishes[0].launch
        assert isinstance(launch, Http), text
        kept = FromFile(PATH, "/mcpServers/x/headers/X", "braces")
        assert launch.headers["X"] == (value or kept)
        given = [each.reason for each in told.problems]
        assert given == ([] if value else ["is given the variables T"])


def test_an_empty_value_is_a_value() -> None:
    launch = one({"command": "x", "args": [""], "env": {"A": ""}}).wishes[0].launch

    assert launch == Stdio("x", (Plain(""),), {"A": FromFile(PATH, "/mcpServers/x/env/A")})


def test_an_env_file_that_cannot_be_read_gives_nothing() -> None:
    for file in ("/nowhere/.env", "/srv/shop/env.json"):
        launch = one({"command": "x", "envFile": file}).wishes[0].launch
        assert launch == Stdio("x")


def test_an_address_that_is_a_variable_stays_one() -> None:
    launch = one({"url": "${BASE}/mcp"}).wishes[0].launch

    assert launch == Http("${BASE}/mcp", secret_url=FromFile(PATH, "/mcpServers/x/url", "braces"))


def test_a_name_with_slashes_is_pointed_to() -> None:
    told = one({"command": "x", "env": {"A": "1"}}, name="@acme/tools~1")

    assert told.wishes[0].name == "acme-tools-1"
    launch = told.wishes[0].launch
    assert isinstance(launch, Stdio)
    assert launch.environment["A"] == FromFile(PATH, "/mcpServers/@acme~1tools~01/env/A")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
fields = st.dictionaries(
    st.sampled_from(["command", "args", "env", "cwd", "url", "headers", "type", "envFile"]), values
)


@given(servers=st.dictionaries(st.text(max_size=10), fields | values, max_size=4))
def test_whatever_stands_in_a_file_it_is_read(servers: object) -> None:
    told = said(MCP_JSON, json.dumps({"mcpServers": servers}), PATH)

    assert len({wish.where for wish in told.wishes}) == len(told.wishes)


@given(text=st.text(max_size=200))
def test_no_text_breaks_the_reading(text: str) -> None:
    said(MCP_JSON, text, PATH)
    said(CODEX, text, "/home/ana/.codex/config.toml")
