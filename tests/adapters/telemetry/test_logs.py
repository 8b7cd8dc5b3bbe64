"""One chain for whatever anybody logs, with the redaction at its end, and a file for each day."""

import io
import json
import logging
import stat
import sys
import threading
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog

from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.adapters.telemetry.logs import DailyFile, LogOptions, write_logs
from portico.adapters.telemetry.spans import continuing

CANARY = "c4nary-0123456789-abcdef"
KEY = "ptc_0123456789ab_" + "x" * 49

pytestmark = pytest.mark.usefixtures("own_logging")


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def start(*, level: str = "info", **wishes: Any) -> None:
    write_logs(LogOptions(level=level, **wishes), KnownSecrets([CANARY]))


def test_a_line_is_json_with_its_time_level_room_and_facts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    start()

    logging.getLogger("portico.http").warning("%s of %d", "one", 2, extra={"seconds": 0.25})

    [line] = lines(capsys)
    assert list(line) == ["timestamp", "level", "logger", "event", "seconds"]
    assert line["timestamp"].endswith("+00:00")
    assert (line["level"], line["logger"]) == ("warning", "portico.http")
    assert (line["event"], line["seconds"]) == ("one of 2", 0.25)


def test_a_line_inside_a_trace_says_which(capsys: pytest.CaptureFixture[str]) -> None:
    start()

    with continuing("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"):
        logging.getLogger("portico").info("inside")

    assert lines(capsys)[0]["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"


def test_a_library_with_a_handler_of_its_own_goes_through_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    library, own = logging.getLogger("some.library"), io.StringIO()
    library.addHandler(logging.StreamHandler(own))
    library.propagate = False
    start()

    library.warning("with %s", CANARY)

    assert own.getvalue() == ""
    assert [line["event"] for line in lines(capsys)] == ["with ********"]


def test_the_durable_engine_finds_a_handler_and_adds_none() -> None:
    start()

    assert logging.getLogger("dbos").hasHandlers()
    assert logging.getLogger("dbos").handlers
    assert logging.getLogger("dbos").propagate


@pytest.mark.requirement("telemetry:redaction:everything")
def test_a_secret_is_black_wherever_it_hides_in_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    start()
    log = logging.getLogger("portico.x")

    log.info("an argument %s %r", CANARY, {"a": [CANARY]})
    log.info("an extra", extra={"deep": {"a": [CANARY, {CANARY: 1}]}, "password": "short"})
    log.info("an object", extra={"thing": _Told()})
    log.info("a key %s", KEY)
    _fail_in_a_chain(log)
    structlog.get_logger("portico.y").warning("bound", value=CANARY)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(CANARY, stacklevel=1)

    written = lines(capsys)
    text = json.dumps(written)
    assert CANARY not in text
    assert "xxxxxxxxxx" not in text
    assert "short" not in text
    assert len(written) == 7
    assert all("********" in json.dumps(line) for line in written)


class _Told:
    def __repr__(self) -> str:
        return f"Told({CANARY})"


def _fail_in_a_chain(log: logging.Logger) -> None:
    try:
        _raise_from(KeyError(CANARY))
    except ValueError:
        log.exception("it failed")


def _raise_from(inner: Exception) -> None:
    outer = ValueError(f"password={KEY}")
    outer.add_note(f"a note about {CANARY}")
    raise outer from inner


@pytest.mark.requirement("telemetry:redaction:everything")
def test_a_line_that_cannot_be_formatted_does_not_show_its_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    start()

    logging.getLogger("portico.x").info("%d", CANARY)

    [line] = lines(capsys)
    assert "could not be written (TypeError)" in line["event"]
    assert "portico.x" in line["event"]


@pytest.mark.requirement("telemetry:redaction:everything")
def test_what_breaks_where_nobody_catches_it_is_logged_and_clean(
    capsys: pytest.CaptureFixture[str],
) -> None:
    start()

    def breaks() -> None:
        raise RuntimeError(CANARY)

    thread = threading.Thread(target=breaks, name="worker")
    thread.start()
    thread.join()
    sys.unraisablehook(_unraisable(ValueError(CANARY)))

    written = lines(capsys)
    assert [line["event"] for line in written] == [
        "the thread worker broke",
        "broke where nobody could be told",
    ]
    assert all("********" in line["exception"] for line in written)


def _unraisable(error: Exception) -> Any:
    class Broken:
        exc_type, exc_value, exc_traceback = type(error), error, None
        err_msg, object = None, None

    return Broken()


def test_a_secret_that_is_learnt_late_is_black_from_then_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    secrets = KnownSecrets()
    write_logs(LogOptions(), secrets)
    log = logging.getLogger("portico")

    log.info("a %s", CANARY)
    secrets.learn(CANARY)
    log.info("a %s", CANARY)

    assert [line["event"] for line in lines(capsys)] == [f"a {CANARY}", "a ********"]


@pytest.mark.parametrize(
    ("level", "rooms", "heard"),
    [
        ("info", {}, "http info, library warning"),
        ("error", {}, ""),
        ("debug", {}, "http debug, http info, library warning, error info"),
        (
            "error",
            {"portico.http": "debug", "some": "info"},
            "http debug, http info, library info, library warning",
        ),
    ],
)
def test_each_room_has_its_level_and_libraries_are_heard_from_warnings_on(
    level: str, rooms: dict[str, str], heard: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start(level=level, rooms=rooms)

    for name, levels in {
        "portico.http": ["debug", "info"],
        "some.library": ["debug", "info", "warning"],
        "uvicorn.error": ["debug", "info"],
    }.items():
        for said in levels:
            getattr(logging.getLogger(name), said)("x")

    found = (f"{line['logger'].rpartition('.')[2]} {line['level']}" for line in lines(capsys))
    assert sorted(found) == sorted(filter(None, heard.split(", ")))


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_people_get_lines_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    start()

    _fail_in_a_chain(logging.getLogger("portico.x"))

    shown = terminal.getvalue()
    first = shown.splitlines()[0]
    assert "it failed" in first
    assert "[portico.x]" in first
    assert not first.startswith("{")
    assert "Traceback (most recent call last):" in shown
    assert CANARY not in shown


def test_no_text_steers_the_terminal_or_forges_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    start(form="human")

    logging.getLogger("portico.x").info("a\x1b[2Jb\n2030-01-01 forged", extra={"who": "x\x07\ny"})

    assert len(terminal.getvalue().splitlines()) == 1
    assert "\x1b" not in terminal.getvalue()
    assert "\x07" not in terminal.getvalue()


def test_the_file_has_the_same_lines_and_is_private(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "state" / "logs" / "portico.log"
    start(file=file, form="human")

    logging.getLogger("portico").info("kept %s", CANARY)

    assert json.loads(file.read_text())["event"] == "kept ********"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "kept" in capsys.readouterr().err


def test_a_folder_that_others_can_read_gets_no_file_nor_one_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And neither stops the house."""
    folder = tmp_path / "logs"
    folder.mkdir()
    folder.chmod(0o755)
    (tmp_path / "portico.log").mkdir()
    tmp_path.chmod(0o700)

    start(file=folder / "portico.log")
    open_to_others = lines(capsys)
    start(file=tmp_path / "portico.log")

    assert not (folder / "portico.log").exists()
    assert "no log file: others can come to" in open_to_others[0]["event"]
    assert "no log file" in lines(capsys)[0]["event"]


KNOWN = "k9-canary-0001"


def test_hiding_takes_away_what_is_known_and_cleaning_what_looks_like_it_too() -> None:
    secrets = KnownSecrets()
    secrets.learn(KNOWN)
    given = {"command": f"use {KNOWN} --password=x; rm -rf /"}

    assert secrets.hide_json(given) == {"command": "use ******** --password=x; rm -rf /"}
    assert secrets.clean_json(given) == {"command": "use ******** --password=******** rm -rf /"}


def test_what_passes_is_known_as_a_secret_for_a_while_and_what_lasts_for_ever() -> None:
    secrets = KnownSecrets(["lasting-secret"])

    secrets._passing.extend(f"token-number-{number:04}" for number in range(599))
    secrets.learn_passing("token-number-0599")
    secrets.learn("another-lasting")

    assert "token-number-0599" not in secrets.clean("x token-number-0599")
    assert "token-number-0000" in secrets.clean("x token-number-0000")
    assert "lasting" not in secrets.clean("lasting-secret another-lasting")


DAY = timedelta(days=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


def write(handler: DailyFile, text: str, at: datetime) -> None:
    record = logging.makeLogRecord({"msg": text, "created": at.timestamp()})
    handler.handle(record)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def yesterday_was_written(file: Path, at: datetime) -> None:
    """As a process leaves it that ended before midnight."""
    import os

    os.utime(file, (at.timestamp(), at.timestamp()))


def test_lines_of_a_day_are_in_one_file_with_half_of_a_surrogate_pair(folder: Path) -> None:
    now = datetime.now(UTC)  # noqa: TID251 # a file's own times are real ones
    handler = DailyFile(folder / "portico.log", keep_days=2)

    for text in ("one", "two", "a \ud800 b"):
        write(handler, text, now)
    handler.close()

    assert (folder / "portico.log").read_text() == "one\ntwo\na \\ud800 b\n"


def test_a_new_day_begins_a_new_file_and_the_oldest_goes(folder: Path) -> None:
    now = datetime.now(UTC)  # noqa: TID251 # a file's own times are real ones
    old = [f"portico.log.{(now - days * DAY).date()}" for days in (2, 3, 30)]
    for name in [*old, "portico.log.notes", "other.log"]:
        (folder / name).write_text("x")
    handler = DailyFile(folder / "portico.log", keep_days=2)
    write(handler, "before", now - DAY)
    yesterday_was_written(folder / "portico.log", now - DAY)

    write(handler, "after", now)
    handler.close()

    aside = f"portico.log.{(now - DAY).date()}"
    assert (folder / "portico.log").read_text() == "after\n"
    assert (folder / aside).read_text() == "before\n"
    assert names(folder) == sorted([old[0], aside, "portico.log", "portico.log.notes", "other.log"])


def test_of_two_writers_the_second_finds_the_new_file_and_loses_nothing(folder: Path) -> None:
    now = datetime.now(UTC)  # noqa: TID251 # a file's own times are real ones
    one, two = (DailyFile(folder / "portico.log", keep_days=2) for _ in range(2))
    write(one, "one before", now - DAY)
    write(two, "two before", now - DAY)
    yesterday_was_written(folder / "portico.log", now - DAY)

    write(one, "one after", now)
    write(two, "two after", now)
    one.close()
    two.close()

    aside = folder / f"portico.log.{(now - DAY).date()}"
    assert (folder / "portico.log").read_text() == "one after\ntwo after\n"
    assert aside.read_text() == "one before\ntwo before\n"


def test_a_link_is_not_followed(folder: Path) -> None:
    (folder / "portico.log").symlink_to(folder / "elsewhere")

    with pytest.raises(OSError, match="symbolic"):
        DailyFile(folder / "portico.log", keep_days=2)

    assert not (folder / "elsewhere").exists()
