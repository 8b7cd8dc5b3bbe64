"""Calls made ahead, at a terminal."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from portico.faces.cli.app import run
from portico.gateway.core.ahead.gates import GATES
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.scripted_server import ScriptedServer, answering

Captured = pytest.CaptureFixture[str]

FIGURES = {
    "calls": 400,
    "tried": 120,
    "served": 96,
    "wasted": 24,
    "saved_ms": 61_250,
    "coverage": 0.24,
    "exact_hit_rate": 0.8,
    "waste_rate": 0.06,
}
SERVERS = [
    {"name": "files", "mode": "live", "own": "live", "external": False},
    {"name": "search", "mode": "shadow", "own": "shadow", "external": True},
]
EDGE = {
    "before": "lab.list",
    "after": "lab.find",
    "failed": False,
    "tool": "lab.read",
    "arguments": ["path"],
    "predicted": 40,
    "right": 38,
    "at_least": 0.905,
    "live": True,
    "turned_down": None,
    "tried": 18,
    "served": 17,
    "wasted": 1,
    "saved_ms": 16_900,
    "last_seen": "2026-01-01T12:00:00+00:00",
}


def ahead(**changes: Any) -> dict[str, Any]:
    return {
        "mode": "live",
        "installation": "live",
        "space": "live",
        "learning": True,
        "servers": SERVERS,
        "figures": FIGURES,
    } | changes


@contextmanager
def gateway(
    folder: Path, answers: Mapping[str, Any]
) -> Iterator[tuple[ScriptedHouse, ScriptedServer]]:
    with answering(answers) as server:
        house = ScriptedHouse(folder)
        house.remote = server.url
        house.whereabouts().key_file.write_text("ptc_mine")
        yield house, server


def test_what_comes_of_it_is_shown_in_a_few_lines(tmp_path: Path, capsys: Captured) -> None:
    with gateway(tmp_path, {"GET /ahead": ahead()}) as (house, _):
        assert run(house, ["ahead", "show"]) == 0

    assert capsys.readouterr().out == snapshot("""\
Calls that have proved right are made ahead
  served   96 of 400 calls (24%), 61.2 s won
  made     120 ahead, of which 80% were asked for
  wasted   24, 6% of what was called
files	live	only when asked
search	shadow	ahead too
""")


def test_before_anything_was_called_there_is_nothing_to_show(
    tmp_path: Path, capsys: Captured
) -> None:
    nothing = dict.fromkeys(FIGURES, 0) | dict.fromkeys(
        ("coverage", "exact_hit_rate", "waste_rate")
    )
    with gateway(tmp_path, {"GET /ahead": ahead(figures=nothing, servers=[])}) as (house, _):
        assert run(house, ["ahead", "show"]) == 0

    assert capsys.readouterr().out == snapshot("""\
Calls that have proved right are made ahead
No calls were counted yet.
""")


LIVE = {**EDGE, "tried": 0, "turned_down": "proven_for_caller"}


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([], "Nothing was foretold yet: it takes work that repeats itself."),
        (
            [EDGE | {"live": False}],
            "Nothing has proved right yet; how far each has come: portico ahead edges",
        ),
        ([LIVE | {"turned_down": None}], "1 way has proved right, and nothing was made: not yet."),
        (
            [LIVE, LIVE | {"turned_down": "worth_it"}, EDGE | {"live": False}],
            "2 ways have proved right, and nothing was made: "
            "not yet right for this caller, quick as it is.",
        ),
    ],
)
def test_before_anything_was_made_it_is_said_why(
    tmp_path: Path, capsys: Captured, edges: list[dict[str, Any]], said: str
) -> None:
    nothing = FIGURES | {"tried": 0, "served": 0, "wasted": 0, "saved_ms": 0}
    answers = {
        "GET /ahead": ahead(figures=nothing, servers=[]),
        "GET /ahead/edges": {"data": edges, "next": None},
    }
    with gateway(tmp_path, answers) as (house, _):
        assert run(house, ["ahead", "show"]) == 0

    assert capsys.readouterr().out.splitlines()[-1] == said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mode": "off", "space": "off"}, "Nothing is called ahead"),
        (
            {"mode": "off", "installation": "off"},
            "Nothing is called ahead (ahead.mode of the configuration)",
        ),
        (
            {"mode": "shadow", "space": "shadow", "learning": False},
            "Calls are foretold, and not made ahead; which calls follow which is not noted",
        ),
    ],
)
def test_how_it_is_switched_comes_first(
    tmp_path: Path, capsys: Captured, changes: dict[str, Any], said: str
) -> None:
    with gateway(tmp_path, {"GET /ahead": ahead(**changes)}) as (house, _):
        assert run(house, ["ahead", "show"]) == 0

    assert capsys.readouterr().out.splitlines()[0] == said


def test_a_program_gets_what_the_server_says(tmp_path: Path, capsys: Captured) -> None:
    answers = {"GET /ahead": ahead(), "GET /ahead/edges": {"data": [EDGE], "next": None}}
    with gateway(tmp_path, answers) as (house, _):
        assert run(house, ["ahead", "show", "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert run(house, ["ahead", "edges", "--json"]) == 0
        edges = json.loads(capsys.readouterr().out)

    assert (shown, edges) == (ahead(), {"data": [EDGE]})


def test_edges_are_a_table(tmp_path: Path, capsys: Captured) -> None:
    first = EDGE | {"before": None, "after": None, "live": False}
    failed = EDGE | {"before": None, "failed": True, "turned_down": "worth_it"}
    limited = EDGE | {"turned_down": "rate_limited"}
    answers = {"GET /ahead/edges": {"data": [EDGE, first, failed, limited], "next": None}}
    with gateway(tmp_path, answers) as (house, _):
        assert run(house, ["ahead", "edges"]) == 0

    assert capsys.readouterr().out == snapshot("""\
