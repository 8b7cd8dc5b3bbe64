"""Descriptions that are odd, wrong or hostile."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.client_config_values import looks_secret, shown_url
from portico.gateway.core.client_configs import CLAUDE_DESKTOP, CODEX, MCP_JSON
from portico.gateway.core.config_documents import (
    Described,
    Unknown,
    built_in_at,
    filled,
    pieces,
    project_of,
    variable_for,
)
from portico.gateway.core.servers import (
    FromEnvironment,
    FromFile,
    Http,
    Plain,
    Spelling,
    Stdio,
    Template,
)
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


def test_a_secret_is_known() -> None:
    rows: list[tuple[str, str]] = [
        ("--api-key=hunter2", ""),
        ("hunter2", "--api-key"),
        ("hunter2", "--figmaApiKey"),
        ("hunter2", "-token"),
        ("Authorization: Bearer 0123456789", "--header"),
        ("GITHUB_TOKEN=hunter2", "-e"),
        ("postgresql://ana:hunter2@db/shop", ""),
        ("https://tools.example/mcp?apikey=hunter2", ""),
        ("tvly-dev-a1b2c3d4e5f6g7", ""),
        ("patA1b2C3d4E5f6G.a1b2c3", ""),
    ]

    for text, before in rows:
        assert looks_secret(text, before)


def test_what_is_none_is_not_taken_for_one() -> None:
    rows: list[tuple[str, str]] = [
        ("-y", ""),
        ("--verbose", "--token"),
        ("@modelcontextprotocol/server-filesystem@2026.8.31", "-y"),
        ("mcp-server-time==2026.10.19", ""),
        ("office-powerpoint-mcp-server", ""),
        ("GITHUB_PERSONAL_ACCESS_TOKEN", "-e"),
        ("/home/ana/a1b2c3d4e5f6a7/x", ""),
        ("https://tools.example/mcp?lang=en", ""),
        ("/etc/token", "--token-file"),
        ("", "--token"),
        ("key", "token"),
    ]

    for text, before in rows:
        assert not looks_secret(text, before)


def test_an_address_is_shown_without_what_is_secret() -> None:
    rows: list[tuple[str, str]] = [
        ("https://a.example/mcp?x=1&y=", "https://a.example/mcp?x=1&y="),
        ("https://u:p4ss@a.example/", "https://u:********@a.example/"),
        ("https://a.example/s/a1b2c3d4e5f6g7h8/mcp", "https://a.example/s/********/mcp"),
        ("https://a.example/?token=x&lang=de", "https://a.example/?token=********&lang=de"),
        ("https://a.example/?tavilyApiKey=x", "https://a.example/?tavilyApiKey=********"),
        (
            "https://a.example/?key=a1b2c3d4e5f6g7&u=${HOST}/x",
            "https://a.example/?key=********&u=${HOST}/x",
        ),
        ("https://a.example/?token=${TOKEN}", "https://a.example/?token=********"),
        ("https://[a.example/", "********"),
    ]

    for url, shown in rows:
        assert shown_url(url) == shown


def test_an_address_shows_the_host_that_it_leads_to() -> None:
    shown = shown_url("https://u:pass@evil.example:1/x@good.example/mcp")

    assert shown == "https://u:********@evil.example:1/x@good.example/mcp"
