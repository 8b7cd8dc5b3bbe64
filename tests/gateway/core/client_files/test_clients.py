"""What each client's file says, with the quirks of each."""

import pytest

from portico.gateway.core.client_files.claude_code import CLAUDE_CODE
from portico.gateway.core.client_files.claude_desktop import CLAUDE_DESKTOP
from portico.gateway.core.client_files.client import Client
from portico.gateway.core.client_files.codex import CODEX
from portico.gateway.core.client_files.cursor import CURSOR
from portico.gateway.core.client_files.gemini import GEMINI
from portico.gateway.core.client_files.mcp_json import MCP_JSON
from portico.gateway.core.client_files.portico_toml import PORTICO_TOML
from portico.gateway.core.client_files.vscode import VSCODE
from portico.gateway.core.client_files.windsurf import WINDSURF
from portico.gateway.core.client_files.zed import ZED
from portico.gateway.core.server import FromEnvironment, FromFile, Http, Plain, Stdio, Template
from tests.gateway.core.client_files.reading import by_name, left_out, notes, said, text_of

DESKTOP = "/home/ana/.config/Claude/claude_desktop_config.json"
CODE = "/home/ana/.claude.json"
PROJECT = "/srv/shop/.mcp.json"
CURSORS = "/srv/shop/.cursor/mcp.json"
CODES = "/srv/shop/.vscode/mcp.json"
SURF = "/home/ana/.codeium/windsurf/mcp_config.json"
ZEDS = "/home/ana/.config/zed/settings.json"
TOML = "/home/ana/.codex/config.toml"
GEMINIS = "/home/ana/.gemini/settings.json"
OURS = "/home/ana/.config/portico/portico.toml"

FILES = [
    (CLAUDE_DESKTOP, "claude_desktop_config.json", DESKTOP),
    (CLAUDE_CODE, "claude.json", CODE),
    (MCP_JSON, "mcp.json", PROJECT),
    (CURSOR, "cursor-mcp.json", CURSORS),
    (VSCODE, "vscode-mcp.json", CODES),
    (WINDSURF, "mcp_config.json", SURF),
    (ZED, "zed-settings.json", ZEDS),
    (CODEX, "codex-config.toml", TOML),
    (GEMINI, "gemini-settings.json", GEMINIS),
    (PORTICO_TOML, "portico.toml", OURS),
]


@pytest.mark.requirement("gateway:import:secrets-stay")
@pytest.mark.parametrize(("client", "file", "path"), FILES, ids=[each[0].name for each in FILES])
def test_no_secret_leaves_its_file(client: Client, file: str, path: str) -> None:
    text = text_of(file)

    told = said(client, text, path)

    assert told.wishes
    assert "SECRET" in text or client in (MCP_JSON, VSCODE, CURSOR, CLAUDE_CODE)
    assert "SECRET" not in repr(told)


def test_claude_desktop_has_commands_and_no_variables() -> None:
    told = said(CLAUDE_DESKTOP, text_of("claude_desktop_config.json"), DESKTOP)
    found = by_name(told)

    assert found["filesystem"].launch == Stdio(
        "npx",
        (
            Plain("-y"),
            Plain("@modelcontextprotocol/server-filesystem@2026.8.31"),
            Plain("/home/ana/Documents"),
        ),
    )
    brave = found["brave_search"].launch
    assert isinstance(brave, Stdio)
    where = "/mcpServers/brave_search"
    assert brave.arguments[-1] == FromFile(DESKTOP, f"{where}/args/3")
    assert brave.environment == {
        name: FromFile(DESKTOP, f"{where}/env/{name}") for name in ("RETRIES", "VERBOSE", "LITERAL")
    }


def test_names_become_names_that_servers_can_have_here() -> None:
    told = said(CLAUDE_DESKTOP, text_of("claude_desktop_config.json"), DESKTOP)

    assert [wish.name for wish in told.wishes] == ["filesystem", "github-work", "brave-search"]
    assert told.wishes[1].where == "/mcpServers/GitHub (work)"


