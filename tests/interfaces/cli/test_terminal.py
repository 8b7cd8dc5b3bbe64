"""How the command line speaks: to a person, to a pipe, to a program."""

import io
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from portico.interfaces.cli.terminal import Terminal, Underway, human_size
from portico.kernel.errors import FieldError, Kind, PorticoError
from portico.kernel.json import JsonObject
from tests.interfaces.cli.house import ScriptedHouse
from tests.interfaces.cli.screen import TtyText, a_screen

COLUMNS = ["name", "last_used_at", "scopes", "active"]
ROWS: list[JsonObject] = [
    {"name": "laptop [x]", "last_used_at": None, "scopes": ["a:b", "c:d"], "active": True},
    {"name": "phone", "last_used_at": "not a time", "scopes": [], "active": False, "more": 1},
]
Captured = pytest.CaptureFixture[str]


class LeakyRoof(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "leaky_roof"
    title = "The roof leaks [badly]"
    fix = "Call a roofer: portico roof [name]"


@pytest.fixture
def at(tmp_path: Path) -> Terminal:
    return Terminal(services=ScriptedHouse(tmp_path))


@pytest.fixture
def at_json(tmp_path: Path) -> Terminal:
    return Terminal(services=ScriptedHouse(tmp_path), json=True)


@pytest.mark.requirement("cli:output:json-everywhere")
def test_a_program_that_asks_for_json_gets_the_value(at_json: Terminal, capsys: Captured) -> None:
    at_json.table(COLUMNS, ROWS, {"data": ROWS})
    at_json.details({"name": "é", "when": None})
    at_json.data({"key": "ptc_"}, "a text for people")

    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"data": ROWS},
        {"name": "é", "when": None},
        {"key": "ptc_"},
    ]


def test_a_pipe_gets_plain_lines_with_tabs(at: Terminal, capsys: Captured) -> None:
    at.table(COLUMNS, ROWS, None)
    at.details({"config_file": "/x", "ready": True, "size": 3})
    at.details({})
    at.data({"key": "ptc_"}, "a text")

    assert capsys.readouterr().out == snapshot("""\
laptop [x]	-	a:b, c:d	yes
phone	not a time	-	no
config_file	/x
ready	yes
size	3
a text
""")


def test_a_person_gets_facts_in_two_columns(at: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = a_screen(monkeypatch)

    at.details({"config_file": "/x", "ready": False, "nested": {"a": 1}})

    assert screen.getvalue().splitlines() == [
        "config file  /x",
        "ready        no",
        'nested       {"a": 1}',
    ]


SIZES: list[JsonObject] = [
    {"name": "api_key", "rows": 12, "size": "65.5 kB"},
    {"name": "space", "rows": None, "size": "8.0 kB"},
]
SENTENCES: list[JsonObject] = [
    {"name": "one two", "does": "Reads a file and tells what is in it"},
    {"name": "three", "does": "Waits"},
]
WORDY: list[JsonObject] = [{"name": "one", "why": "no word is against it", "says": "a\nb " * 10}]
NAMED: list[JsonObject] = [{"name": "one two", "id": "01m7enbknbf"}]


@pytest.mark.parametrize(
    ("width", "columns", "rows", "how", "shown"),
    [
        (80, COLUMNS, ROWS, {}, [
            "name        last used at  scopes    active",
            "laptop [x]  -             a:b, c:d  yes",
            "phone       not a time    -         no",
        ]),
        (80, ["name", "rows", "size"], SIZES, {"right": ["size"]}, [
            "name     rows     size",
            "api_key    12  65.5 kB",
            "space       -   8.0 kB",
        ]),
        (20, ["name", "id"], NAMED, {}, ["name     id", "one two  01m7enbknbf"]),
        (19, ["name", "id"], NAMED, {}, ["name    id", "one two 01m7enbknbf"]),
        (10, ["name", "id"], NAMED, {}, ["name    id", "one two 01m7enbknbf"]),
        (30, ["name", "does"], SENTENCES, {}, [
            "name    does",
            "one two Reads a file and tells",
            "        what is in it",
            "three   Waits",
        ]),
        (44, ["name", "why", "says"], WORDY, {"fold": ["why", "says"]}, [
            "name why                 says",
            "one  no word is against  a ↵ b a ↵ b a ↵ b a",
            "     it                  ↵ b a ↵ b a ↵ b a ↵",
            "                         b a ↵ b a ↵ b a ↵ b",
        ]),
    ],
    ids=["plain", "figures on the right", "fits", "moves together", "runs over", "a sentence goes "
         "on below", "sentences share the room"],
)  # fmt: skip
def test_a_person_gets_a_table_with_headings(  # a column each
    at: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    *,
    width: int,
    columns: list[str],
    rows: list[JsonObject],
    how: dict[str, Any],
    shown: list[str],
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("LINES", "25")
    screen = a_screen(monkeypatch)

    at.table(columns, rows, None, **how)

    assert [line.rstrip() for line in screen.getvalue().splitlines()] == shown


def test_nothing_that_is_shown_can_move_the_cursor(
    at: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)

    at.table(["name"], [{"name": "a\x1b[2Jb"}], None)
    at.details({"name": "a\x1b[2Jb"})
    at.fail(LeakyRoof("a\x1b[2Jb"))

    assert "\x1b" not in screen.getvalue()
    assert screen.getvalue().count("a\ufffd[2Jb") == 3


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (8192, "8.2 kB"),
        (8_300_000, "8.3 MB"),
        (1_500_000_000, "1.5 GB"),
        (2_000_000_000_000, "2.0 TB"),
    ],
)
def test_a_size_is_told_as_people_say_it(count: int, text: str) -> None:
    assert human_size(count) == text


