"""Commands, run in this process on a scripted house."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.health import Finding, State
from portico.faces.cli.app import run
from portico.kernel.errors import Flaw
from portico.settings.errors import InvalidSettings
from portico.testing.engine import ScriptedCheck
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.screen import a_screen

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def house(tmp_path: Path) -> ScriptedHouse:
    return ScriptedHouse(tmp_path)


def answer(capsys: Captured) -> Any:
    """What a program reads: one JSON value on standard output, and no talk on it."""
    return json.loads(capsys.readouterr().out)


def test_version_in_words_and_in_json(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["version"]) == 0
    assert capsys.readouterr().out.startswith("portico 1.2.3 (Python 3.")

    assert run(house, ["version", "--json"]) == 0
    assert answer(capsys)["portico"] == "1.2.3"


@pytest.mark.parametrize("arguments", [["--json", "version"], ["version", "--json"]])
@pytest.mark.requirement("cli:output:json-everywhere")
def test_options_stand_before_or_behind_the_command(
    house: ScriptedHouse, capsys: Captured, arguments: list[str]
) -> None:
    assert run(house, arguments) == 0
    assert answer(capsys)["portico"] == "1.2.3"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_every_command_in_its_group(
    house: ScriptedHouse, capsys: Captured, arguments: list[str]
) -> None:
    assert run(house, arguments) == 0

    text = capsys.readouterr().out
    for word in ("portico init", "Start", "Who", "Upkeep", "doctor", "keys", "completion"):
        assert word in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["keys", "--help"],
        ["people", "--help"],
        ["spaces", "--help"],
        ["config", "--help"],
        ["db", "--help"],
        ["init", "--help"],
        ["keys", "create", "--help"],
        ["db", "backup", "--help"],
    ],
)
def test_every_command_has_help(
    house: ScriptedHouse, capsys: Captured, arguments: list[str]
) -> None:
    assert run(house, arguments) == 0
    assert arguments[0] in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["statsu"],
        ["keys", "nonsense"],
        ["keys", "create"],
        ["version", "--nonsense"],
        ["serve", "--port", "many"],
        ["completion", "powershell"],
        ["config", "set", "server.port"],
    ],
    ids=" ".join,
)
@pytest.mark.requirement("cli:exits:codes")
def test_a_slip_of_the_pen_exits_with_2_and_names_help(
    house: ScriptedHouse, capsys: Captured, arguments: list[str]
) -> None:
    assert run(house, arguments) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("✗ ")
    assert "portico --help" in captured.err


def test_a_near_miss_is_answered_with_what_was_meant(
    house: ScriptedHouse, capsys: Captured
) -> None:
    run(house, ["statsu"])

    assert "status" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(house: ScriptedHouse, capsys: Captured, shell: str) -> None:
    assert run(house, ["completion", shell]) == 0

    script = capsys.readouterr().out
    assert "portico" in script
    assert "doctor" in script


def test_config_show_tells_origins_when_asked(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["config", "show"]) == 0
    assert capsys.readouterr().out == "server.port\t3100\ndatabase.dsn\t-\n"

    assert run(house, ["config", "show", "--origin"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "server.port\t3100\tdefault"

    assert run(house, ["config", "show", "--origin", "--json"]) == 0
    assert answer(capsys)["settings"][0] == {
        "setting": "server.port",
        "value": 3100,
        "origin": "default",
    }


def test_config_is_checked_shown_located_and_changed(
    house: ScriptedHouse, capsys: Captured, tmp_path: Path
) -> None:
    assert run(house, ["config", "validate", "--json"]) == 0
    assert answer(capsys) == {"valid": True, "settings": 2}

    assert run(house, ["config", "schema", "--json"]) == 0
    assert answer(capsys) == {"title": "Settings"}

    assert run(house, ["config", "path", "--json"]) == 0
    assert answer(capsys)["key_file"] == str(tmp_path / "client.key")

    assert run(house, ["config", "set", "server.port", "3200"]) == 0
    assert house.asked == [("server.port", "3200")]


@pytest.mark.requirement("cli:exits:codes")
def test_an_invalid_configuration_exits_with_3(tmp_path: Path, capsys: Captured) -> None:
    flaw = Flaw("server.prot", "there is no such setting (/x/portico.toml:2)")
    house = ScriptedHouse(tmp_path, failure=InvalidSettings([flaw]))

    assert run(house, ["config", "validate"]) == 3

    told = capsys.readouterr().err
    assert "server.prot: there is no such setting (/x/portico.toml:2)" in told
    assert "portico config validate" in told


def test_a_traceback_is_shown_only_for_the_asking(tmp_path: Path, capsys: Captured) -> None:
    house = ScriptedHouse(tmp_path, failure=StoreUnavailable("gone"))

    run(house, ["config", "show"])
    assert "Traceback" not in capsys.readouterr().err

    assert run(house, ["config", "show", "--debug"]) == 4
    assert "Traceback" in capsys.readouterr().err


def test_another_configuration_file_is_handed_to_the_house(house: ScriptedHouse) -> None:
    assert run(house, ["version", "--config", "/x/portico.toml"]) == 0
    assert house.asked == [{"config": Path("/x/portico.toml"), "flags": {}}]


@pytest.mark.requirement("cli:exits:codes")
def test_without_a_server_status_exits_with_4_and_says_how_to_start_it(
    house: ScriptedHouse, capsys: Captured
) -> None:
    house.whereabouts().key_file.write_text("ptc_x")

    assert run(house, ["status"]) == 4

    told = capsys.readouterr().err
    assert "http://127.0.0.1:9" in told
    assert "portico serve" in told


@pytest.mark.requirement("cli:exits:codes")
def test_without_a_key_status_exits_with_5_and_says_how_to_get_one(
    house: ScriptedHouse, capsys: Captured
) -> None:
    assert run(house, ["status"]) == 5

    told = capsys.readouterr().err
    assert "client.key" in told
    assert "portico init" in told


def test_serving_says_where_and_ends_with_130_when_interrupted(
    house: ScriptedHouse, capsys: Captured
) -> None:
    assert run(house, ["serve", "--port", "3200"]) == 130

    assert "Portico 1.2.3 on http://127.0.0.1:9" in capsys.readouterr().err
    flags = {"server.host": None, "server.port": 3200, "log.level": None}
    assert house.asked == [{"config": None, "flags": flags}]


def test_init_says_what_to_do_next(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["init", "--name", "ana"]) == 0
    assert "Next: portico serve" in capsys.readouterr().err

    assert run(house, ["init", "--name", "ana"]) == 0
    assert "was set up already" in capsys.readouterr().err

    assert run(house, ["init", "--name", "ana", "--recover"]) == 0
    assert "A new key" in capsys.readouterr().err

    assert run(house, ["init", "--name", "ana", "--json"]) == 0
    assert answer(capsys)["admin"] == "ana"


def test_doctor_fails_when_something_is_broken_and_not_once_it_is_mended(
    house: ScriptedHouse, capsys: Captured
) -> None:
    broken = Finding(check="files", state=State.BROKEN, detail="open", fix="doctor --fix")
    mended = Finding(check="files", state=State.MENDED, detail="closed")
    house.checks = [ScriptedCheck(broken, mended)]

    assert run(house, ["doctor"]) == 1
    assert capsys.readouterr().out == "files\tbroken\topen\tdoctor --fix\n"

    assert run(house, ["doctor", "--fix", "--json"]) == 0
    assert answer(capsys)["checks"][0]["state"] == "mended"


def test_doctor_shows_a_person_a_mark_and_the_mend_for_each_check(
    house: ScriptedHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = Finding(check="platform", state=State.GOOD, detail="fine")
    broken = Finding(check="files", state=State.BROKEN, detail="open", fix="doctor --fix")
    house.checks = [ScriptedCheck(good), ScriptedCheck(broken)]
    screen = a_screen(monkeypatch)

    assert run(house, ["doctor"]) == 1

    words = [line.split() for line in screen.getvalue().splitlines()]
    assert ["✓", "platform", "fine"] in words
    assert ["✗", "files", "open"] in words
    assert ["fix:", "doctor", "--fix"] in words


def test_the_database_is_started_stopped_and_looked_at(
    house: ScriptedHouse, capsys: Captured
) -> None:
    assert run(house, ["db", "status", "--json"]) == 4
    assert answer(capsys)["running"] is False

    assert run(house, ["db", "start", "--json"]) == 0
    assert answer(capsys)["running"] is True
    assert run(house, ["db", "status"]) == 0
    capsys.readouterr()

    assert run(house, ["db", "info", "--json"]) == 0
    assert answer(capsys)["tables"] == []

    assert run(house, ["db", "stop", "--json"]) == 0
    assert answer(capsys) == {"stopped": True}
    assert run(house, ["db", "stop"]) == 0
    assert capsys.readouterr().out == "It was not running.\n"


def test_a_database_that_others_use_is_stopped_only_by_force(
    house: ScriptedHouse, capsys: Captured
) -> None:
    house.memory_store.others = 1

    assert run(house, ["db", "stop"]) == 1
    assert "--force" in capsys.readouterr().err
    assert run(house, ["db", "stop", "--force"]) == 0


def test_migrating_names_what_was_applied(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["db", "migrate"]) == 0
    assert capsys.readouterr().out == "Applied: 0001 ground_floor\n"

    assert run(house, ["db", "migrate", "--json"]) == 0
    assert answer(capsys) == {"applied": []}


def test_a_backup_says_where_it_is(house: ScriptedHouse, capsys: Captured, tmp_path: Path) -> None:
    assert run(house, ["db", "backup", str(tmp_path / "b.dump"), "--json"]) == 0

    assert answer(capsys) == {"file": str(tmp_path / "b.dump"), "bytes": 10}


@pytest.mark.requirement("cli:exits:codes")
def test_nothing_is_restored_without_a_yes(
    house: ScriptedHouse, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    assert run(house, ["--no-input", "db", "restore", "b.dump"]) == 6
    assert "--yes" in capsys.readouterr().err
    assert house.scripted_archive.restored == []

    assert run(house, ["db", "restore", "b.dump", "--yes"]) == 0
    assert house.scripted_archive.restored == [Path("b.dump")]


def test_provisioning_prints_addresses_only_when_told_to(
    house: ScriptedHouse, capsys: Captured
) -> None:
    command = ["db", "provision", "--admin-dsn", "postgresql://postgres@db"]

    assert run(house, command) == 0
    assert "postgresql://app@db" not in capsys.readouterr().out

    assert run(house, [*command, "--print-only"]) == 0
    assert capsys.readouterr().out == "PORTICO_DATABASE__DSN=postgresql://app@db\n"


@pytest.mark.parametrize("link", ["nonsense", "http://127.0.0.1:9/join", "ptc_x", "http://#ptc_x"])
def test_what_is_no_invitation_is_told(house: ScriptedHouse, capsys: Captured, link: str) -> None:
    assert run(house, ["join", link]) == 2
    assert "behind the #" in capsys.readouterr().err