def test_one_bad_server_does_not_hide_the_others_and_is_told_with_its_line() -> None:
    told = said(CLAUDE_DESKTOP, text_of("claude_desktop_config.json"), DESKTOP)

    assert [(each.server, each.line, each.reason) for each in told.problems] == [
        ("broken", 19, "it has neither a command nor a url"),
        ("worse", 20, "its description is not an object"),
    ]


def test_portico_does_not_stand_behind_its_own_door() -> None:
    text = """{"mcpServers": {
        "a": {"command": "/usr/bin/portico", "args": ["stdio"]},
        "b": {"command": "uvx", "args": ["portico", "stdio"]},
        "c": {"url": "http://localhost:3100/mcp"},
        "d": {"command": "portico-tools", "args": ["stdio"]},
        "e": {"url": "http://localhost:3200/mcp"}
    }}"""

    assert list(by_name(said(CLAUDE_DESKTOP, text, DESKTOP))) == ["d", "e"]


def test_claude_code_has_servers_for_a_user_and_for_projects() -> None:
    told = said(CLAUDE_CODE, text_of("claude.json"), CODE)

    assert [(wish.called, wish.otherwise, wish.enabled) for wish in told.wishes] == [
        ("sentry", "claude-code", True),
        ("events", "claude-code", True),
        ("vault", "claude-code", True),
        ("db", "shop", False),
        ("sentry", "shop", True),
    ]
    assert told.wishes[3].where == "/projects/~1home~1ana~1shop/mcpServers/db"
    assert left_out(told) == {"tunnel": "it is spoken to in a way that Portico does not know"}
    assert notes(told) == {
        "sentry": "is given the variables TEAM",
        "vault": "headersHelper is not run: its headers are not sent",
    }


def test_claude_code_writes_variables_in_braces() -> None:
    told = said(CLAUDE_CODE, text_of("claude.json"), CODE)
    sentry, _, _, db, _ = (wish.launch for wish in told.wishes)

    headers = "/mcpServers/sentry/headers"
    assert sentry == Http(
        "https://mcp.sentry.example/mcp",
        {
            "Authorization": Template(("Bearer ", FromEnvironment("SENTRY_TOKEN"))),
            "X-Team": FromFile(CODE, f"{headers}/X-Team", "braces"),
        },
        "streamable",
    )
    assert isinstance(db, Stdio)
    assert db.folder == "/home/ana/shop"
    assert db.arguments[2:] == (
        FromEnvironment("DB", "shop.db"),
        Template(("--header=X: ", FromEnvironment("TOKEN"))),
    )


def test_a_project_of_claude_code_is_where_its_file_lies() -> None:
    told = said(MCP_JSON, text_of("mcp.json"), PROJECT)
    found = by_name(told)

    assert told.for_a_project
    assert found["docs"].launch == Stdio(
        "./bin/docs-server",
        (Plain("--root"), FromEnvironment("DOCS_ROOT")),
        {},
        "/srv/shop/tools",
    )
    assert found["lint"].launch == Stdio(
        "npx", (Plain("-y"), Plain("eslint mcp"), Plain("--quiet")), {}, "/srv/shop"
    )


def test_an_address_with_a_key_in_it_stays_in_its_file() -> None:
    search = by_name(said(MCP_JSON, text_of("mcp.json"), PROJECT))["search"].launch

    assert search == Http(
        "https://search.example/mcp?apiKey=********&lang=en",
        transport="streamable",
        secret_url=FromFile(PROJECT, "/mcpServers/search/url"),
    )


def test_cursor_knows_the_places_around_its_file() -> None:
    notes_server = by_name(said(CURSOR, text_of("cursor-mcp.json"), CURSORS))["notes"].launch

    assert notes_server == Stdio(
        "/home/ana/bin/notes",
        (Plain("/srv/shop/notes"), Plain("--token"), FromEnvironment("NOTES_TOKEN")),
        {
            "NOTES_DB": FromFile("/srv/shop/.env", "/NOTES_DB"),
            "PORT": FromFile("/srv/shop/.env", "/PORT"),
            "ROOT": FromFile(CURSORS, "/mcpServers/notes/env/ROOT", "env"),
            "KEY": FromEnvironment("NOTES_KEY"),
        },
        "/srv/shop",
    )


