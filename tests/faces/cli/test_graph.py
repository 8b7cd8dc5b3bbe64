"""The learnt graph, at a terminal."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from portico.faces.cli.app import run
from portico.faces.cli.server import Server
from portico.faces.cli.terminal import Terminal
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Scope
from tests.faces.cli.test_ahead import EDGE, FIGURES, gateway

Captured = pytest.CaptureFixture[str]

HOP = {
    "earlier": "git.log",
    "later": "git.show",
    "confidence": 0.8312,
    "at_least": 0.7001,
    "needed": 0.8,
    "followed": 40,
    "took": 38,
    "tasks": 31,
    "last_seen": "2026-01-01T12:00:00+00:00",
    "fed": [{"path": "json.commits[0].id", "parameter": "revision", "times": 38}],
}
NEXT = HOP | {
    "earlier": "git.show",
    "later": "files.read",
    "confidence": 0.5,
    "took": 9,
    "fed": [{"path": "json.files[0]", "parameter": "path", "times": 9}],
}
BY_WAY = {
    "tools": ["git.log", "git.show", "files.read"],
    "direct": False,
    "confidence": 0.4156,
    "at_least": 0.3,
    "words": "git.log -> files.read, by way of git.show (0.83 x 0.50 = 0.42)",
    "hops": [HOP, NEXT],
}
DIRECT = BY_WAY | {
    "tools": ["git.log", "files.read"],
    "words": "git.log -> files.read, directly (0.05)",
    "hops": [NEXT],
}
STATS = {
    "tools": 3,
    "offered": 40,
    "edges": 2,
    "feeding": 1,
    "density": 0.222222,
    "communities": 1,
    "central": [{"tool": "files.read", "rank": 0.41}],
    "surest": [HOP],
}
GRAPH = {
    "directed": True,
    "multigraph": False,
    "graph": {},
    "nodes": [{"id": "git.log"}, {"id": "größe.x"}],
    "edges": [{"source": "git.log", "target": "größe.x"}],
}


def told(folder: Path, answers: Mapping[str, Any], arguments: list[str]) -> None:
    with gateway(folder, answers) as (house, _):
        assert run(house, ["graph", *arguments]) == 0


def test_the_figures_are_shown_with_what_running_ahead_has_brought(
    tmp_path: Path, capsys: Captured
) -> None:
    answers = {
        "GET /graph/stats": STATS,
        "GET /ahead": {"figures": FIGURES},
        "GET /ahead/edges": {"data": [EDGE]},
    }
    told(tmp_path, answers, ["stats"])

    assert capsys.readouterr().out == snapshot("""\
tools	3
offered	40
edges	2
feeding	1
density	0.222222
communities	1
ahead_calls	400
ahead_tried	120
ahead_served	96
ahead_wasted	24
ahead_saved_ms	61250
ahead_coverage	0.24
ahead_exact_hit_rate	0.8
ahead_waste_rate	0.06
files.read	0.41
git.log	git.show	0.83	0.70	40	38	31	2026-01-01	json.commits[0].id as revision
lab.list, lab.find	lab.read	live	38 of 40	90%	18	17	16.9 s
""")

    told(tmp_path, answers, ["stats", "--json"])
    assert json.loads(capsys.readouterr().out) == {
        **STATS,
        "ahead": FIGURES,
        "ahead_edges": [EDGE],
    }


def test_of_an_empty_graph_it_is_said_what_it_takes(tmp_path: Path, capsys: Captured) -> None:
    nothing = STATS | {"edges": 0, "central": [], "surest": []}
    answers = {
        "GET /graph/stats": nothing,
        "GET /ahead": {"figures": {"coverage": None}},
        "GET /ahead/edges": {"data": []},
    }
    told(tmp_path, answers, ["stats"])
    stats = capsys.readouterr()
    told(tmp_path, {"GET /graph/communities": []}, ["communities"])
    communities = capsys.readouterr()

    assert (len(stats.out.splitlines()), communities.out) == (6, "")
    assert stats.err == communities.err
    assert "Nothing was learnt yet" in stats.err


def test_whoever_may_not_know_of_servers_is_told_of_the_graph_alone(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(self: Server, path: str, **query: object) -> object:
        if path == "/ahead":
            raise NotPermitted("ana", Scope.SERVERS_READ)
        return STATS

    monkeypatch.setattr(Server, "get", denied)
    told(tmp_path, {}, ["stats", "--json"])

    assert json.loads(capsys.readouterr().out) == STATS


def test_other_trouble_with_it_is_told(tmp_path: Path, capsys: Captured) -> None:
    with gateway(tmp_path, {"GET /graph/stats": STATS}) as (house, _):
        assert run(house, ["graph", "stats"]) != 0

    assert capsys.readouterr().err


def test_a_way_is_told_in_words_and_hop_by_hop(tmp_path: Path, capsys: Captured) -> None:
    answers = {"GET /graph/path": {"likeliest": BY_WAY, "shortest": DIRECT}}
    told(tmp_path, answers, ["path", "git.log", "files.read"])

    assert capsys.readouterr().out == snapshot("""\
