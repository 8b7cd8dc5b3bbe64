"""Commands, run in this process on a scripted house."""

import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from portico.__main__ import main
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.store import CheckResult, State
from portico.interfaces.cli.errors import Exit
from portico.kernel.errors import FieldError
from portico.settings.load import InvalidSettings
from portico.testing.engine import ScriptedCheck
from tests.interfaces.cli.command_line import CommandLine

VERSION = "portico 1.2.3 (Python 3."


@pytest.mark.parametrize("command", ["version", "--version"])
def test_the_version_is_a_command_and_an_option(cli: CommandLine, command: str) -> None:
    got = cli(command)

    assert got.code == 0
    assert got.out.startswith(VERSION)


@pytest.mark.parametrize("command", ["--json version", "version --json"])
@pytest.mark.requirement("cli:output:json-everywhere")
def test_options_stand_before_or_behind_the_command(cli: CommandLine, command: str) -> None:
    assert cli(command).json["portico"] == "1.2.3"


@pytest.mark.parametrize("command", ["", "--help", "-h"])
def test_help_names_every_command_in_its_group(cli: CommandLine, command: str) -> None:
    got = cli(command)

    assert got.code == 0
    for word in ("portico init", "Start", "Who", "Upkeep", "doctor", "keys", "completion"):
        assert word in got.out
    places = [got.out.index(f" {name} ") for name in ("init", "serve", "status", "doctor")]
    assert places == sorted(places), "in the order of use"


