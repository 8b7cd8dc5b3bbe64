"""Where each client's entry goes, and what it is."""

from collections.abc import Sequence

import pytest

from portico.gateway.core.client_files.entry import Place
from portico.gateway.core.connecting.errors import (
    ClientAbsent,
    ClientCannot,
    ClientFileMoved,
    ClientFileUnreadable,
    EntryDiffers,
    UnknownClient,
)
from portico.gateway.core.connecting.home import HOMES, home_of
from portico.gateway.core.connecting.standing import (
    Standing,
    also_listed,
    shown_diff,
    standing,
    switched_off,
)
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject

PROGRAM = ["/opt/portico"]
STARTED: JsonObject = {"command": "/opt/portico", "args": ["stdio", "--start"]}
URL = "http://127.0.0.1:3100"
BEARER = {"Authorization": "Bearer k"}


@pytest.mark.parametrize(
    ("client", "listed", "started", "reached"),
    [
        (
            "claude-code",
            "mcpServers",
            {"type": "stdio", **STARTED},
            {"type": "http", "url": f"{URL}/mcp", "headers": BEARER},
        ),
        ("claude-desktop", "mcpServers", STARTED, None),
        ("cursor", "mcpServers", STARTED, {"url": f"{URL}/mcp", "headers": BEARER}),
        (
            "vscode",
            "servers",
            {"type": "stdio", **STARTED},
            {"type": "http", "url": f"{URL}/mcp", "headers": BEARER},
        ),
        ("windsurf", "mcpServers", STARTED, {"serverUrl": f"{URL}/mcp", "headers": BEARER}),
        ("zed", "context_servers", STARTED, {"url": f"{URL}/mcp", "headers": BEARER}),
        (
            "codex",
            "mcp_servers",
            {**STARTED, "startup_timeout_sec": 60},
            {"url": f"{URL}/mcp", "http_headers": BEARER},
        ),
        ("gemini", "mcpServers", STARTED, {"httpUrl": f"{URL}/mcp", "headers": BEARER}),
    ],
)
def test_an_entry_has_the_form_that_its_client_reads(
    client: str, listed: str, started: JsonObject, reached: JsonObject | None
) -> None:
    home = home_of(client)

    assert home.names == (listed, "portico")
    assert home.started(PROGRAM, {}) == started
    if reached is None:
        with pytest.raises(ClientCannot):
            home.reached(URL, "k")
    else:
        assert home.reached(URL, "k") == reached


def test_which_installation_it_is_goes_with_the_entry() -> None:
    found = home_of("cursor").started(["python", "-m", "portico"], {"PORTICO_HOME": "/p"})

    assert found == {
        "command": "python",
        "args": ["-m", "portico", "stdio", "--start"],
        "env": {"PORTICO_HOME": "/p"},
    }


def test_files_are_where_the_platform_has_them() -> None:
    rows: list[tuple[str, Sequence[str], Sequence[str]]] = [
        ("claude-code", [".claude.json"], [".claude.json"]),
        (
            "claude-desktop",
            [".config/Claude/claude_desktop_config.json"],
            ["Library/Application Support/Claude/claude_desktop_config.json"],
        ),
        ("zed", [".config/zed/settings.json"], [".config/zed/settings.json"]),
        (
            "vscode",
            [
                ".config/Code/User/mcp.json",
                ".config/Code - Insiders/User/mcp.json",
                ".config/VSCodium/User/mcp.json",
            ],
            [
                "Library/Application Support/Code/User/mcp.json",
                "Library/Application Support/Code - Insiders/User/mcp.json",
                "Library/Application Support/VSCodium/User/mcp.json",
            ],
        ),
    ]

    for client, linux, mac in rows:
        home = home_of(client)

        assert home.files({}, "/home/ana", mac=False) == [f"/home/ana/{each}" for each in linux]
        assert home.files({}, "/home/ana", mac=True) == [f"/home/ana/{each}" for each in mac]


def test_a_variable_of_the_client_moves_its_file() -> None:
    assert home_of("codex").files({"CODEX_HOME": "/c"}, "/h", mac=False) == ["/c/config.toml"]


def test_a_project_file_is_in_the_project() -> None:
    found = {}
    for home in HOMES:
        try:
            found[home.name] = home.project_file("/p")
        except ClientCannot:
            found[home.name] = "none"

    assert found == {
        "claude-code": "/p/.mcp.json",
        "claude-desktop": "none",
        "cursor": "/p/.cursor/mcp.json",
        "vscode": "/p/.vscode/mcp.json",
        "windsurf": "none",
        "zed": "/p/.zed/settings.json",
        "codex": "/p/.codex/config.toml",
        "gemini": "/p/.gemini/settings.json",
    }


def test_only_known_clients_are_known() -> None:
    with pytest.raises(UnknownClient):
        home_of("emacs")


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


def test_every_refusal_names_the_file_and_a_way_out() -> None:
    rows: list[PorticoError] = [
        ClientAbsent("Zed", "~/settings.json"),
        EntryDiffers("~/settings.json"),
        ClientFileUnreadable("~/settings.json", "is not UTF-8"),
        ClientFileMoved("~/settings.json"),
    ]

    for error in rows:
        assert "~/settings.json" in str(error)
        assert error.fix
