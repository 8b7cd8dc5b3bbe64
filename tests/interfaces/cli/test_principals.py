"""`portico ui`: a browser is opened with a file that leads to the console, or the link printed."""

import stat
import webbrowser
from pathlib import Path
from urllib.request import url2pathname

import pytest

from tests.interfaces.cli.command_line import CommandLine

LINK = "http://127.0.0.1:3100/login#ptc_session"
ANSWERS = {"POST /console-links": {"link": LINK, "expires_at": "2026-01-01T12:02:00+00:00"}}


def test_the_browser_is_given_a_file_of_ones_own_and_no_secret_on_its_command_line(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def opening(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", opening)

    got = cli("ui", ANSWERS)

    file = Path(url2pathname(opened[0].removeprefix("file://")))
    assert got.code == 0
    assert "ptc_" not in opened[0]
    assert LINK in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "ptc_" not in got.out
    file.unlink()


@pytest.mark.parametrize("command", ["ui --print", "ui"])
def test_without_a_browser_the_link_is_printed(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: False)

    got = cli(command, ANSWERS)

    assert (got.code, got.out.strip()) == (0, LINK)
    assert "works once" in got.err
