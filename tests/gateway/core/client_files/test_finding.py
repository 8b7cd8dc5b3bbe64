"""Where each client keeps its file, whose file a file is, and whether it leads to us."""

from portico.gateway.core.client_files.client import commands_of_ours, leads_here, names_in, seconds
from portico.gateway.core.client_files.clients import (
    client_of,
    project_files,
    user_files,
)
from portico.gateway.core.client_files.cursor import CURSOR
from portico.gateway.core.client_files.entry import Place


def test_files_are_where_the_environment_says() -> None:
    usual = user_files({}, "/home/ana")
    moved = user_files(
        {"XDG_CONFIG_HOME": "/cfg", "CODEX_HOME": "/codex", "CLAUDE_CONFIG_DIR": "/claude"},
        "/home/ana",
    )

    for path in (
        "/home/ana/.config/Claude/claude_desktop_config.json",
        "/home/ana/Library/Application Support/Claude/claude_desktop_config.json",
        "/home/ana/.claude.json",
        "/home/ana/.cursor/mcp.json",
        "/home/ana/.config/Code/User/mcp.json",
        "/home/ana/Library/Application Support/Code - Insiders/User/mcp.json",
        "/home/ana/.codeium/windsurf/mcp_config.json",
        "/home/ana/.config/zed/settings.json",
        "/home/ana/.codex/config.toml",
        "/home/ana/.gemini/settings.json",
        "/home/ana/.copilot/mcp-config.json",
    ):
        assert path in usual
    for path in (
        "/cfg/Claude/claude_desktop_config.json",
        "/codex/config.toml",
        "/claude/.claude.json",
        "/cfg/zed/settings.json",
    ):
        assert path in moved


def test_a_project_has_files_too() -> None:
    assert {path: client.name for path, client in project_files("/srv").items()} == {
        "/srv/.cursor/mcp.json": "cursor",
        "/srv/.vscode/mcp.json": "vscode",
        "/srv/.zed/settings.json": "zed",
        "/srv/.codex/config.toml": "codex",
        "/srv/.gemini/settings.json": "gemini",
        "/srv/.mcp.json": "mcp-json",
    }


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


PLACE = Place(
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