@pytest.mark.parametrize(
    ("command", "shown", "hidden"),
    [
        ("keys", "keys", ()),
        ("people", "people", ()),
        ("spaces", "spaces", ()),
        ("config", "config", ()),
        ("db", "db", ()),
        ("init", "init", ()),
        ("db backup", "db", ()),
        ("keys create", "NAME", ("--name",)),
        ("keys rotate", "[default: 24]", ()),
        ("db restore", "db", ("default",)),
    ],
)
def test_every_command_has_help_with_its_arguments_by_their_name_alone(
    cli: CommandLine, command: str, shown: str, hidden: tuple[str, ...]
) -> None:
    got = cli(f"{command} --help")

    assert got.code == 0
    assert shown in got.out
    assert not any(word in got.out for word in hidden)


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_of_help_ends_early(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Where the next word would still have fitted, the source was broken and not the text."""
    monkeypatch.setenv("COLUMNS", str(columns))

    paragraph = cli("init --help").out.split("\n\n")[2].splitlines()

    assert len(paragraph) > 1
    for line, following in pairwise(paragraph):
        assert len(line.rstrip()) + 1 + len(following.split()[0]) > columns


def test_value_of_a_secret_is_not_repeated(cli: CommandLine) -> None:
    got = cli("secrets set github hunter22")

    assert got.code == Exit.USAGE
    assert "takes one NAME" in got.err
    assert "hunter22" not in got.err


def test_what_every_command_takes_stands_last(cli: CommandLine) -> None:
    told = cli("up --help").out

    assert told.index("--foreground") < told.index("--json")


@pytest.mark.parametrize(
    ("command", "told", "help_of"),
    [
        ("nonsense", "Unknown command", ""),
        ("statsu", "status", ""),
        ("version --nonsense", "--nonsense", "version"),
        ("serve --port many", "many", "serve"),
        ("completion powershell", "powershell", "completion"),
        ("keys create", "NAME is missing", "keys create"),
        ("config set server.port", "VALUE is missing", "config set"),
        ("spaces delete", "--confirm is missing", "spaces delete"),
        ("serve --port", "--port needs a value", "serve"),
        ("version a b", "portico version has no use for: a b", "version"),
        ("keys nonsense", "Unknown command", "keys"),
        ("keys create a --dayz 3", "Did you mean --days?", "keys create"),
        ("approvals approve k3x9fa --yes", "✗ Unknown option: --yes.", "approvals approve"),
    ],
)
@pytest.mark.requirement("cli:exits:codes")
@pytest.mark.requirement("cli:errors:name-the-fix")
def test_a_slip_of_the_pen_is_told_in_words_with_the_help_of_that_command(
    cli: CommandLine, command: str, told: str, help_of: str
) -> None:
    """An option that lets more through is never guessed."""
    got = cli(command)

    first, fix = got.err.splitlines()
    assert (got.code, got.out) == (Exit.USAGE, "")
    assert first.startswith("✗ ")
    assert told in first
    assert fix.endswith(f"fix See what there is: portico {help_of} --help".replace("  ", " "))
    assert "Did you mean" not in first or "approve" not in command


def test_a_slip_never_repeats_a_secret(cli: CommandLine) -> None:
    got = cli("version postgresql://postgres:hunter2@db")

    assert got.code == Exit.USAGE
    assert "hunter2" not in got.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(cli: CommandLine, shell: str) -> None:
    got = cli(f"completion {shell}")

    assert got.code == 0
    assert "portico" in got.out
    assert "doctor" in got.out


def test_config_is_shown_checked_and_changed(cli: CommandLine) -> None:
    assert cli("config show").out == "server.port\t3100\ndatabase.dsn\t-\n"
    assert cli("config show --origin").lines[0] == "server.port\t3100\tdefault"
    port = {"setting": "server.port", "value": 3100, "origin": "default"}
    assert cli("config show --origin --json").json["settings"][0] == port
    assert cli("config validate --json").json == {"valid": True, "settings": 2}
    assert cli("config schema --json").json == {"title": "Settings"}
    assert cli("config set server.port 3200").code == 0
    assert cli.house.asked == [("server.port", "3200")]


SECRETS = "postgresql://app:hunter2@db password='hunter2 x' ptc_0123456789AB_hunter2hunter2"
FLAW = FieldError("server.prot", "there is no such setting (/x/portico.toml:2)")


@pytest.mark.parametrize(
    ("failure", "exit_code", "code", "told"),
    [
        (PermissionError(13, "Permission denied", "/x/portico.toml"), 1, "system_refused", "/x/p"),
        (OSError(f"no route to {SECRETS}"), 1, "system_refused", "no route to"),
        (ZeroDivisionError(SECRETS), 1, "internal_error", "ZeroDivisionError"),
        (ZeroDivisionError(), 1, "internal_error", "ZeroDivisionError"),
        (StoreUnavailable("gone"), 4, "store_unavailable", "gone"),
        (InvalidSettings([FLAW]), 3, "invalid_settings", f"{FLAW.field}: {FLAW.message}"),
    ],
    ids=["path", "no path", "unforeseen", "wordless", "no store", "settings"],
)
@pytest.mark.requirement("cli:errors:name-the-fix")
@pytest.mark.requirement("cli:exits:codes")
@pytest.mark.requirement("guard:keys:never-logged")
def test_whatever_breaks_is_told_in_words_without_secrets(
    cli: CommandLine, failure: Exception, exit_code: int, code: str, told: str
) -> None:
    cli.house.failure = failure

    plain, traced = cli("config show"), cli("config show --debug")
    program = cli("config show --json")

    assert {got.code for got in (plain, traced, program)} == {exit_code}
    assert f"({code})" in plain.err
    assert told in plain.err
    assert "  fix " in plain.err
    assert "Traceback" not in plain.err
    assert "Traceback" in traced.err
    assert program.error["code"] == code
    assert "hunter2" not in f"{plain.err}{traced.err}{program.err}"


def test_a_reader_who_has_gone_is_no_failure(cli: CommandLine) -> None:
    cli.house.failure = BrokenPipeError()

    got = cli("config show")

    assert (got.code, got.out, got.err) == (0, "", "")


def test_another_configuration_file_is_handed_to_the_house(cli: CommandLine) -> None:
    assert cli("version --config /x/portico.toml").code == 0
    assert cli.house.asked == [{"config": Path("/x/portico.toml"), "flags": {}}]


@pytest.mark.parametrize(
    ("key", "code", "told"),
    [(True, 4, ["http://127.0.0.1:9", "portico up"]), (False, 5, ["client.key", "portico init"])],
    ids=["no server", "no key"],
)
@pytest.mark.requirement("cli:exits:codes")
def test_without_a_server_or_a_key_status_says_how_to_have_one(
    cli: CommandLine, key: bool, code: int, told: list[str]
) -> None:
    if not key:
        cli.key_file.unlink()

    got = cli("status")

    assert got.code == code
    assert [word for word in told if word not in got.err] == []


def test_serving_says_where_and_ends_with_130_when_interrupted(cli: CommandLine) -> None:
    got = cli("serve --port 3200")

    assert got.code == Exit.INTERRUPTED
    assert "Portico 1.2.3 on http://127.0.0.1:9" in got.err
    assert got.err.endswith("Stopped.\n")
    flags = {"server.host": None, "server.port": 3200, "log.level": None}
    assert cli.house.asked == [{"config": None, "flags": flags}, "terminal"]

    cli.house.failure = StoreUnavailable("gone")
    never = cli("serve")
    assert (never.code, "Stopped." in never.err) == (Exit.NOT_RUNNING, False)


@pytest.mark.parametrize(
    ("options", "told"), [("", False), ("--port 3100", False), ("--port 3200", True)]
)
def test_a_port_that_is_not_the_set_one_has_to_be_told_to_other_commands(
    cli: CommandLine, options: str, told: bool
) -> None:
    said = cli(f"serve {options}").err

    assert ("PORTICO_SERVER__PORT=3200" in said) is told
    assert ("portico config set server.port 3200" in said) is told


def test_init_says_what_to_do_next_and_another_name_is_ignored(cli: CommandLine) -> None:
    assert "Next: portico up" in cli("init --name ana").err
    again = cli("init --name ana").err
    assert "was set up already" in again
    assert "is ignored" not in again
    assert "A new key is in place." in cli("init --name ana --recover").err
    assert cli("init --name ana --json").json["admin"] == "ana"

    other = cli("init --name bob")
    assert other.code == 0
    assert "--name bob is ignored" in other.err
    assert "you are    ana" in other.err


GOOD = CheckResult(check="platform", state=State.GOOD, detail="fine")
BROKEN = CheckResult(check="files", state=State.BROKEN, detail="open", fix="doctor --fix")
MENDED = CheckResult(check="files", state=State.MENDED, detail="closed")


def test_doctor_fails_when_something_is_broken_and_not_once_it_is_mended(cli: CommandLine) -> None:
    cli.house.checks = [ScriptedCheck(BROKEN, MENDED)]

    broken, mended = cli("doctor"), cli("doctor --fix --json")

    assert (broken.code, broken.out) == (1, "files\tbroken\topen\tdoctor --fix\n")
    assert (mended.code, mended.json["checks"][0]["state"]) == (0, "mended")


def test_doctor_shows_a_person_a_mark_and_the_mend_for_each_check(cli: CommandLine) -> None:
    cli.house.checks = [ScriptedCheck(GOOD), ScriptedCheck(BROKEN)]

    words = [line.split() for line in cli("doctor", screen=80).lines]

    assert ["✓", "platform", "fine"] in words
    assert ["✗", "files", "open"] in words
    assert ["fix:", "doctor", "--fix"] in words


def test_the_database_is_started_stopped_and_looked_at(cli: CommandLine) -> None:
    idle = cli("db status --json")
    assert (idle.code, idle.json["running"]) == (4, False)
    assert cli("db start --json").json["running"] is True
    assert cli("db status").code == 0
    assert cli("db info --json").json["tables"] == []
    assert cli("db stop --json").json == {"stopped": True}
    assert cli("db stop").out == "It was not running.\n"


def test_a_database_that_others_use_is_stopped_only_by_force(cli: CommandLine) -> None:
    cli.house.memory_store.others = 1

    refused = cli("db stop")

    assert refused.code == Exit.FAILED
    assert "--force" in refused.err
    assert cli("db stop --force").code == 0


def test_migrating_names_what_was_applied(cli: CommandLine) -> None:
    assert cli("db migrate").out == "Applied: 0001 ground_floor\n"
    assert cli("db migrate --json").json == {"applied": []}


def test_a_backup_says_where_it_is_and_replaces_a_file_only_when_told_to(cli: CommandLine) -> None:
    file = cli.root / "b.dump"
    backup = f"db backup {file}"

    assert cli(f"{backup} --json").json == {"file": str(file), "bytes": 10}
    file.write_text("precious")
    refused = cli(backup)

    assert (refused.code, file.read_text()) == (Exit.FAILED, "precious")
    assert "--replace" in refused.err
    assert cli(f"{backup} --replace").code == 0
    assert file.read_text() == "everything"


def test_a_person_is_told_sizes_and_a_program_bytes(cli: CommandLine) -> None:
    assert "bytes\t" in cli("db info").out

    shown = cli("db info", screen=80).out

    assert re.search(r"^size +\S+ (bytes|kB|MB)$", shown, re.MULTILINE)


@pytest.mark.requirement("cli:exits:codes")
def test_nothing_is_restored_without_a_yes(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    file = cli.file("b.dump", "")

    refused = cli(f"--no-input db restore {file}")
    program = cli(f"--no-input db restore {file} --json")

    assert (refused.code, program.code) == (Exit.APPROVAL, Exit.APPROVAL)
    assert "--yes" in refused.err
    assert program.error["code"] == "needs_yes"
    assert cli.house.scripted_archive.restored == []
    assert cli(f"db restore {file} --yes").code == 0
    assert cli.house.scripted_archive.restored == [file]


def test_nobody_is_asked_about_a_backup_that_is_not_there(cli: CommandLine) -> None:
    got = cli(f"db restore {cli.root / 'gone.dump'}", typed="y\n", screen=80)

    assert got.code == Exit.FAILED
    assert "gone.dump: No such file" in got.out.replace("\n", "")
    assert "[y/N]" not in got.out
    assert cli.house.scripted_archive.restored == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "The database is of PostgreSQL 18 now; it was of 16.\nWhat was before stays in"),
        ("--back --yes", "portico config set database.version 16"),
        ("--forget-old --yes", "Removed postgres/16 (40.0 MB)."),
    ],
)
def test_the_database_is_upgraded_and_told_how_to_go_back(
    cli: CommandLine, options: str, said: str
) -> None:
    got = cli(f"db upgrade {options}")

    assert got.code == 0
    assert said in got.out


def test_an_upgrade_answers_a_program(cli: CommandLine) -> None:
    cli.house.scripted_upgrade.major = 18

    told: dict[str, Any] = {"before": 18, "after": 18, "kept": ["postgres/16"]}
    assert cli("db upgrade --json").json == told
    assert cli("db upgrade --back --forget-old --yes").code == Exit.USAGE


def test_provisioning_prints_addresses_only_when_told_to(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The administrator's address may come from the environment."""
    monkeypatch.delenv("PORTICO_ADMIN_DSN", raising=False)
    missing = cli("db provision")
    monkeypatch.setenv("PORTICO_ADMIN_DSN", "postgresql://postgres@env")

    quiet = cli("db provision")
    line = cli("db provision --admin-dsn postgresql://postgres@db --print-only").out.rstrip("\n")

    assert missing.code == Exit.USAGE
    assert "--admin-dsn is missing" in missing.err
    assert quiet.code == 0
    assert "postgresql://app@db" not in quiet.out
    assert cli.house.asked == ["postgresql://postgres@env", "postgresql://postgres@db"]
    dsn = "PORTICO_DATABASE__DSN=postgresql://app@db/portico?sslmode=require&x=it's"
    assert shlex.split(line) == [dsn]
    assert line.startswith("PORTICO_DATABASE__DSN='postgresql://app@db/portico?")


def test_whoever_breaks_it_off_while_it_is_still_loading_is_told_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken_off(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("portico.interfaces.cli.app.run", broken_off)
    monkeypatch.setattr("sys.argv", ["portico", "version"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "")
