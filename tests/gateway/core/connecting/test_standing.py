"""How a file stands to Portico."""

from portico.gateway.core.client_files.entry import Place
from portico.gateway.core.connecting.home import home_of
from portico.gateway.core.connecting.standing import (
    Standing,
    also_listed,
    shown_diff,
    standing,
    switched_off,
)
from portico.kernel.json import JsonObject

CURSOR = home_of("cursor")
GEMINI = home_of("gemini")
PLACE = Place(path="/home/ana/.cursor/mcp.json", home="/home/ana")
WANTED: JsonObject = {"command": "/bin/portico", "args": ["stdio", "--start"]}
REACHED = CURSOR.reached("http://127.0.0.1:3100", "mine")


def listing(entry: str) -> str:
    return f'{{"mcpServers": {{"portico": {entry}}}}}'


def test_an_entry_is_told_from_others() -> None:
    rows: list[tuple[str, JsonObject, str]] = [
        ("{}", WANTED, Standing.NONE),
        ('{"mcpServers": {"other": {"command": "/bin/other"}}}', WANTED, Standing.NONE),
        (
            '{"mcpServers": {"other": {"command": "/a"}, "portico": {"command": "/b"}}}',
            WANTED,
            Standing.FOREIGN,
        ),
        (listing('{"command": "/bin/portico", "args": ["stdio", "--start"]}'), WANTED, "connected"),
        (listing('{"command": "portico", "args": ["stdio"]}'), WANTED, Standing.OTHERWISE),
        (listing('{"url": "http://localhost:3100/mcp"}'), WANTED, Standing.OTHERWISE),
        (
            listing('{"url": "http://127.0.0.1:3100/mcp", "headers": {"Authorization": "other"}}'),
            REACHED,
            Standing.SAME,
        ),
        (listing('{"command": "/bin/other"}'), WANTED, Standing.FOREIGN),
        (listing('{"command": "${odd}/portico", "args": ["stdio"]}'), WANTED, Standing.FOREIGN),
        (listing("7"), WANTED, Standing.FOREIGN),
    ]

    for text, wanted, found in rows:
        assert standing(CURSOR, CURSOR.client, PLACE, text, wanted) == found


def test_a_file_may_switch_it_off() -> None:
    text = '{"mcp": {"excluded": ["portico"]}, "mcpServers": {"portico": {"command": "x"}}}'

    assert switched_off(GEMINI.client, PLACE, text)
    assert not switched_off(GEMINI.client, PLACE, "{}")
    assert not switched_off(GEMINI.client, PLACE, '{"mcpServers": 1}')


def test_nothing_is_listed_twice_where_nothing_is_behind() -> None:
    assert also_listed(CURSOR.client, PLACE, listing('{"command": "x"}'), []) == []


def test_a_diff_shows_no_secrets() -> None:
    token = "ghp_" + "a" * 36

    shown = shown_diff("f", f'{{"t": "{token}"}}\r\n', f'{{"t": "{token}",\r\n"x": 1}}\r\n')

    assert token not in shown
    assert '+"x": 1}' in shown.splitlines()
