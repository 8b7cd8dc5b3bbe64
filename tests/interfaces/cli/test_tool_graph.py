"""The learnt graph, at a terminal."""

from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.scripted_server import Problem
from tests.interfaces.cli.test_prefetch import EDGE, FIGURES

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
NEAR = {"tool": "git.show", "after": [NEXT], "before": [HOP], "beside": ["git.log"]}


def graph(
    cli: CommandLine, words: str, found: Any = None, *, beside: Any = None, screen: Any = None
) -> Outcome:
    """`found`: of the graph, at the address that the first words name."""
    verb, *tool = words.split()[:2]
    path = f"{verb}/{tool[0]}" if verb == "neighbours" else verb
    return cli(f"graph {words}", {f"GET /graph/{path}": found, **(beside or {})}, screen=screen)


def test_the_figures_are_shown_with_what_running_ahead_has_brought(cli: CommandLine) -> None:
    ahead = {"GET /ahead": {"figures": FIGURES}, "GET /ahead/edges": {"data": [EDGE]}}

    assert graph(cli, "stats", STATS, beside=ahead).out == snapshot("""\
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
    told = graph(cli, "stats --json", STATS, beside=ahead).json
    assert told == {**STATS, "ahead": FIGURES, "ahead_edges": [EDGE]}


def test_of_an_empty_graph_it_is_said_what_it_takes(cli: CommandLine) -> None:
    nothing = STATS | {"edges": 0, "central": [], "surest": []}
    ahead = {"GET /ahead": {"figures": {"coverage": None}}, "GET /ahead/edges": {"data": []}}

    stats = graph(cli, "stats", nothing, beside=ahead)
    communities = graph(cli, "communities", [])

    assert (len(stats.lines), communities.out) == (6, "")
    assert stats.err == communities.err
    assert "Nothing was learnt yet" in stats.err


def test_whoever_may_not_know_of_servers_is_told_of_the_graph_alone(cli: CommandLine) -> None:
    denied = {"GET /ahead": Problem(403, {"code": "not_permitted"})}

    assert graph(cli, "stats --json", STATS, beside=denied).json == STATS


def test_other_trouble_with_it_is_told(cli: CommandLine) -> None:
    got = graph(cli, "stats", STATS)

    assert got.code != 0
    assert got.err


def test_a_way_is_told_in_words_and_hop_by_hop(cli: CommandLine) -> None:
    way = {"likeliest": BY_WAY, "shortest": DIRECT}

    got = graph(cli, "path git.log files.read", way)

    assert got.out == snapshot("""\
git.log -> files.read, by way of git.show (0.83 x 0.50 = 0.42)
shortest: git.log -> files.read, directly (0.05)
git.log	git.show	0.83	0.70	40	38	31	2026-01-01	json.commits[0].id as revision
git.show	files.read	0.50	0.70	40	9	31	2026-01-01	json.files[0] as path
""")
    once = graph(cli, "path git.log files.read", way | {"likeliest": DIRECT})
    assert once.out.count("directly") == 1


def test_where_no_way_is_known_that_is_said(cli: CommandLine) -> None:
    got = graph(cli, "path a.b c.d", {"likeliest": None, "shortest": None})

    assert got.out == "No way from a.b to c.d is known.\n"
    assert "portico graph neighbours a.b" in got.err


def test_communities_are_shown(cli: CommandLine) -> None:
    groups = [{"number": 1, "tools": ["git.log", "git.show"]}]

    assert graph(cli, "communities", groups).out == "1\tgit.log, git.show\n"


def test_neighbours_are_shown(cli: CommandLine) -> None:
    got = graph(cli, "neighbours git.show", NEAR)

    assert [row[:2] for row in got.rows] == [["git.show", "files.read"], ["git.log", "git.show"]]
    assert "Belongs with git.show: git.log" in got.err


@pytest.mark.parametrize("fed", [HOP["fed"], []])
def test_a_person_sees_what_is_handed_on_where_anything_is(cli: CommandLine, fed: Any) -> None:
    near = NEAR | {"after": [], "before": [HOP | {"fed": fed}], "beside": []}

    shown = graph(cli, "neighbours git.show", near, screen=100).out

    assert ("hands on" in shown) == bool(fed)
    assert "What it came after" in shown
    assert "What came after it" not in shown


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("path git.log files.read", {"likeliest": BY_WAY, "shortest": DIRECT}),
        ("path a.b c.d", {"likeliest": None, "shortest": None}),
        ("neighbours git.show", NEAR),
    ],
)
def test_a_program_is_told_all_of_it(
    cli: CommandLine, words: str, answer: dict[str, object]
) -> None:
    assert graph(cli, f"{words} --json", answer).json == answer


def test_it_is_exported_to_a_file_or_to_standard_output(cli: CommandLine) -> None:
    target, some = cli.root / "graph.json", {"GET /graph": GRAPH}

    got = cli(f"graph export {target}", some)

    assert got.out == f"{target} (2 tools, 1 edges)\n"
    assert target.stat().st_mode & 0o777 == 0o600
    assert cli("graph export", some).json == GRAPH
    written = target.read_text()
    target.write_text("mine")
    assert cli(f"graph export {target}", some).code != 0
    assert target.read_text() == "mine"
    assert cli(f"graph export {target} --replace", some).code == 0
    assert target.read_text() == written
