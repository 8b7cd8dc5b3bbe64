"""Calls made ahead, at a terminal."""

from typing import Any

import pytest
from inline_snapshot import snapshot

from portico.learning.core.prefetch_gates import GATES
from tests.interfaces.cli.command_line import CommandLine

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
NO_CALLS = dict.fromkeys(FIGURES, 0) | dict.fromkeys(("coverage", "exact_hit_rate", "waste_rate"))
NOT_TRIED = FIGURES | {"tried": 0, "served": 0, "wasted": 0, "saved_ms": 0}
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


def edges(*items: dict[str, Any]) -> dict[str, Any]:
    return {"GET /ahead/edges": {"data": [*items], "next": None}}


def test_what_comes_of_it_is_shown_in_a_few_lines(cli: CommandLine) -> None:
    assert cli("ahead show", {"GET /ahead": ahead()}).out == snapshot("""\
Calls that have proved right are made ahead
  served   96 of 400 calls (24%), 61.2 s won
  made     120 ahead, of which 80% were asked for
  wasted   24, 6% of what was called
files	live	only when asked
search	shadow	ahead too
""")
    assert cli("ahead show --json", {"GET /ahead": ahead()}).json == ahead()


LIVE = {**EDGE, "tried": 0, "turned_down": "proven_for_caller"}


@pytest.mark.parametrize(
    ("changes", "known", "first", "last"),
    [
        ({"figures": NO_CALLS}, [], "Calls that have proved right are made ahead",
         "No calls were counted yet."),
        ({"figures": NOT_TRIED}, [], "",
         "Nothing was foretold yet: it takes work that repeats itself."),
        ({"figures": NOT_TRIED}, [EDGE | {"live": False}], "",
         "Nothing has proved right yet; how far each has come: portico ahead edges"),
        ({"figures": NOT_TRIED}, [LIVE | {"turned_down": None}], "",
         "1 way has proved right, and nothing was made: not yet."),
        ({"figures": NOT_TRIED}, [LIVE, LIVE | {"turned_down": "worth_it"}, EDGE | {"live": False}],
         "", "2 ways have proved right, and nothing was made: "
         "not yet right for this caller, quick as it is."),
        ({"mode": "off", "space": "off"}, [], "Nothing is called ahead", ""),
        ({"mode": "off", "installation": "off"}, [],
         "Nothing is called ahead (ahead.mode of the configuration)", ""),
        ({"mode": "shadow", "space": "shadow", "learning": False}, [],
         "Calls are foretold, and not made ahead; which calls follow which is not noted", ""),
    ],
)  # fmt: skip
def test_how_it_is_switched_comes_first_and_why_nothing_was_made_last(
    cli: CommandLine, changes: dict[str, Any], known: Any, first: str, last: str
) -> None:
    some = {"GET /ahead": ahead(servers=[], **changes), **edges(*known)}

    lines = cli("ahead show", some).lines

    assert lines[0] == (first or lines[0])
    assert lines[-1] == (last or lines[-1])


def test_edges_are_a_table(cli: CommandLine) -> None:
    first = EDGE | {"before": None, "after": None, "live": False}
    failed = EDGE | {"before": None, "failed": True, "turned_down": "worth_it"}
    limited = EDGE | {"turned_down": "rate_limited"}

    assert cli("ahead edges", edges(EDGE, first, failed, limited)).out == snapshot("""\
lab.list, lab.find	lab.read	live	38 of 40	90%	18	17	16.9 s
the first words	lab.read	shadow	38 of 40	90%	18	17	16.9 s
lab.find, which failed	lab.read	live, quick as it is	38 of 40	90%	18	17	16.9 s
lab.list, lab.find	lab.read	live, rate limited	38 of 40	90%	18	17	16.9 s
""")
    assert cli("ahead edges --json", edges(EDGE)).json == {"data": [EDGE]}


def test_of_every_gate_it_is_said_what_it_kept_out(cli: CommandLine) -> None:
    """The name of a gate says what must be true, and would here say the contrary."""
    closed = [EDGE | {"turned_down": gate.name} for gate in GATES]

    said = [row[2] for row in cli("ahead edges", edges(*closed)).rows]

    names = {f"live, {gate.name.replace('_', ' ')}" for gate in GATES}
    assert len(said) == len(GATES)
    assert names.isdisjoint(said)


OFF, SHADOW = "Nothing is called ahead", "Calls are foretold, and not made ahead"
ON = "Calls that have proved right are made ahead"


@pytest.mark.parametrize(
    ("words", "sent", "said"),
    [
        ("off", {"mode": "off"}, f"{OFF}.\n"),
        ("shadow", {"mode": "shadow"}, f"{SHADOW}.\n"),
        ("live", {"mode": "live"}, f"{ON}.\n"),
        ("off --server files", {"servers": {"files": {"mode": "off"}}}, f"{OFF}: files.\n"),
        ("live --server files --external",
         {"servers": {"files": {"mode": "live", "external": True}}}, f"{ON}: files.\n"),
        ("live --server files --no-external",
         {"servers": {"files": {"mode": "live", "external": False}}}, f"{ON}: files.\n"),
        ("learning on", {"learning": True}, "is noted"),
        ("learning off", {"learning": False}, "not noted"),
    ],
)  # fmt: skip
def test_it_is_switched(cli: CommandLine, words: str, sent: dict[str, Any], said: str) -> None:
    mode = words.split(maxsplit=1)[0]
    its = {"name": "files", "mode": mode, "own": mode, "external": True}
    answer = ahead(mode=mode, space=mode, learning=words != "learning off", servers=[its])

    got = cli(f"ahead {words}", {"PUT /ahead": answer})

    assert (got.code, got.sent) == (0, [sent])
    assert got.out == said if said.endswith("\n") else said in got.out


def test_who_switches_a_server_on_where_the_space_is_off_is_told(cli: CommandLine) -> None:
    its = {"name": "files", "mode": "off", "own": "live", "external": False}
    answer = ahead(mode="off", space="off", servers=[its])

    got = cli("ahead live --server files", {"PUT /ahead": answer})

    assert got.out == f"{OFF}: files.\n"
    assert got.err == f"{OFF}, and so of every server. For the space: portico ahead live\n"