lab.list, lab.find	lab.read	live	38 of 40	90%	18	17	16.9 s
the first words	lab.read	shadow	38 of 40	90%	18	17	16.9 s
lab.find, which failed	lab.read	live, quick as it is	38 of 40	90%	18	17	16.9 s
lab.list, lab.find	lab.read	live, rate limited	38 of 40	90%	18	17	16.9 s
""")


def test_of_every_gate_it_is_said_what_it_kept_out(tmp_path: Path, capsys: Captured) -> None:
    """The name of a gate says what must be true, and would here say the contrary."""
    closed = [EDGE | {"turned_down": gate.__name__} for gate in GATES]
    with gateway(tmp_path, {"GET /ahead/edges": {"data": closed, "next": None}}) as (house, _):
        assert run(house, ["ahead", "edges"]) == 0

    said = [line.split("\t")[2] for line in capsys.readouterr().out.splitlines()]
    names = {f"live, {gate.__name__.replace('_', ' ')}" for gate in GATES}
    assert len(said) == len(GATES)
    assert names.isdisjoint(said)


def test_without_edges_it_is_said_what_they_take(tmp_path: Path, capsys: Captured) -> None:
    with gateway(tmp_path, {"GET /ahead/edges": {"data": [], "next": None}}) as (house, _):
        assert run(house, ["ahead", "edges"]) == 0

    assert "work that repeats itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sent", "said"),
    [
        (["off"], {"mode": "off"}, "Nothing is called ahead.\n"),
        (["shadow"], {"mode": "shadow"}, "Calls are foretold, and not made ahead.\n"),
        (["live"], {"mode": "live"}, "Calls that have proved right are made ahead.\n"),
    ],
)
def test_a_space_is_switched(
    tmp_path: Path, capsys: Captured, words: list[str], sent: dict[str, Any], said: str
) -> None:
    answer = ahead(mode=sent["mode"], space=sent["mode"])
    with gateway(tmp_path, {"PUT /ahead": answer}) as (house, server):
        assert run(house, ["ahead", *words]) == 0

    assert ("PUT /ahead", sent) in server.asked
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (["off", "--server", "files"], {"mode": "off"}),
        (["live", "--server", "files", "--external"], {"mode": "live", "external": True}),
        (["live", "--server", "files", "--no-external"], {"mode": "live", "external": False}),
    ],
)
def test_one_server_is_switched(
    tmp_path: Path, capsys: Captured, words: list[str], sent: dict[str, Any]
) -> None:
    its = {"name": "files", "mode": sent["mode"], "own": sent["mode"], "external": True}
    with gateway(tmp_path, {"PUT /ahead": ahead(servers=[its])}) as (house, server):
        assert run(house, ["ahead", *words]) == 0

    assert ("PUT /ahead", {"servers": {"files": sent}}) in server.asked
    assert capsys.readouterr().out.endswith(": files.\n")


def test_who_switches_a_server_on_where_the_space_is_off_is_told(
    tmp_path: Path, capsys: Captured
) -> None:
    its = {"name": "files", "mode": "off", "own": "live", "external": False}
    answer = ahead(mode="off", space="off", servers=[its])
    with gateway(tmp_path, {"PUT /ahead": answer}) as (house, _):
        assert run(house, ["ahead", "live", "--server", "files"]) == 0

    told = capsys.readouterr()
    assert told.out == "Nothing is called ahead: files.\n"
    assert told.err == (
        "Nothing is called ahead, and so of every server. For the space: portico ahead live\n"
    )


def test_what_reads_elsewhere_is_let_in_server_by_server(tmp_path: Path, capsys: Captured) -> None:
    with gateway(tmp_path, {}) as (house, server):
        assert run(house, ["ahead", "live", "--external"]) == 2

    assert not [path for path, _ in server.asked if path.endswith("/ahead")]
    assert "portico ahead live --server NAME --external" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "learning"), [("on", True), ("off", False)])
def test_learning_is_switched(tmp_path: Path, capsys: Captured, word: str, learning: bool) -> None:
    with gateway(tmp_path, {"PUT /ahead": ahead(learning=learning)}) as (house, server):
        assert run(house, ["ahead", "learning", word]) == 0

    assert ("PUT /ahead", {"learning": learning}) in server.asked
    assert ("is noted" in capsys.readouterr().out) is learning
