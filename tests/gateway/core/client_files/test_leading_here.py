"""Whether a client comes to us is read from its own file."""

import pytest

from portico.gateway.core.client_files.client import commands_of_ours, leads_here
from portico.gateway.core.client_files.cursor import CURSOR
from portico.gateway.core.client_files.entry import Place

PLACE = Place(
    path="/home/ana/.cursor/mcp.json",
    home="/home/ana",
    environment={},
    own_url="http://127.0.0.1:3100",
    read=lambda _: None,
)


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        ('{"mcpServers": {"x": {"command": "/opt/bin/portico", "args": ["stdio"]}}}', True),
        ('{"mcpServers": {"y": {}, "x": {"url": "http://localhost:3100/mcp"}}}', True),
        ('{"mcpServers": {"x": {"url": "http://127.0.0.1:3999/mcp"}}}', False),
        ('{"mcpServers": {"portico": {"command": "other"}}}', False),
        ('{"mcpServers": {"portico": 5}}', False),
        ('{"mcpServers": []}', False),
        ("{", False),
        ("", False),
    ],
)
def test_a_client_comes_to_us_by_command_or_address(text: str, leads: bool) -> None:
    assert leads_here(CURSOR, PLACE, text) is leads


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        (
            '{"mcpServers": {"x": {"command": "/opt/bin/portico", "args": ["stdio"]}, "y": {}}}',
            ["/opt/bin/portico"],
        ),
        ('{"mcpServers": {"x": {"url": "http://localhost:3100/mcp"}}}', []),
        ('{"mcpServers": {"x": {"command": "other"}}}', []),
        ("{", []),
    ],
)
def test_the_commands_by_which_we_are_started_are_told(text: str, commands: list[str]) -> None:
    assert commands_of_ours(CURSOR, PLACE, text) == commands
