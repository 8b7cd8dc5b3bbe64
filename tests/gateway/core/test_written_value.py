"""References as an operator writes them: in our own file and on the command line, nowhere else."""

import pytest

from portico.gateway.core.client_files.client import Client
from portico.gateway.core.client_files.clients import CLIENTS
from portico.gateway.core.client_files.cursor import CURSOR
from portico.gateway.core.client_files.portico_toml import PORTICO_TOML
from portico.gateway.core.errors import BadLaunch
from portico.gateway.core.launch_names import approved_texts
from portico.gateway.core.launch_text import from_json, shown, to_json
from portico.gateway.core.pin import launch_pin, unpinned_loaders
from portico.gateway.core.server import (
    FromEnvironment,
    FromFile,
    FromSecret,
    Http,
    Plain,
    Stdio,
    Template,
    Value,
)
from portico.gateway.core.written_value import referred
from tests.gateway.core.client_files.reading import by_name, said

OURS = "/home/ana/.config/portico/portico.toml"


def test_a_reference_is_found() -> None:
    rows: list[tuple[str, Value]] = [
        ("secret:github", FromSecret("secret:github")),
        ("keyring:github/ana", FromSecret("keyring:github/ana")),
        ("env:TOKEN", FromEnvironment("TOKEN")),
        ("file:~/token", FromFile("~/token", "")),
        ("Bearer secret:github", Template(("Bearer ", FromSecret("secret:github")))),
        ("token file:/etc/t", Template(("token ", FromSecret("file:/etc/t")))),
        ("Basic env:TOKEN", Template(("Basic ", FromEnvironment("TOKEN")))),
    ]

    for text, value in rows:
        assert referred(text) == value


def test_anything_else_is_none() -> None:
    for text in ("", "plain", "secret:", "Bearer plain", "see secret:github"):
        assert referred(text) is None


def test_our_own_file_may_refer_to_secrets() -> None:
    text = """
        [servers.github]
        command = "npx"
        args = ["server", "--key", "secret:github"]
        env = { TOKEN = "secret:github", KEY = "keyring:work/ana", PLAIN = "secrets" }

        [servers.far]
        url = "https://far.example/mcp"
        headers = { Authorization = "Bearer secret:far" }
    """
    found = by_name(said(PORTICO_TOML, text, OURS))

    assert found["github"].launch == Stdio(
        "npx",
        (Plain("server"), Plain("--key"), FromSecret("secret:github")),
        {
            "TOKEN": FromSecret("secret:github"),
            "KEY": FromSecret("keyring:work/ana"),
            "PLAIN": FromFile(OURS, "/servers/github/env/PLAIN"),
        },
    )
    assert found["far"].launch == Http(
        "https://far.example/mcp",
        {"Authorization": Template(("Bearer ", FromSecret("secret:far")))},
    )


@pytest.mark.requirement("guard:secrets:own-file-only")
def test_a_file_of_a_project_cannot_ask_for_our_secrets() -> None:
    entry = '{"command": "x", "args": ["secret:github"], "env": {"K": "secret:github"}}'
    text = f'{{"mcpServers": {{"x": {entry}}}}}'

    launch = by_name(said(CURSOR, text, "/srv/shop/.cursor/mcp.json"))["x"].launch

    assert isinstance(launch, Stdio)
    assert launch.arguments == (Plain("secret:github"),)
    assert launch.environment == {
        "K": FromFile("/srv/shop/.cursor/mcp.json", "/mcpServers/x/env/K")
    }


@pytest.mark.parametrize("client", CLIENTS, ids=lambda each: each.name)
def test_no_other_client_has_references(client: Client) -> None:
    text = f'{{"{client.key}": {{"x": {{"command": "x", "env": {{"K": "secret:github"}}}}}}}}'

    told = said(client, text, f"/home/ana/{client.name}.json")

    assert "FromSecret" not in repr(told)


def test_a_pin_is_over_the_reference_and_a_launch_comes_back() -> None:
    launch = Stdio(
        "x",
        (FromSecret("secret:a"),),
        {"K": FromSecret("keyring:s/n"), "H": Template(("Bearer ", FromSecret("secret:b")))},
    )

    assert from_json(to_json(launch)) == launch
    assert launch_pin(launch) != launch_pin(
        Stdio("x", (FromSecret("secret:b"),), launch.environment)
    )
    assert shown(launch) == "K=${keyring:s/n} H='Bearer '${secret:b} x ${secret:a}"


def test_what_is_no_reference_is_no_launch() -> None:
    with pytest.raises(BadLaunch, match="secret:NAME"):
        from_json({"type": "stdio", "command": "x", "arguments": [{"secret": "github"}]})


def test_what_a_secret_holds_is_nothing_that_was_approved() -> None:
    launch = Stdio("x", (FromSecret("secret:a"),), {"LD_PRELOAD": FromSecret("secret:b")})

    assert approved_texts(launch, {}).arguments == [None]
    assert approved_texts(launch, {}).environment == {}
    assert unpinned_loaders(launch) == ("LD_PRELOAD",)