git.log -> files.read, by way of git.show (0.83 x 0.50 = 0.42)
shortest: git.log -> files.read, directly (0.05)
git.log	git.show	0.83	0.70	40	38	31	2026-01-01	json.commits[0].id as revision
git.show	files.read	0.50	0.70	40	9	31	2026-01-01	json.files[0] as path
""")


def test_a_way_that_is_also_the_shortest_is_told_once(tmp_path: Path, capsys: Captured) -> None:
    answers = {"GET /graph/path": {"likeliest": DIRECT, "shortest": DIRECT}}
    told(tmp_path, answers, ["path", "git.log", "files.read"])

    assert capsys.readouterr().out.count("directly") == 1


def test_where_no_way_is_known_that_is_said(tmp_path: Path, capsys: Captured) -> None:
    answers = {"GET /graph/path": {"likeliest": None, "shortest": None}}
    told(tmp_path, answers, ["path", "a.b", "c.d"])

    said = capsys.readouterr()
    assert said.out == "No way from a.b to c.d is known.\n"
    assert "portico graph neighbours a.b" in said.err


def test_communities_are_shown(tmp_path: Path, capsys: Captured) -> None:
    groups = [{"number": 1, "tools": ["git.log", "git.show"]}]
    told(tmp_path, {"GET /graph/communities": groups}, ["communities"])

    assert capsys.readouterr().out == "1\tgit.log, git.show\n"


def test_neighbours_are_shown(tmp_path: Path, capsys: Captured) -> None:
    near = {"tool": "git.show", "after": [NEXT], "before": [HOP], "beside": ["git.log"]}
    told(tmp_path, {"GET /graph/neighbours/git.show": near}, ["neighbours", "git.show"])

    captured = capsys.readouterr()
    assert [line.split("\t")[:2] for line in captured.out.splitlines()] == [
        ["git.show", "files.read"],
        ["git.log", "git.show"],
    ]
    assert "Belongs with git.show: git.log" in captured.err


@pytest.mark.parametrize("fed", [HOP["fed"], []])
def test_a_person_sees_what_is_handed_on_where_anything_is(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, fed: list[object]
) -> None:
    monkeypatch.setattr(Terminal, "for_a_person", True)
    near = {"tool": "git.show", "after": [], "before": [HOP | {"fed": fed}], "beside": []}
    told(tmp_path, {"GET /graph/neighbours/git.show": near}, ["neighbours", "git.show"])

    captured = capsys.readouterr()
    assert ("hands on" in captured.out) == bool(fed)
    assert "What it came after" in captured.err
    assert "What came after it" not in captured.err


@pytest.mark.parametrize(
    ("asked", "path", "answer"),
    [
        ("path git.log files.read", "path", {"likeliest": BY_WAY, "shortest": DIRECT}),
        ("path a.b c.d", "path", {"likeliest": None, "shortest": None}),
        (
            "neighbours git.log",
            "neighbours/git.log",
            {"tool": "git.log", "after": [HOP], "before": [], "beside": []},
        ),
    ],
)
def test_a_program_is_told_all_of_it(
    tmp_path: Path, capsys: Captured, asked: str, path: str, answer: dict[str, object]
) -> None:
    told(tmp_path, {f"GET /graph/{path}": answer}, [*asked.split(), "--json"])

    assert json.loads(capsys.readouterr().out) == answer


def test_so_many_neighbours_nobody_has(tmp_path: Path, capsys: Captured) -> None:
    with gateway(tmp_path, {}) as (house, _):
        assert run(house, ["graph", "neighbours", "a.b", "--limit", "0"]) == 2

    assert "--limit" in capsys.readouterr().err


def test_it_is_exported_to_a_file_or_to_standard_output(tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "graph.json"
    told(tmp_path, {"GET /graph": GRAPH}, ["export", str(target)])
    assert json.loads(target.read_text()) == GRAPH
    assert target.stat().st_mode & 0o777 == 0o600
    assert capsys.readouterr().out == f"{target} (2 tools, 1 edges)\n"

    told(tmp_path, {"GET /graph": GRAPH}, ["export"])
    assert json.loads(capsys.readouterr().out) == GRAPH


def test_a_file_that_is_there_is_not_lost(tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "graph.json"
    target.write_text("mine")
    with gateway(tmp_path, {"GET /graph": GRAPH}) as (house, _):
        assert run(house, ["graph", "export", str(target)]) != 0
        assert target.read_text() == "mine"
        assert run(house, ["graph", "export", str(target), "--replace"]) == 0

    assert json.loads(target.read_text()) == GRAPH
