"""Where each client's entry goes, and what it is."""

from collections.abc import Sequence

import pytest

from portico.gateway.core.connecting.errors import ClientCannot, UnknownClient
from portico.gateway.core.connecting.home import HOMES, home_of
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
