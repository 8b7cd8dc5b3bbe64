"""`portico ui`: a browser is opened with a file that leads to the console, or the link printed."""

import stat
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from urllib.request import url2pathname

import pytest

from portico.faces.cli.app import run
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.scripted_server import ScriptedServer, answering

LINK = "http://127.0.0.1:3100/login#ptc_session"
ANSWERS = {"POST /console-links": {"link": LINK, "expires_at": "2026-01-01T12:02:00+00:00"}}
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with answering(ANSWERS) as made:
        yield made


@pytest.fixture
def house(tmp_path: Path, server: ScriptedServer) -> ScriptedHouse:
    house = ScriptedHouse(tmp_path)
    house.remote = server.url
    house.whereabouts().key_file.write_text("ptc_mine")
    return house


def test_the_browser_is_given_a_file_of_ones_own_and_no_secret_on_its_command_line(
    house: ScriptedHouse, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    opened: list[str] = []

    def opening(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", opening)

    code = run(house, ["ui"])

    file = Path(url2pathname(opened[0].removeprefix("file://")))
    assert code == 0
    assert "ptc_" not in opened[0]
    assert LINK in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "ptc_" not in capsys.readouterr().out
    file.unlink()


@pytest.mark.parametrize("arguments", [["ui", "--print"], ["ui"]])
def test_without_a_browser_the_link_is_printed(
    house: ScriptedHouse,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
    arguments: list[str],
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: False)

    assert run(house, arguments) == 0

    said = capsys.readouterr()
    assert said.out.strip() == LINK
    assert "works once" in said.err
