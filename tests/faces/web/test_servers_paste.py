"""What somebody pastes is read as they meant it, and no secret of it is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.faces.web.screens.servers.paste import Reading, read_paste
from portico.gateway.core.launch_text import check_launch, shown, to_json

OWN = "http://127.0.0.1:3100"
TOKEN = "ghp_" + "0123456789abcdefghijklmnop"  # nobody's


def read(text: str, name: str | None = None) -> Reading:
    return read_paste(text, name=name, own_url=OWN)


@pytest.mark.parametrize(
    ("text", "names", "command"),
    [
        ("uvx mcp-server-time", ["time"], "uvx mcp-server-time"),
        ("$ uvx mcp-server-time@2026.1", ["time"], "uvx mcp-server-time@2026.1"),
        (
            "npx -y @modelcontextprotocol/server-github",
            ["github"],
            "npx -y @modelcontextprotocol/server-github",
        ),
        ("TZ=UTC python serve_it.py", ["serve-it"], "TZ=UTC python serve_it.py"),
        ("https://mcp.linear.app/mcp", ["linear"], "https://mcp.linear.app/mcp"),
        ('{"mcpServers": {"A b": {"command": "x"}}}', ["a-b"], "x"),
        ('{"servers": {"a": {"command": "x", "args": ["y"]}}}', ["a"], "x y"),
        ('"mcpServers": {"a": {"command": "x"}},', ["a"], "x"),
        ('{"a": {"command": "x"}} // mine', ["a"], "x"),
        ('{"command": "npx", "args": ["foo-mcp"]}', ["foo"], "npx foo-mcp"),
        ('{"a": {"command": "x", "env": {"K": "${K}"}}}', ["a"], "K=${K} x"),
        ('{"a": {"command": "x", "env": {"K": "secret:k"}}}', ["a"], "K=${secret:k} x"),
        ('{"a": {"command": "x", "env": {"LANG": "de"}}}', ["a"], "LANG=de x"),
    ],
)
def test_a_block_a_command_and_an_address_are_understood(
    text: str, names: list[str], command: str
) -> None:
    found = read(text)

    assert found.flawed == []
    assert [each.name for each in found.servers] == names
    assert found.servers[0].command == command


def test_a_name_that_is_given_is_taken() -> None:
    assert [each.name for each in read("uvx mcp-server-time", "clock").servers] == ["clock"]


@pytest.mark.parametrize(
    "text",
    [
        f'{{"a": {{"command": "x", "env": {{"GITHUB_TOKEN": "{TOKEN}"}}}}}}',
        f'{{"a": {{"command": "x", "args": ["--token", "{TOKEN}"]}}}}',
        f'{{"a": {{"url": "https://x.example/mcp", "headers": {{"Authorization": "{TOKEN}"}}}}}}',
        f'{{"a": {{"url": "https://x.example/mcp?key={TOKEN}"}}}}',
        '{"a": {"command": "x", "env": {"API_KEY": "hunter2hunter2"}}}',
        f"GITHUB_TOKEN={TOKEN} npx thing",
    ],
)
def test_a_secret_is_not_taken_and_not_told(text: str) -> None:
    found = read(text)

    assert found.servers == []
    [flaw] = found.flawed
    assert TOKEN not in flaw.reason
    assert "hunter2" not in flaw.reason


@pytest.mark.parametrize(
    "text",
    ["", "{", "{}", "[]]", '{"a": 1}', "A=b", "'open", '{"mcpServers": []}', "null", "\x00", "}{"],
)
def test_what_is_no_server_says_why(text: str) -> None:
    found = read(text)

    assert found.flawed or all(shown(each.launch) for each in found.servers)


def test_portico_itself_is_not_put_behind_its_own_door() -> None:
    found = read(f'{{"portico": {{"url": "{OWN}/mcp"}}}}')

    assert found.servers == []
    assert found.flawed


def test_two_of_one_name_are_told_apart() -> None:
    found = read('{"a b": {"command": "x"}, "A-B": {"command": "y"}}')

    assert len({each.name for each in found.servers}) == 2


@given(st.text(max_size=200))
def test_whatever_is_pasted_is_answered(text: str) -> None:
    found = read(text)

    for each in found.servers:
        check_launch(each.launch)
        assert to_json(each.launch)