def test_in_a_file_for_all_projects_there_is_no_project_to_name() -> None:
    told = said(CURSOR, text_of("cursor-mcp.json"), "/home/ana/.cursor/mcp.json")

    assert not told.for_a_project
    assert left_out(told) == {"notes": "it names ${workspaceFolder}, which only its client knows"}


def test_cursor_switches_servers_off_and_hides_arguments_that_are_keys() -> None:
    found = by_name(said(CURSOR, text_of("cursor-mcp.json"), CURSORS))

    assert not found["remote"].enabled
    assert found["remote"].launch == Http(
        "https://${env:TOOLS_HOST}/mcp",
        {"X-Key": FromFile(CURSORS, "/mcpServers/remote/headers/X-Key")},
        secret_url=FromFile(CURSORS, "/mcpServers/remote/url", "env"),
    )
    figma = found["figma"].launch
    assert isinstance(figma, Stdio)
    assert figma.arguments[2:] == (
        FromFile(CURSORS, "/mcpServers/figma/args/2"),
        Plain("--stdio"),
    )


def test_what_vscode_would_ask_for_is_a_variable_and_said() -> None:
    told = said(VSCODE, text_of("vscode-mcp.json"), CODES)
    found = by_name(told)

    github = found["github"].launch
    assert isinstance(github, Http)
    assert github.transport is None, "either"
    perplexity = found["perplexity"].launch
    assert isinstance(perplexity, Stdio)
    assert perplexity.environment == {"PERPLEXITY_API_KEY": FromEnvironment("PERPLEXITY_KEY")}
    assert notes(told) == {
        "perplexity": (
            "asks for 'perplexity-key': set PERPLEXITY_KEY in the environment of Portico"
        ),
        "github": "asks for 'github-token': set GITHUB_TOKEN in the environment of Portico",
    }
    assert left_out(told) == {
        "python": "it names ${command:python.interpreterPath}, which only its client knows"
    }


def test_windsurf_says_server_url() -> None:
    found = by_name(said(WINDSURF, text_of("mcp_config.json"), SURF))

    assert found["linear"].launch == Http("https://mcp.linear.example/sse")
    assert found["context7"].launch == Http(
        "https://mcp.context7.example/mcp", {"KEY": FromFile("/run/secrets/context7", "")}
    )
    assert found["postgres"].launch == Stdio(
        "uvx",
        (Plain("postgres-mcp"), FromFile(SURF, "/mcpServers/postgres/args/1")),
        {"API": FromEnvironment("PG_API")},
    )
    assert not found["postgres"].enabled


def test_zed_has_comments_two_forms_and_extensions() -> None:
    told = said(ZED, text_of("zed-settings.json"), ZEDS)
    found = by_name(told)

    assert found["hexdocs"].launch == Stdio("npx", (Plain("-y"), Plain("hexdocs-mcp@0.5.0")))
    where = "/context_servers/old/command"
    assert found["old"].launch == Stdio(
        "uvx", (Plain("kagi-mcp"),), {"KAGI_API_KEY": FromFile(ZEDS, f"{where}/env/KAGI_API_KEY")}
    )
    assert (found["old"].enabled, found["hexdocs"].enabled) == (False, True)
    assert left_out(told) == {
        "mcp-server-github": "an extension of Zed starts it, and only Zed knows how"
    }


def test_what_zed_could_not_read_either_is_told() -> None:
    for written in ("5", '{"command": {}}', '{"command": {"path": 1}}'):
        told = said(ZED, f'{{"context_servers": {{"x": {written}}}}}', ZEDS)

        assert not told.wishes, written
        assert [each.server for each in told.problems] == ["x"], written


