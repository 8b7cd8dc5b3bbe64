"""Keeping the server up, as it is asked for and told; the processes are scripted."""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.services import Running, SupervisorStatus
from tests.interfaces.cli.command_line import CommandLine
from tests.interfaces.cli.keeping import (
    SINCE,
    URL,
    WORDS,
    ScriptedKeeping,
    ScriptedLaunch,
    died,
    keeper,
    running,
)
from tests.interfaces.cli.scripted_server import answering


@pytest.fixture
def kept(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> ScriptedKeeping:
    """A server is ready when one runs at its address."""
    made = cli.house.scripted_keeping

    def ready(_where: object) -> bool:
        return any(each.url == URL for each in made.running)

    monkeypatch.setattr("portico.interfaces.cli.up.ready", ready)
    return made


def test_up_starts_it_and_says_where_it_is(cli: CommandLine, kept: ScriptedKeeping) -> None:
    told = cli("up --json").json

    assert kept.starts == 1
    assert (told["server"], told["already"], told["kept_up"]) == (URL, False, True)
    assert told["processes"] == [71]
    assert told["log_file"].endswith("portico.log")


def test_up_again_says_that_it_runs(cli: CommandLine, kept: ScriptedKeeping) -> None:
    assert f"Portico runs at {URL}\n" in cli("up").out
    assert f"Portico runs already at {URL}\n" in cli("up").out
    assert kept.starts == 1


@pytest.mark.parametrize("when", ["before", "since"])
def test_up_again_says_that_the_settings_were_written_since(
    cli: CommandLine, kept: ScriptedKeeping, when: str
) -> None:
    file = cli.file("portico.toml", "")
    at = datetime.fromisoformat(SINCE).timestamp() + (60 if when == "since" else -60)
    os.utime(file, (at, at))
    kept.running = [running()]

    err = cli("up").err

    assert ("has been written since it was started" in err) is (when == "since")


@pytest.mark.parametrize(
    ("there", "where"),
    [(running(started_by="terminal"), URL), (keeper(url="http://127.0.0.1:8"), "127.0.0.1:8")],
    ids=["in a terminal", "at another address"],
)
def test_up_leaves_one_that_runs_alone_and_says_what_that_means(
    cli: CommandLine, kept: ScriptedKeeping, there: Running | SupervisorStatus, where: str
) -> None:
    if isinstance(there, SupervisorStatus):
        kept.kept = there
    else:
        kept.running = [there]

    got = cli("up")

    assert (got.code, kept.starts) == (0, 0)
    assert where in got.out
    assert "portico restart" in got.err


GIVEN_UP_LONG_AGO = keeper(alive=False, died_at=SINCE, why="Taken last week.", gave_up=True)


@pytest.mark.parametrize(
    ("after", "said", "unsaid"),
    [
        (died(WORDS), ["not_provisioned", "fix Set it up: portico init"], "did_not_start"),
        (died(), ["did_not_start", "ended by SIGKILL", "portico.log"], "last week"),
        (None, ["did_not_start", "did not say why", "portico.log"], "last week"),
        (GIVEN_UP_LONG_AGO, ["did_not_start"], "last week"),
    ],
    ids=["its own words", "killed", "without a word", "given up long ago"],
)
def test_what_dies_at_its_first_start_is_told_and_not_tried_on(
    cli: CommandLine, kept: ScriptedKeeping, after: Any, said: list[str], unsaid: str
) -> None:
    kept.after_start = after
    kept.kept = after if after is GIVEN_UP_LONG_AGO else None

    got = cli("up")

    assert got.code == Exit.NOT_RUNNING
    assert [words for words in said if words not in got.err] == []
    assert unsaid not in got.err
    assert kept.kept is None or not kept.kept.alive


def test_one_that_others_started_and_that_dies_is_told(
    cli: CommandLine, kept: ScriptedKeeping
) -> None:
    kept.kept = keeper()
    once, dead = iter([keeper()] * 3), keeper(alive=False, why="Taken.", gave_up=True)
    kept.keeper = lambda: next(once, dead)  # type: ignore[method-assign] # it dies meanwhile

    got = cli("up")

    assert (got.code, kept.starts) == (Exit.NOT_RUNNING, 0)
    assert "did_not_start" in got.err


def test_what_dies_after_a_long_start_is_told_too(cli: CommandLine, kept: ScriptedKeeping) -> None:
    slowly = replace(died(), deaths=0, why="The embedded database does not start.")

    def dies() -> ScriptedLaunch:
        kept.kept = slowly
        return ScriptedLaunch(gone=False)

    kept.start = dies  # type: ignore[method-assign] # it dies at once here

    got = cli("up")

    assert got.code == Exit.NOT_RUNNING
    assert "The embedded database does not start." in got.err


@pytest.mark.parametrize("before", [None, GIVEN_UP_LONG_AGO])
@pytest.mark.parametrize("others", [[], [running(80, "http://127.0.0.1:10")]])
def test_one_that_was_about_to_end_is_followed_by_another(
    cli: CommandLine,
    kept: ScriptedKeeping,
    monkeypatch: pytest.MonkeyPatch,
    before: SupervisorStatus | None,
    others: list[Running],
) -> None:
    kept.kept, kept.running = before, [running(70), *others]

    def ready(_where: object) -> bool:
        """The one that was there ends while it is asked."""
        kept.running = [each for each in kept.running if each.pid != 70]
        return any(each.url == URL for each in kept.running)

    monkeypatch.setattr("portico.interfaces.cli.up.ready", ready)

    assert cli("up").code == 0
    assert kept.starts == 1


def test_down_ends_all_of_them_and_says_what_each_was(
    cli: CommandLine, kept: ScriptedKeeping
) -> None:
    kept.running = [running(70), running(80, "http://127.0.0.1:8", started_by="terminal")]
    kept.killed, kept.orphaned = {80}, True

    told = cli("down").err

    assert f"Stopped: process 70, started by portico up, at {URL}" in told
    assert "did not end when asked, and was killed: process 80, started in a terminal" in told
    assert "a database that nobody used" in told


def test_down_when_nothing_runs_is_well(cli: CommandLine) -> None:
    got = cli("down")

    assert got.code == 0
    assert "was not running" in got.err
    assert cli("down --json").json == {"ended": []}


@pytest.mark.parametrize("make", [running, keeper])
def test_restart_keeps_the_address_that_is_in_no_file(
    cli: CommandLine, kept: ScriptedKeeping, make: Callable[..., Any]
) -> None:
    one = make(unsaved_settings={"server.port": 3999})
    kept.running, kept.kept = ([one], None) if make is running else ([], one)

    assert cli("restart").code == 0

    assert {"config": None, "flags": {"server.port": 3999}} in cli.house.asked
    assert kept.starts == 1


def test_restart_leaves_other_workers_alone(cli: CommandLine, kept: ScriptedKeeping) -> None:
    other = running(80, "http://127.0.0.1:8", started_by="terminal")
    kept.running = [running(70), other]

    told = cli("restart --json").json

    assert [each["process"] for each in told["ended"]] == [70]
    assert other in kept.running


def test_restart_starts_what_did_not_run(cli: CommandLine, kept: ScriptedKeeping) -> None:
    assert cli("restart").code == 0
    assert kept.starts == 1


def test_in_the_foreground_it_becomes_the_keeper_unless_there_is_one(
    cli: CommandLine, kept: ScriptedKeeping
) -> None:
    with pytest.raises(SystemExit):
        cli("up --foreground")
    kept.kept = keeper()

    got = cli("up --foreground")

    assert (got.code, kept.stays) == (0, 1)
    assert "runs already" in got.err


def test_at_login_is_written_printed_and_removed(cli: CommandLine, kept: ScriptedKeeping) -> None:
    printed, there = cli("up --print").out, kept.unit.exists()
    told = cli("up --at-login --json").json
    written = kept.unit.exists()
    removed = [cli("down --at-login --json").json["at_login_removed"] for _ in range(2)]

    assert (printed, there, written, kept.unit.exists()) == ("[Unit]\n", False, True, False)
    assert (told["at_login"], told["switched_on"]) == (str(kept.unit), False)
    assert removed == [True, False]


@pytest.mark.parametrize("heeded", [True, False])
def test_the_command_is_shown_where_the_system_could_not_be_told(
    cli: CommandLine, kept: ScriptedKeeping, heeded: bool
) -> None:
    kept.heeded = heeded
    kept.left_out = ["PORTICO_SERVER__PORT"]

    told = cli("up --at-login").err

    assert ("systemctl --user enable" in told) is not heeded
    assert "Not there at login: PORTICO_SERVER__PORT" in told
    assert "uv tool install portico" in told


STATUS = {"version": "1", "ready": True, "boxes": [], "secrets": "age", "store": {}}
DIED_SINCE = "2026-05-05T10:00:00+00:00"


@pytest.mark.parametrize(
    ("its_keeper", "server", "words"),
    [
        (keeper(), running(), "since 2026-05-04 …, process 60, no restarts"),
        (
            keeper(restarts=1, died_at=DIED_SINCE, why="SIGKILL"),
            running(),
            "process 60, 1 restart; the last, 2026-05-05 …: SIGKILL",
        ),
        (keeper(restarts=3, died_at=None, why="x"), running(), "3 restarts"),
        (None, running(started_by="terminal"), "no: process 70 runs since 2026-05-04 …, in a term"),
        (keeper(alive=False), running(), "what kept it up has gone: portico restart"),
        (None, None, "-"),
    ],
)
def test_status_says_who_looks_after_it(
    cli: CommandLine, kept: ScriptedKeeping, its_keeper: Any, server: Any, words: str
) -> None:
    with answering({"GET /status": STATUS}) as there:
        cli.house.server_url = there.url
        kept.kept = its_keeper and replace(its_keeper, url=there.url)
        kept.running = [replace(server, url=there.url)] if server else []

        line = cli("status").lines[-1]
        told = cli("status --json").json["kept_up"]

    before, _, after = words.partition("…")
    assert before in line
    assert after in line
    assert (told is None) is (server is None)


GONE = {"alive": False, "gave_up": True, "deaths": 8, "why": "Taken.", "died_at": "now"}


@pytest.mark.parametrize(
    ("its_keeper", "said"),
    [
        (keeper(**GONE), ["given_up", "died 8 times in a row and was given up, now: Taken.",
                          "portico.log. When it is mended: portico up"]),
        (keeper(**GONE, words={"fix": "Free it."}), ["fix Free it. Then: portico up"]),
        (keeper(died_at="now", why="SIGKILL"), ["It is being started again.", "not_running"]),
    ],
    ids=["given up", "with a fix", "resting"],
)  # fmt: skip
def test_status_says_that_it_was_given_up_and_why(
    cli: CommandLine, its_keeper: SupervisorStatus, said: list[str]
) -> None:
    cli.house.scripted_keeping.kept = its_keeper

    got = cli("status")

    assert got.code == Exit.NOT_RUNNING
    assert [words for words in said if words not in got.err] == []