def test_times_are_shown_to_the_minute_and_only_times(at: Terminal, capsys: Captured) -> None:
    at.details({"at": "2026-01-01T12:34:56.789000+00:00"})
    at.details({"at": "2026-99-99T12:34:56+00:00", "id": "prn_01kdvdna0070004z"})

    first, bad, name = capsys.readouterr().out.splitlines()
    assert len(first.removeprefix("at\t")) == len("2026-01-01 12:34")
    assert bad == "at\t2026-99-99T12:34:56+00:00"
    assert name == "id\tprn_01kdvdna0070004z"


def test_talk_goes_to_standard_error_and_stops_when_quiet(
    tmp_path: Path, at: Terminal, capsys: Captured
) -> None:
    at.say("hello")
    Terminal(services=ScriptedHouse(tmp_path), quiet=True).say("hush")

    assert capsys.readouterr() == ("", "hello\n")


FLAWS = (FieldError("north", "a tile is missing"), FieldError("south", "so is the gutter"))


@pytest.mark.parametrize(
    ("flaws", "told"),
    [
        ((), "  It drips on [bold]the[/] bed.\n"),
        (FLAWS, "  north: a tile is missing\n  south: so is the gutter\n"),
    ],
    ids=["detail", "flaws"],
)
@pytest.mark.requirement("cli:errors:name-the-fix")
def test_a_failure_is_told_with_its_code_its_flaws_and_its_mend(
    at: Terminal, capsys: Captured, flaws: tuple[FieldError, ...], told: str
) -> None:
    error = LeakyRoof("It drips on [bold]the[/] bed.")
    error.field_errors = flaws

    at.fail(error)

    head, fix = (
        "✗ The roof leaks [badly] (leaky_roof)\n",
        "  fix Call a roofer: portico roof [name]\n",
    )
    assert capsys.readouterr() == ("", f"{head}{told}{fix}")


@pytest.mark.requirement("cli:output:json-everywhere")
def test_a_failure_in_json_goes_to_standard_error(at_json: Terminal, capsys: Captured) -> None:
    at_json.fail(LeakyRoof("It drips."))

    captured = capsys.readouterr()
    assert captured.out == ""
    assert json.loads(captured.err) == {
        "error": {
            "code": "leaky_roof",
            "title": "The roof leaks [badly]",
            "detail": "It drips.",
            "fix": "Call a roofer: portico roof [name]",
            "errors": [],
        }
    }


@pytest.mark.parametrize("looked_at", [True, False])
def test_what_is_quick_or_seen_by_nobody_is_not_talked_about(
    at: Terminal, monkeypatch: pytest.MonkeyPatch, capsys: Captured, looked_at: bool
) -> None:
    screen = a_screen(monkeypatch) if looked_at else io.StringIO()

    with at.working("counting sheep") as progress:
        progress("done already")

    assert "sheep" not in screen.getvalue()
    assert capsys.readouterr() == ("", "")


def test_who_waits_long_is_told_how_long_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    underway = Underway("counting [sheep]")
    at_once = str(underway.__rich__())
    underway.say("counting goats")
    now = 107.4

    assert at_once == "counting [sheep]"
    assert str(underway.__rich__()) == "counting goats  7 s"


@pytest.mark.parametrize(
    ("answer", "meant"),
    [("y\n", True), ("YES\n", True), ("\n", False), ("no\n", False), ("", False)],
)
def test_a_person_is_asked(
    at: Terminal, monkeypatch: pytest.MonkeyPatch, answer: str, meant: bool
) -> None:
    screen = a_screen(monkeypatch)
    monkeypatch.setattr("sys.stdin", TtyText(answer))

    assert at.confirm("Really?") is meant
    assert screen.getvalue() == "Really? [y/N] "


def test_nobody_is_asked_at_a_pipe_or_when_told_not_to(
    at: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    piped = at.confirm("Really?")
    monkeypatch.setattr("sys.stdin", TtyText("y\n"))
    silenced = Terminal(services=ScriptedHouse(tmp_path), no_input=True).confirm("Really?")

    assert (piped, silenced) == (False, False)


@pytest.mark.parametrize("debug", [False, True])
def test_what_is_logged_does_not_come_between_the_lines_of_a_command(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, debug: bool
) -> None:
    """Nobody else has asked for it: pytest has."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(logging, "lastResort", logging.StreamHandler(sys.stderr))
    terminal = Terminal(services=ScriptedHouse(tmp_path), debug=debug)

    with terminal.alone():
        logging.getLogger("portico.sandbox").warning("from a box")

    assert ("from a box" in capsys.readouterr().err) is debug
    assert logging.getLogger().handlers == []
