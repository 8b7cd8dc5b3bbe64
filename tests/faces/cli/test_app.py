"""Commands, run in this process on a scripted house."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from portico.__main__ import main
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.health import Finding, State
from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from portico.kernel.errors import Flaw
from portico.settings.errors import InvalidSettings
from portico.testing.engine import ScriptedCheck
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.screen import TtyText, a_screen

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
    assert re.search(r"fix See what there is: portico( \w+)* --help", captured.err)


@pytest.mark.parametrize(
    ("arguments", "told", "command"),
    [
        (["keys", "create"], "NAME is missing", "keys create"),
        (["config", "set", "server.port"], "VALUE is missing", "config set"),
        (["spaces", "delete"], "--confirm is missing", "spaces delete"),
        (["serve", "--port"], "--port needs a value", "serve"),
        (["version", "a", "b"], "portico version has no use for: a b", "version"),
        (["keys", "nonsense"], "Unknown command", "keys"),
        (["keys", "create", "a", "--dayz", "3"], "Did you mean --days?", "keys create"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
@pytest.mark.requirement("cli:errors:name-the-fix")
def test_a_slip_is_told_in_words_with_the_help_of_that_command(
    house: ScriptedHouse, capsys: Captured, arguments: list[str], told: str, command: str
) -> None:
    assert run(house, arguments) == 2

    first, fix = capsys.readouterr().err.splitlines()
    assert told in first
    assert fix.endswith(f"portico {command} --help")


def test_an_option_that_lets_more_through_is_never_guessed(
    house: ScriptedHouse, capsys: Captured
) -> None:
    assert run(house, ["approvals", "approve", "k3x9fa", "--yes"]) == 2

    first, _ = capsys.readouterr().err.splitlines()
    assert first == "✗ Unknown option: --yes."


def test_a_slip_never_repeats_a_secret(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["version", "postgresql://postgres:hunter2@db"]) == 2

    assert "hunter2" not in capsys.readouterr().err


def test_commands_are_listed_in_the_order_of_use_and_arguments_by_their_name_alone(
    house: ScriptedHouse, capsys: Captured
) -> None:
    run(house, ["--help"])
    listed = capsys.readouterr().out
    run(house, ["keys", "create", "--help"])
    keys = capsys.readouterr().out
    run(house, ["keys", "rotate", "--help"])
    rotate = capsys.readouterr().out
    run(house, ["db", "restore", "--help"])
    restore = capsys.readouterr().out

    places = [listed.index(f" {name} ") for name in ("init", "serve", "status", "doctor")]
    assert places == sorted(places)
    assert "NAME" in keys
    assert "--name" not in keys
    assert "[default: 24]" in rotate
    assert "default" not in restore


def test_the_version_can_be_asked_for_by_an_option(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["--version"]) == 0
    assert capsys.readouterr().out.startswith("portico 1.2.3 ")


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


SECRETS = "postgresql://app:hunter2@db password='hunter2 x' ptc_0123456789AB_hunter2hunter2"


@pytest.mark.parametrize(
    ("failure", "code", "told"),
    [
        (PermissionError(13, "Permission denied", "/x/portico.toml"), "system_refused", "/x/p"),
        (OSError(f"no route to {SECRETS}"), "system_refused", "no route to"),
        (ZeroDivisionError(SECRETS), "internal_error", "ZeroDivisionError"),
        (ZeroDivisionError(), "internal_error", "ZeroDivisionError"),
    ],
    ids=["path", "no path", "unforeseen", "wordless"],
)
@pytest.mark.requirement("cli:errors:name-the-fix")
@pytest.mark.requirement("guard:keys:never-logged")
def test_whatever_breaks_is_told_in_words_without_secrets(
    tmp_path: Path, capsys: Captured, failure: Exception, code: str, told: str
) -> None:
    house = ScriptedHouse(tmp_path, failure=failure)

    assert run(house, ["config", "show"]) == 1
    plain = capsys.readouterr().err
    assert run(house, ["config", "show", "--debug"]) == 1
    traced = capsys.readouterr().err
    assert run(house, ["config", "show", "--json"]) == 1
    error = json.loads(capsys.readouterr().err)["error"]

    assert f"({code})" in plain
    assert told in plain
    assert "  fix " in plain
    assert "Traceback" not in plain
    assert "Traceback" in traced
    assert error["code"] == code
    assert "hunter2" not in f"{plain}{traced}{error}"


def test_a_reader_who_has_gone_is_no_failure(tmp_path: Path, capsys: Captured) -> None:
    assert run(ScriptedHouse(tmp_path, failure=BrokenPipeError()), ["config", "show"]) == 0
    assert capsys.readouterr() == ("", "")


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
    assert "portico up" in told


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

    told = capsys.readouterr().err
    assert "Portico 1.2.3 on http://127.0.0.1:9" in told
    assert told.endswith("Stopped.\n")
    flags = {"server.host": None, "server.port": 3200, "log.level": None}
    assert house.asked == [{"config": None, "flags": flags}, "terminal"]


@pytest.mark.parametrize(
    ("options", "told"), [([], False), (["--port", "3100"], False), (["--port", "3200"], True)]
)
def test_a_port_that_is_not_the_set_one_has_to_be_told_to_other_commands(
    house: ScriptedHouse, capsys: Captured, options: list[str], told: bool
) -> None:
    run(house, ["serve", *options])

    said = capsys.readouterr().err
    assert ("PORTICO_SERVER__PORT=3200" in said) is told
    assert ("portico config set server.port 3200" in said) is told


def test_what_never_served_has_not_stopped(tmp_path: Path, capsys: Captured) -> None:
    house = ScriptedHouse(tmp_path, failure=StoreUnavailable("gone"))

    assert run(house, ["serve"]) == 4

    assert "Stopped." not in capsys.readouterr().err


def test_another_name_is_ignored_once_there_is_an_admin(
    house: ScriptedHouse, capsys: Captured
) -> None:
    run(house, ["init", "--name", "ana"])
    run(house, ["init", "--name", "ana"])
    assert "is ignored" not in capsys.readouterr().err

    assert run(house, ["init", "--name", "bob"]) == 0

    told = capsys.readouterr().err
    assert "--name bob is ignored" in told
    assert "you are    ana" in told


def test_init_says_what_to_do_next(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["init", "--name", "ana"]) == 0
    assert "Next: portico up" in capsys.readouterr().err

    assert run(house, ["init", "--name", "ana"]) == 0
    assert "was set up already" in capsys.readouterr().err

    assert run(house, ["init", "--name", "ana", "--recover"]) == 0
    assert "A new key is in place." in capsys.readouterr().err

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


def test_a_backup_replaces_a_file_only_when_told_to(
    house: ScriptedHouse, capsys: Captured, tmp_path: Path
) -> None:
    file = tmp_path / "b.dump"
    file.write_text("precious")

    assert run(house, ["db", "backup", str(file)]) == 1
    assert "--replace" in capsys.readouterr().err
    assert file.read_text() == "precious"

    assert run(house, ["db", "backup", str(file), "--replace"]) == 0
    assert file.read_text() == "everything"


def test_a_person_is_told_sizes_and_a_program_bytes(
    house: ScriptedHouse, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(house, ["db", "info"]) == 0
    assert "bytes\t" in capsys.readouterr().out
    screen = a_screen(monkeypatch)

    assert run(house, ["db", "info"]) == 0

    assert re.search(r"^size +\S+ (bytes|kB|MB)$", screen.getvalue(), re.MULTILINE)


@pytest.mark.requirement("cli:exits:codes")
def test_nothing_is_restored_without_a_yes(
    house: ScriptedHouse, capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    file = tmp_path / "b.dump"
    file.touch()

    assert run(house, ["--no-input", "db", "restore", str(file)]) == 6
    assert "--yes" in capsys.readouterr().err
    assert run(house, ["--no-input", "db", "restore", str(file), "--json"]) == 6
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "needs_yes"
    assert house.scripted_archive.restored == []

    assert run(house, ["db", "restore", str(file), "--yes"]) == 0
    assert house.scripted_archive.restored == [file]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "The database is of PostgreSQL 18 now; it was of 16.\nWhat was before stays in"),
        (["--back", "--yes"], "portico config set database.version 16"),
        (["--forget-old", "--yes"], "Removed postgres/16 (40.0 MB)."),
    ],
)
def test_the_database_is_upgraded_and_told_how_to_go_back(
    house: ScriptedHouse, capsys: Captured, arguments: list[str], said: str
) -> None:
    assert run(house, ["db", "upgrade", *arguments]) == 0
    assert said in capsys.readouterr().out


def test_an_upgrade_answers_a_program(house: ScriptedHouse, capsys: Captured) -> None:
    house.scripted_upgrade.major = 18

    assert run(house, ["db", "upgrade", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "before": 18,
        "after": 18,
        "kept": ["postgres/16"],
    }


@pytest.mark.parametrize("given", ["--back", "--forget-old"])
def test_what_loses_something_of_an_upgrade_asks(house: ScriptedHouse, given: str) -> None:
    assert run(house, ["db", "upgrade", given]) == Exit.APPROVAL
    assert run(house, ["db", "upgrade", "--back", "--forget-old", "--yes"]) == Exit.USAGE


def test_nobody_is_asked_about_a_backup_that_is_not_there(
    house: ScriptedHouse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    screen = a_screen(monkeypatch)
    monkeypatch.setattr(sys, "stdin", TtyText("y\n"))

    assert run(house, ["db", "restore", str(tmp_path / "gone.dump")]) == 1

    assert "gone.dump: No such file" in screen.getvalue()
    assert "[y/N]" not in screen.getvalue()
    assert house.scripted_archive.restored == []


def test_provisioning_prints_addresses_only_when_told_to(
    house: ScriptedHouse, capsys: Captured
) -> None:
    command = ["db", "provision", "--admin-dsn", "postgresql://postgres@db"]

    assert run(house, command) == 0
    assert "postgresql://app@db" not in capsys.readouterr().out

    assert run(house, [*command, "--print-only"]) == 0
    line = capsys.readouterr().out.rstrip("\n")
    assert shlex.split(line) == [
        "PORTICO_DATABASE__DSN=postgresql://app@db/portico?sslmode=require&x=it's"
    ]
    assert line.startswith("PORTICO_DATABASE__DSN='postgresql://app@db/portico?")


def test_the_administrators_address_may_come_from_the_environment(
    house: ScriptedHouse, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PORTICO_ADMIN_DSN", raising=False)
    assert run(house, ["db", "provision"]) == 2
    assert "--admin-dsn is missing" in capsys.readouterr().err
    monkeypatch.setenv("PORTICO_ADMIN_DSN", "postgresql://postgres@db")

    assert run(house, ["db", "provision"]) == 0

    assert house.asked == ["postgresql://postgres@db"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["people", "change", "ben"],
        ["people", "invite", "ben", "--again", "--role", "viewer"],
        ["people", "invite", "ben", "--again", "--clearance", "team"],
    ],
    ids=" ".join,
)
@pytest.mark.requirement("cli:exits:codes")
def test_options_that_do_not_go_together_are_told_before_anybody_is_asked(
    house: ScriptedHouse, capsys: Captured, arguments: list[str]
) -> None:
    assert run(house, arguments) == 2

    assert "(bad_usage)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "link",
    ["nonsense", "http://127.0.0.1:9/join", "ptc_x", "http://#ptc_x", "file://x/join#ptc_x"],
)
def test_what_is_no_invitation_is_told(house: ScriptedHouse, capsys: Captured, link: str) -> None:
    assert run(house, ["join", link]) == 2
    assert "behind the #" in capsys.readouterr().err


def test_whoever_breaks_it_off_while_it_is_still_loading_is_told_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def broken_off(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("portico.faces.cli.app.run", broken_off)
    monkeypatch.setattr("sys.argv", ["portico", "version"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "")
