"""Which commands in a client's file start Portico itself."""

import json

import pytest

from portico.gateway.core.client_files.client import commands_of_ours
from portico.gateway.core.client_files.cursor import CURSOR
from portico.gateway.core.client_files.entry import Place
from tests.gateway.core.client_files.reading import HOME

FILE = "/home/ana/.cursor/mcp.json"


def commands(text: str) -> list[str]:
    place = Place(path=FILE, home=HOME, environment={}, read=lambda _: None)
    return list(commands_of_ours(CURSOR, place, text))


def test_only_what_starts_portico_is_told() -> None:
    entries = {
        "broken": {"command": 7},
        "portico": {"command": "/opt/portico/bin/portico", "args": ["stdio"]},
        "by-uvx": {"command": "uvx", "args": ["portico", "stdio"]},
        "web": {"url": "http://127.0.0.1:3100/mcp"},
        "notes": {"command": "notes", "args": ["stdio"]},
    }

    assert commands(json.dumps({"mcpServers": entries})) == ["/opt/portico/bin/portico", "uvx"]


@pytest.mark.parametrize("text", ["{", '{"mcpServers": []}'])
def test_a_file_that_cannot_be_understood_tells_nothing(text: str) -> None:
    assert commands(text) == []