def test_codex_names_the_variables_that_hold_its_secrets() -> None:
    told = said(CODEX, text_of("codex-config.toml"), TOML)
    found = by_name(told)

    assert found["figma.dev"].launch == Http(
        "https://mcp.figma.example/mcp",
        {
            "X-Region": FromFile(TOML, "/mcp_servers/figma.dev/http_headers/X-Region"),
            "X-User": FromEnvironment("FIGMA_USER"),
            "Authorization": Template(("Bearer ", FromEnvironment("FIGMA_TOKEN"))),
        },
        "streamable",
    )
    assert not found["figma.dev"].enabled
    context7 = found["context7"]
    assert context7.timeout == 90
    assert isinstance(context7.launch, Stdio)
    assert context7.launch.environment == {
        "API_KEY": FromFile(TOML, "/mcp_servers/context7/env/API_KEY"),
        "LOCAL_TOKEN": FromEnvironment("LOCAL_TOKEN"),
        "HERE": FromEnvironment("HERE"),
    }


def test_what_codex_refuses_is_refused_with_its_line() -> None:
    told = said(CODEX, text_of("codex-config.toml"), TOML)

    assert [(each.server, each.line) for each in told.problems if each.left_out] == [("clear", 20)]
    assert notes(told) == {"figma.dev": "enabled_tools and disabled_tools do not count here"}


def test_codex_headers_that_are_none_are_passed_over() -> None:
    text = """
        [mcp_servers.x]
        url = "https://x.example"
        env_http_headers = { A = 1 }
        tool_timeout_sec = true
        [mcp_servers.y]
        url = "https://y.example"
        env_http_headers = 5
        tool_timeout_sec = 100000
    """

    found = by_name(said(CODEX, text, TOML))

    assert found["x"].launch == Http("https://x.example", transport="streamable")
    assert found["y"].launch == Http("https://y.example", transport="streamable")
    assert (found["x"].timeout, found["y"].timeout) == (None, None)


def test_gemini_has_two_kinds_of_address_and_variables_without_braces() -> None:
    told = said(GEMINI, text_of("gemini-settings.json"), GEMINIS)
    found = by_name(told)

    where = "/mcpServers/local"
    assert found["local"].launch == Stdio(
        "python",
        (
            Plain("-m"),
            Plain("server"),
            Plain("--token"),
            FromEnvironment("SERVER_TOKEN"),
            Plain("--price"),
            Plain("5$"),
        ),
        {
            "API_KEY": FromEnvironment("MY_API_TOKEN"),
            "DSN": FromFile(GEMINIS, f"{where}/env/DSN", "shell"),
        },
        "/home/ana/server",
    )
    assert found["local"].timeout == 15
    kinds = {name: wish.launch for name, wish in found.items() if name != "local"}
    assert {name: launch.transport for name, launch in kinds.items() if isinstance(launch, Http)}
    assert [getattr(kinds[name], "transport", "") for name in ("stream", "either", "old")] == [
        "streamable",
        None,
        "sse",
    ]
    assert [found[name].enabled for name in ("stream", "old")] == [True, False]


def test_what_gemini_trusts_is_said() -> None:
    told = said(GEMINI, text_of("gemini-settings.json"), GEMINIS)

    assert [each.reason for each in told.problems] == [
        "Gemini CLI trusts it unasked; here its tools are looked at like any other's",
        "includeTools and excludeTools do not count here",
        "is given the variables DB_HOST",
    ]


def test_gemini_uses_only_what_it_allows() -> None:
    text = """{"mcp": {"allowed": ["a"]}, "mcpServers": {
        "a": {"command": "a"}, "b": {"command": "b"}}}"""

    told = said(GEMINI, text, GEMINIS)

    assert [wish.enabled for wish in told.wishes] == [True, False]


def test_our_own_file_is_read_like_any_other() -> None:
    found = by_name(said(PORTICO_TOML, text_of("portico.toml"), OURS))

    assert found["weather"].launch == Stdio(
        "uvx",
        (Plain("weather-mcp"), Plain("--units"), FromEnvironment("UNITS", "metric")),
        {
            "WEATHER_KEY": FromFile(OURS, "/servers/weather/env/WEATHER_KEY"),
            "PATH": Plain("/opt/weather/bin"),
        },
        "/home/ana/weather",
    )
    assert found["weather"].timeout == 5
    assert found["team"].launch == Http(
        "https://tools.team.example/mcp",
        {"Authorization": Template(("Bearer ", FromEnvironment("TEAM_TOKEN")))},
        "streamable",
    )
    assert not found["team"].enabled
