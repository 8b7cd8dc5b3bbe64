"""Taking an installation away, on the real house, in folders of a test; without a database."""

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portico.app.cli_services import PorticoServices
from portico.app.supervision import AppSupervision
from portico.interfaces.cli.app import run
from portico.interfaces.cli.services import Ended

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation's home, with something in each folder."""
    for name in os.environ:
        if name.startswith(("PORTICO_", "XDG_")):
            monkeypatch.delenv(name)
    person, made = tmp_path / "person", tmp_path / "portico"
    person.mkdir()
    monkeypatch.setenv("HOME", str(person))
    monkeypatch.setenv("PORTICO_HOME", str(made))
    monkeypatch.chdir(person)
    for file in ("config/portico.toml", "config/client.key", "state/logs/portico.log"):
        (made / file).parent.mkdir(parents=True, exist_ok=True)
        (made / file).write_text("# x\n")
    (made / "data" / "workspaces" / "a").mkdir(parents=True)
    (made / "data" / "workspaces" / "a" / "b").write_bytes(b"x" * 2000)
    (made / "cache" / "models").mkdir(parents=True)
    return made


def uninstall(words: str) -> int:
    return run(PorticoServices(), ["uninstall", *shlex.split(words)])


def answer(capsys: Captured, words: str = "--purge --yes") -> Any:
    assert uninstall(f"{words} --json") == 0
    return json.loads(capsys.readouterr().out)


def names(told: Any) -> set[str]:
    return {Path(each["path"]).name for each in told["belongings"]}


def test_without_purge_nothing_that_is_kept_is_touched(home: Path, capsys: Captured) -> None:
    before = sorted(home.rglob("*"))

    told = answer(capsys, "")

    assert sorted(home.rglob("*")) == before
    assert told["package"]
    assert (told["ended"], told["database_stopped"], told["clients"]) == ([], False, [])


@pytest.mark.requirement("staying:uninstall:only-ours")
def test_a_dry_run_says_what_a_purge_then_does(home: Path, capsys: Captured) -> None:
    foretold = answer(capsys, "--purge --dry-run")
    still = (home / "config" / "client.key").exists()
    told = answer(capsys)

    assert names(foretold) == {"portico.toml", "client.key", "workspaces", "logs", "models"}
    assert foretold["bytes"] == 2012
    assert (still, foretold["dry_run"], told["dry_run"]) == (True, True, False)
    assert told["belongings"] == foretold["belongings"]
    assert not home.exists()


@pytest.mark.requirement("staying:uninstall:only-ours")
def test_what_is_not_ours_stays_and_so_does_what_links_lead_to(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "file").write_text("theirs")
    (home / "data" / "homes").symlink_to(theirs)
    (home / "data" / "workspaces" / "a" / "link").symlink_to(theirs)
    (home / "data" / "thesis.txt").write_text("years of work")
    (home / "cache" / "models").rmdir()
    (home / "cache").rmdir()
    (home / "cache").symlink_to(theirs)

    told = answer(capsys)

    assert (theirs / "file").read_text() == "theirs"
    left = {Path(each["path"]).name: each["why"] for each in told["left"]}
    assert left == {
        "thesis.txt": "it is not known to be Portico's",
        "cache": f"it is a link to {theirs}",
    }
    kept = sorted(path.name for path in home.rglob("*") if not path.is_dir())
    assert kept == ["thesis.txt"]
    assert (home / "cache").is_symlink()


@pytest.mark.parametrize(
    ("place", "words", "code", "said"),
    [
        ("/", "--purge --yes", 1, "odd_home"),
        ("person", "--purge --yes", 1, "odd_home"),
        (".", "--purge --yes", 1, "odd_home"),
        ("portico", "--purge", 6, "needs_yes"),
        ("portico", "--purge", 6, "2.0 kB"),
        ("portico", "--backup x.dump", 2, "nothing is backed up"),
        ("portico", "--purge --yes --backup {home}/state/logs/x.dump", 2, "removed with the rest"),
        ("portico", "--purge --yes --backup {old}", 1, "old.dump"),
    ],
)
def test_what_would_lose_something_is_refused_and_nothing_is_changed(
    home: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    *,
    place: str,
    words: str,
    code: int,
    said: str,
) -> None:
    """A home that is not its own, without a yes, with a backup that would not stay."""
    old = home.with_name("old.dump")
    old.write_text("old")
    monkeypatch.setenv("PORTICO_HOME", str(home.parent / place))

    assert uninstall(words.format(home=home, old=old)) == code

    assert said in capsys.readouterr().err
    assert (home / "config" / "client.key").exists()
    assert old.read_text() == "old"


def test_a_folder_without_an_installation_keeps_its_things(
    home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = home.with_name("project") / "state" / "logs"
    logs.mkdir(parents=True)
    monkeypatch.setenv("PORTICO_HOME", str(home.with_name("project")))

    assert uninstall("--purge --yes") == 0

    assert "nothing of Portico's" in capsys.readouterr().err
    assert logs.exists()


@pytest.mark.parametrize("typed", ["yes", "purge", ""])
def test_a_person_types_the_word_and_is_offered_a_backup(
    home: Path, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def ask(_terminal: object, question: str) -> str:
        asked.append(question)
        return typed if len(asked) == 1 else "n"

    monkeypatch.setattr("portico.interfaces.cli.terminal.Terminal.ask", ask)

    code = uninstall("--purge")

    right = typed == "purge"
    assert code == (0 if right else 6)
    assert home.exists() is not right
    assert ("backup" in asked[-1]) is right


def test_clients_that_still_come_to_us_are_named(home: Path, capsys: Captured) -> None:
    file = Path.home() / ".cursor" / "mcp.json"
    file.parent.mkdir()
    entry = {"command": "portico", "args": ["stdio", "--start"]}
    file.write_text(json.dumps({"mcpServers": {"other": {"command": "x"}, "portico": entry}}))

    assert answer(capsys, "--dry-run")["clients"] == [{"client": "Cursor", "file": str(file)}]


def test_what_could_not_be_removed_is_told_with_why(
    home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(path: Path) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr("portico.app.uninstall.remove", held)

    assert uninstall("--purge --yes") == 1
    told = capsys.readouterr().err
    assert "not_removed" in told
    assert "Operation not permitted" in told


def test_a_database_of_your_own_and_a_unit_are_told(
    home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTICO_DATABASE__DSN", "postgresql://app:secret@db/portico")
    unit = PorticoServices().keeping().at_login().file
    PorticoServices().keeping().write_at_login()
    written = unit.exists()

    told = answer(capsys)

    assert {"path": "the database", "why": "it is a PostgreSQL of your own"} in told["left"]
    assert (written, told["at_login_removed"], unit.exists()) == (True, True, False)


def test_what_a_server_leaves_when_it_ends_goes_too(
    home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(_: AppSupervision, progress: Callable[[str], None]) -> list[Ended]:
        progress("ending it")
        (home / "state" / "audit-heads.ndjson").write_text("{}\n")
        return []

    monkeypatch.setattr(AppSupervision, "end", end)

    assert "audit-heads.ndjson" in names(answer(capsys))
    assert not home.exists()
