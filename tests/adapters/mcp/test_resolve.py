"""What a launch comes to: values of now, which of them are secret, and what is missing."""

from pathlib import Path

import pytest

from portico.adapters.mcp.resolve import Ours, address, command
from portico.adapters.mcp.wire import Broken
from portico.gateway.core.server import (
    FromEnvironment,
    FromFile,
    Http,
    Plain,
    Stdio,
    Template,
    Value,
)

HOME = Path.home()
OURS = Ours({"TOKEN": "token-of-ours", "EMPTY": "", "PORTICO_SECRET": "never", "HOME": "/home/ana"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Plain("as it is"), "as it is"),
        (FromEnvironment("TOKEN"), "token-of-ours"),
        (FromEnvironment("TOKEN", "else"), "token-of-ours"),
        (FromEnvironment("MISSING", "else"), "else"),
        (FromEnvironment("EMPTY", "else"), "else"),
        (FromEnvironment("EMPTY"), ""),
        (Template(("Bearer ", FromEnvironment("TOKEN"), "!")), "Bearer token-of-ours!"),
    ],
)
async def test_a_value_is_what_it_refers_to(value: Value, text: str) -> None:
    made = await command(Stdio("run", (value,)), OURS)

    assert made.arguments == (text,)


@pytest.mark.parametrize(
    ("name", "text", "pointer", "found"),
    [
        ("a.json", '\ufeff{"env": {"K": "v"}, /* why */}', "/env/K", "v"),
        ("a.json", '{"a/b": {"~": true}}', "/a~1b/~0", "true"),
        ("a.json", '{"list": ["x", 7]}', "/list/1", "7"),
        ("a.toml", '[mcp_servers.x.env]\nK = "v"\n', "/mcp_servers/x/env/K", "v"),
        (".env", 'export K="v"\n', "/K", "v"),
        ("token", "whole\n", "", "whole"),
    ],
)
async def test_a_place_in_a_file_is_found_whatever_it_is_written_in(
    tmp_path: Path, name: str, text: str, pointer: str, found: str
) -> None:
    file = tmp_path / name
    file.write_text(text)

    made = await command(Stdio("run", environment={"K": FromFile(str(file), pointer)}), OURS)

    assert made.environment == {"K": found}
    assert found in made.secrets


async def test_variables_inside_a_file_are_filled_in(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"h": "Bearer ${TOKEN}"}')

    made = await address(
        Http("https://x.example/", {"A": FromFile(str(file), "/h", "braces")}), OURS
    )

    assert made.headers == {"A": "Bearer token-of-ours"}
    assert {"Bearer token-of-ours", "token-of-ours"} <= made.secrets


async def test_an_address_that_holds_a_key_is_read_from_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"url": "https://u:passw0rd@x.example/mcp?key=k3y-k3y-k3y"}')
    shown = Http(
        "https://u:********@x.example/mcp?key=k3y-k3y-k3y", secret_url=FromFile(str(file), "/url")
    )

    made = await address(shown, OURS)

    assert made.url == "https://u:passw0rd@x.example/mcp?key=k3y-k3y-k3y"
    assert {"k3y-k3y-k3y", "passw0rd"} <= made.secrets


async def test_only_what_was_referred_to_is_secret() -> None:
    values: tuple[Value, ...] = (
        Plain("plain"),
        FromEnvironment("TOKEN"),
        FromEnvironment("X", "d"),
    )

    made = await command(Stdio("run", values), OURS)

    assert made.secrets == {"token-of-ours"}


async def test_a_program_and_a_folder_in_ones_home_are_found() -> None:
    made = await command(Stdio("~/bin/run", folder="~/work"), OURS)

    assert made.program == f"{HOME}/bin/run"
    assert made.folder == f"{HOME}/work"


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        (None, FromEnvironment("MISSING"), "the variable MISSING is not set"),
        (None, FromEnvironment("PORTICO_SECRET"), "gives nothing of its own away"),
        (None, Template(("x", FromEnvironment("MISSING"))), "MISSING is not set"),
        (None, FromFile("", "/k"), "there is no file"),
        ("{", FromFile("", "/k"), "is not valid JSON"),
        ('{"k": {"deeper": 1}}', FromFile("", "/k"), "there is nothing at /k"),
        ("{}", FromFile("", "/k"), "there is nothing at /k"),
        ('{"k": "${MISSING}"}', FromFile("", "/k", "braces"), "MISSING, which .* mentions"),
        ('{"k": "${PORTICO_SECRET}"}', FromFile("", "/k", "braces"), "PORTICO_SECRET, which"),
    ],
)
async def test_what_is_missing_is_named_and_says_what_to_do(
    tmp_path: Path, text: str | None, value: Value, reason: str
) -> None:
    file = tmp_path / "mcp.json"
    if text is not None:
        file.write_text(text)
    if isinstance(value, FromFile):
        value = FromFile(str(file), value.pointer, value.spelling)

    with pytest.raises(Broken, match=reason) as missing:
        await command(Stdio("run", (value,)), OURS)

    assert missing.value.fix
    assert not missing.value.reached
    assert "never" not in str(missing.value)


async def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(Broken, match="is not a file"):
        await command(Stdio("run", (FromFile(str(tmp_path), "/k"),)), OURS)
