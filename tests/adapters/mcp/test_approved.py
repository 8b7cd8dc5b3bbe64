"""What a file says when a server is started is what was approved, but for the secret itself."""

import json
from pathlib import Path

import pytest

from portico.adapters.mcp.resolve import Ours, address, command
from portico.adapters.mcp.wire import Broken
from portico.gateway.core.client_files.secrecy import shown_url
from portico.gateway.core.server import FromFile, Http, Plain, Stdio
from portico.gateway.core.server import Spelling as Written

KEY = "abc123def456ghi7"
OURS = Ours({"TOKEN": "token-of-ours", "HOST": "x.example", "OPTION": "--eval=1"})


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

    made = await address(Http(shown_url(approved), secret_url=secret), OURS)

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
        await address(Http(shown_url(approved), secret_url=secret), OURS)

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

    made = await command(Stdio("run", (Plain(before), secret)), OURS)

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
        await command(Stdio("run", (Plain(before), secret)), OURS)


async def test_a_file_for_a_secret_alone_may_hold_any_but_an_option(tmp_path: Path) -> None:
    file = tmp_path / "password"
    server = Stdio("run", (Plain("serve"), FromFile(str(file), "")))

    file.write_text("correct horse\n")
    made = await command(server, OURS)
    file.write_text("--eval=evil\n")
    with pytest.raises(Broken, match="not what was approved"):
        await command(server, OURS)

    assert made.arguments == ("serve", "correct horse")
