"""Keeping the server up, as it is asked for and told; the processes are scripted."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.keeping import Keeper, Running
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.keeping import (
    SINCE,
    URL,
    WORDS,
    ScriptedKeeping,
    ScriptedLaunch,
    died,
    keeper,
    running,
)
from tests.faces.cli.scripted_server import answering

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedHouse:
    """Whose server is ready when one runs at its address."""
    made = ScriptedHouse(tmp_path)

    def ready(_where: object) -> bool:
        kept = made.scripted_keeping
        return any(each.url == URL for each in kept.running)

    monkeypatch.setattr("portico.faces.cli.starting.ready", ready)
    return made


def answer(house: ScriptedHouse, capsys: Captured, *words: str) -> Any:
    assert run(house, ["--json", *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_up_starts_it_and_says_where_it_is(house: ScriptedHouse, capsys: Captured) -> None:
    told = answer(house, capsys, "up")

    assert house.scripted_keeping.starts == 1
    assert (told["server"], told["already"], told["kept_up"]) == (URL, False, True)
    assert told["processes"] == [71]
    assert told["log_file"].endswith("portico.log")


def test_up_again_says_that_it_runs(house: ScriptedHouse, capsys: Captured) -> None:
    run(house, ["up"])
    first = capsys.readouterr().out
    run(house, ["up"])

    assert house.scripted_keeping.starts == 1
    assert f"Portico runs at {URL}\n" in first
    assert f"Portico runs already at {URL}\n" in capsys.readouterr().out


@pytest.mark.parametrize("when", ["before", "since"])
def test_up_again_says_that_the_settings_were_written_since(
    house: ScriptedHouse, capsys: Captured, when: str
) -> None:
    file = house.whereabouts().config_file
    file.write_text("")
    began = datetime.fromisoformat(SINCE).timestamp()
    at = began + (60 if when == "since" else -60)
    os.utime(file, (at, at))
    house.scripted_keeping.running = [running()]

    assert run(house, ["up"]) == 0

    assert ("has been written since it was started" in capsys.readouterr().err) is (when == "since")


def test_up_leaves_one_in_a_terminal_alone_and_says_what_that_means(
    house: ScriptedHouse, capsys: Captured
) -> None:
    house.scripted_keeping.running = [running(started_by="terminal")]

    assert run(house, ["up"]) == 0

    assert house.scripted_keeping.starts == 0
    assert "portico restart" in capsys.readouterr().err


def test_up_does_not_start_a_second_one_because_the_settings_say_another_address(
    house: ScriptedHouse, capsys: Captured
) -> None:
    house.scripted_keeping.kept = keeper(url="http://127.0.0.1:8")

    assert run(house, ["up"]) == 0

    told = capsys.readouterr()
    assert house.scripted_keeping.starts == 0
    assert "http://127.0.0.1:8" in told.out
    assert "portico restart" in told.err


def test_what_dies_at_its_first_start_is_told_in_its_own_words_and_not_tried_on(
    house: ScriptedHouse, capsys: Captured
) -> None:
    house.scripted_keeping.after_start = died(WORDS)

    assert run(house, ["up"]) == 4

    told = capsys.readouterr().err
    assert "not_provisioned" in told
    assert "fix Set it up: portico init" in told
    assert house.scripted_keeping.kept is not None
    assert not house.scripted_keeping.kept.alive


@pytest.mark.parametrize(
    ("after", "words"), [(died(), "ended by SIGKILL"), (None, "did not say why")]
)
def test_what_dies_without_a_word_is_told_too(
    house: ScriptedHouse, capsys: Captured, after: Any, words: str
) -> None:
    house.scripted_keeping.after_start = after

    assert run(house, ["up"]) == 4

    told = capsys.readouterr().err
    assert "did_not_start" in told
    assert words in told
    assert "portico.log" in told


def test_one_that_others_started_and_that_dies_is_told(
    house: ScriptedHouse, capsys: Captured
) -> None:
    kept = house.scripted_keeping
    kept.kept = keeper()
    once, dead = iter([keeper()] * 3), keeper(alive=False, why="Taken.", gave_up=True)
    kept.keeper = lambda: next(once, dead)  # type: ignore[method-assign] # it dies meanwhile

    assert run(house, ["up"]) == 4

    assert kept.starts == 0
    assert "did_not_start" in capsys.readouterr().err


GIVEN_UP_LONG_AGO = keeper(alive=False, died_at=SINCE, why="Taken last week.", gave_up=True)


@pytest.mark.parametrize("before", [None, GIVEN_UP_LONG_AGO])
@pytest.mark.parametrize("others", [[], [running(80, "http://127.0.0.1:10")]])
def test_one_that_was_about_to_end_is_followed_by_another(
    house: ScriptedHouse,
    monkeypatch: pytest.MonkeyPatch,
    before: Keeper | None,
    others: list[Running],
) -> None:
    kept = house.scripted_keeping
    kept.kept, kept.running = before, [running(70), *others]

    def ready(_where: object) -> bool:
        """The one that was there ends while it is asked."""
        kept.running = [each for each in kept.running if each.pid != 70]
        return any(each.url == URL for each in kept.running)

    monkeypatch.setattr("portico.faces.cli.starting.ready", ready)

    assert run(house, ["up"]) == 0
    assert kept.starts == 1


def test_why_one_was_given_up_long_ago_is_not_told_of_another(
    house: ScriptedHouse, capsys: Captured
) -> None:
    kept = house.scripted_keeping
    kept.kept = kept.after_start = GIVEN_UP_LONG_AGO

    assert run(house, ["up"]) == 4

    told = capsys.readouterr().err
    assert "did_not_start" in told
    assert "last week" not in told


def test_what_dies_after_a_long_start_is_told_too(house: ScriptedHouse, capsys: Captured) -> None:
    slowly = replace(died(), deaths=0, why="The embedded database does not start.")
    kept = house.scripted_keeping
    kept.start = lambda: _left(kept, slowly)  # type: ignore[method-assign] # it dies at once here

    assert run(house, ["up"]) == 4
    assert "The embedded database does not start." in capsys.readouterr().err


def _left(kept: ScriptedKeeping, keeper: Keeper) -> ScriptedLaunch:
    kept.kept = keeper
    return ScriptedLaunch(gone=False)


def test_down_ends_all_of_them_and_says_what_each_was(
    house: ScriptedHouse, capsys: Captured
) -> None:
    kept = house.scripted_keeping
    kept.running = [running(70), running(80, "http://127.0.0.1:8", started_by="terminal")]
    kept.killed, kept.orphaned = {80}, True

    assert run(house, ["down"]) == 0

    told = capsys.readouterr().err
    assert f"Stopped: process 70, started by portico up, at {URL}" in told
    assert "did not end when asked, and was killed: process 80, started in a terminal" in told
    assert "a database that nobody used" in told


def test_down_when_nothing_runs_is_well(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["down"]) == 0
    assert "was not running" in capsys.readouterr().err
    assert answer(house, capsys, "down") == {"ended": []}


@pytest.mark.parametrize("make", [running, keeper])
def test_restart_keeps_the_address_that_is_in_no_file(
    house: ScriptedHouse, make: Callable[..., Any]
) -> None:
    one = make(kept={"server.port": 3999})
    kept = house.scripted_keeping
    kept.running, kept.kept = ([one], None) if make is running else ([], one)

    assert run(house, ["restart"]) == 0

    assert {"config": None, "flags": {"server.port": 3999}} in house.asked
    assert kept.starts == 1


def test_restart_leaves_other_workers_alone(house: ScriptedHouse, capsys: Captured) -> None:
    other = running(80, "http://127.0.0.1:8", started_by="terminal")
    house.scripted_keeping.running = [running(70), other]

    told = answer(house, capsys, "restart")

    assert [each["process"] for each in told["ended"]] == [70]
    assert other in house.scripted_keeping.running


def test_restart_starts_what_did_not_run(house: ScriptedHouse) -> None:
    assert run(house, ["restart"]) == 0
    assert house.scripted_keeping.starts == 1


def test_in_the_foreground_it_becomes_the_keeper_unless_there_is_one(
    house: ScriptedHouse, capsys: Captured
) -> None:
    with pytest.raises(SystemExit):
        run(house, ["up", "--foreground"])
    house.scripted_keeping.kept = keeper()
    assert run(house, ["up", "--foreground"]) == 0

    assert house.scripted_keeping.stays == 1
    assert "runs already" in capsys.readouterr().err


def test_at_login_is_written_printed_and_removed(house: ScriptedHouse, capsys: Captured) -> None:
    unit = house.scripted_keeping.unit

    assert run(house, ["up", "--print"]) == 0
    printed, there = capsys.readouterr().out, unit.exists()
    told = answer(house, capsys, "up", "--at-login")
    written = unit.exists()
    gone = answer(house, capsys, "down", "--at-login")
    again = answer(house, capsys, "down", "--at-login")

    assert (printed, there, written, unit.exists()) == ("[Unit]\n", False, True, False)
    assert (told["at_login"], told["switched_on"]) == (str(unit), False)
    assert (gone["at_login_removed"], again["at_login_removed"]) == (True, False)


@pytest.mark.parametrize("heeded", [True, False])
def test_the_command_is_shown_where_the_system_could_not_be_told(
    house: ScriptedHouse, capsys: Captured, heeded: bool
) -> None:
    house.scripted_keeping.heeded = heeded
    house.scripted_keeping.left_out = ["PORTICO_SERVER__PORT"]

    assert run(house, ["up", "--at-login"]) == 0

    told = capsys.readouterr().err
    assert ("systemctl --user enable" in told) is not heeded
    assert "Not there at login: PORTICO_SERVER__PORT" in told
    assert "uv tool install portico" in told


STATUS = {
    "version": "1",
    "ready": True,
    "boxes": [],
    "secrets": "age",
    "store": {},
}


@pytest.mark.parametrize(
    ("kept", "server", "words"),
    [
        (keeper(), running(), "since 2026-05-04 …, process 60, no restarts"),
        (
            keeper(restarts=1, died_at="2026-05-05T10:00:00+00:00", why="SIGKILL"),
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
    house: ScriptedHouse, capsys: Captured, kept: Any, server: Any, words: str
) -> None:
    with answering({"GET /status": STATUS}) as there:
        house.server_url = there.url
        house.save_key("k")
        (house.whereabouts().key_file).write_text("ptc_x")
        moved = {"url": there.url}
        from dataclasses import replace

        house.scripted_keeping.kept = kept and replace(kept, **moved)
        house.scripted_keeping.running = [replace(server, **moved)] if server else []

        assert run(house, ["status"]) == 0
        line = capsys.readouterr().out.splitlines()[-1]
        as_json = answer(house, capsys, "status")["kept_up"]

    before, _, after = words.partition("…")
    assert before in line
    assert after in line
    assert (as_json is None) is (server is None)


def test_status_says_that_it_was_given_up_and_why(house: ScriptedHouse, capsys: Captured) -> None:
    house.whereabouts().key_file.write_text("ptc_x")
    gone = {"alive": False, "gave_up": True, "deaths": 8, "why": "Taken.", "died_at": "now"}
    house.scripted_keeping.kept = keeper(**gone)
    plain = run(house, ["status"]), capsys.readouterr().err
    house.scripted_keeping.kept = keeper(**gone, words={"fix": "Free it."})
    with_fix = run(house, ["status"]), capsys.readouterr().err
    house.scripted_keeping.kept = keeper(died_at="now", why="SIGKILL")
    resting = run(house, ["status"]), capsys.readouterr().err

    assert plain[0] == with_fix[0] == resting[0] == 4
    assert "given_up" in plain[1]
    assert "died 8 times in a row and was given up, now: Taken." in plain[1]
    assert "portico.log. When it is mended: portico up" in plain[1]
    assert "fix Free it. Then: portico up" in with_fix[1]
    assert "It is being started again." in resting[1]
    assert "not_running" in resting[1]
