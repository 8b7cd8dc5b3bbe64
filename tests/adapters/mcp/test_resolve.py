"""What a launch comes to: values of now, which of them are secret, and what is missing."""

import json
from pathlib import Path

import pytest

from portico.adapters.mcp.resolve import Ours, address, command
from portico.adapters.mcp.wire import Broken
from portico.gateway.core.client_files.secrecy import shown_url
from portico.gateway.core.server import (
    FromEnvironment,
    FromFile,
    Http,
    Plain,
    Stdio,
    Template,
    Value,
)
from portico.gateway.core.server import Spelling as Written

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


KEY = "abc123def456ghi7"
KNOWN = Ours({"TOKEN": "token-of-ours", "HOST": "x.example", "OPTION": "--eval=1"})


def _file(folder: Path, value: str) -> str:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"value": value}))
    return str(file)


@pytest.mark.parametrize(
    ("approved", "now", "spelling", "url"),
    [
        (
            f"https://x.example/mcp?api_key={KEY}",
            "https://x.example/mcp?api_key=0ther0ther0ther0",
            None,
            "https://x.example/mcp?api_key=0ther0ther0ther0",
        ),
        (
            "https://u:old@x.example:8080/mcp",
            "https://u:new@x.example:8080/mcp",
            None,
            "https://u:new@x.example:8080/mcp",
        ),
        (
            "https://${HOST}/mcp?api_key=${TOKEN}",
            "https://${HOST}/mcp?api_key=${TOKEN}",
            "braces",
            "https://x.example/mcp?api_key=token-of-ours",
        ),
    ],
)
async def test_the_key_in_an_address_may_be_another(
    tmp_path: Path, approved: str, now: str, spelling: Written | None, url: str
) -> None:
    secret = FromFile(_file(tmp_path, now), "/value", spelling)

    made = await address(Http(shown_url(approved), secret_url=secret), KNOWN)

    assert made.url == url


@pytest.mark.parametrize(
    ("approved", "now", "spelling"),
    [
        (
            f"https://x.example/mcp?api_key={KEY}",
            f"https://evil.example/mcp?api_key={KEY}",
            None,
        ),
        (f"https://x.example/mcp?api_key={KEY}", f"http://x.example/mcp?api_key={KEY}", None),
        (f"https://x.example/mcp?api_key={KEY}", f"https://x.example/other?api_key={KEY}", None),
        ("https://u:old@x.example/mcp", "https://u:p@evil.example:1/a@x.example/mcp", None),
        ("https://u:old@x.example/mcp", "https://u:p@evil.example\\@x.example/mcp", None),
        ("https://${HOST}/mcp?api_key=${TOKEN}", "https://evil.example/mcp?api_key=x", "braces"),
        (f"https://x.example/mcp?api_key={KEY}", "no address", None),
    ],
)
async def test_an_address_that_is_another_is_not_gone_to(
    tmp_path: Path, approved: str, now: str, spelling: Written | None
) -> None:
    secret = FromFile(_file(tmp_path, now), "/value", spelling)

    with pytest.raises(Broken, match=r"its address, in .*, is not what was approved") as other:
        await address(Http(shown_url(approved), secret_url=secret), KNOWN)

    assert "Approve it anew" in (other.value.fix or "")
    assert not other.value.reached


@pytest.mark.parametrize(
    ("before", "now", "spelling", "text"),
    [
        ("--token", "hunter2", None, "hunter2"),
        ("serve", "sk-abc123def456ghi7jkl", None, "sk-abc123def456ghi7jkl"),
        ("serve", "--api-key=hunter2", None, "--api-key=hunter2"),
        ("serve", f"--header=Authorization: Bearer {KEY}", None, None),
        ("--url", f"https://x.example/?u=${{TOKEN}}&api_key={KEY}", "braces", None),
    ],
)
async def test_a_secret_among_the_arguments_may_be_another(
    tmp_path: Path, before: str, now: str, spelling: Written | None, text: str | None
) -> None:
    secret = FromFile(_file(tmp_path, now), "/value", spelling)

    made = await command(Stdio("run", (Plain(before), secret)), KNOWN)

    assert made.arguments == (before, text or now.replace("${TOKEN}", "token-of-ours"))


@pytest.mark.parametrize(
    ("before", "now", "spelling"),
    [
        ("--token", "--eval=evil", None),
        ("--token", f"--eval=evil()//{KEY}", None),
        ("--token", f"-e{KEY}", None),
        ("serve", "evil-package", None),
        ("serve", "${TOKEN}", "braces"),
        ("serve", f"${{OPTION}}{KEY}", "braces"),
    ],
)
async def test_an_argument_that_is_no_secret_any_more_is_not_given(
    tmp_path: Path, before: str, now: str, spelling: Written | None
) -> None:
    secret = FromFile(_file(tmp_path, now), "/value", spelling)

    with pytest.raises(Broken, match=r"one of its arguments, in .*, is not what was approved"):
        await command(Stdio("run", (Plain(before), secret)), KNOWN)


async def test_a_file_for_a_secret_alone_may_hold_any_but_an_option(tmp_path: Path) -> None:
    file = tmp_path / "password"
    server = Stdio("run", (Plain("serve"), FromFile(str(file), "")))

    file.write_text("correct horse\n")
    made = await command(server, KNOWN)
    file.write_text("--eval=evil\n")
    with pytest.raises(Broken, match="not what was approved"):
        await command(server, KNOWN)

    assert made.arguments == ("serve", "correct horse")
