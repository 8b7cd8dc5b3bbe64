"""`portico graph`: the tool graph, its paths and figures."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cyclopts import App

from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.prefetch import edge_table
from portico.interfaces.cli.server import Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At, Terminal, check_free, day
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.json import JsonObject

app = App(
    name="graph",
    help="What Portico has learnt of which tool comes after which, as far as you may know of it.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

Told = Mapping[str, Any]

_HOP: Final = [
    "from",
    "to",
    "confidence",
    "at_least",
    "followed",
    "took",
    "tasks",
    "last_seen",
    "hands_on",
]
_RIGHT: Final = ["confidence", "at_least"]
_FORETOLD: Final = 10
_EMPTY: Final = (
    "Nothing was learnt yet: an edge is there a few seconds after one tool was called after another"
    " in the same task."
)
_COUNTS: Final = ("tools", "offered", "edges", "feeding", "density", "communities")


@app.command(name="stats", sort_key=1)
def stats(*, at: At) -> None:
    """The graph in figures, its most central tools, its surest edges, and what running ahead has
    brought."""
    server = Server(at.services)
    found = server.get("/graph/stats")
    ahead = _ahead(server)
    if at.json:
        at.details({**found, **ahead})
        return
    brought = ahead.get("ahead", {}).items()
    figures = {f"ahead_{name}": value for name, value in brought if value is not None}
    at.details({**{name: found[name] for name in _COUNTS}, **figures})
    if not found["edges"]:
        at.say(_EMPTY)
    if found["surest"]:
        at.say("\nMost central:")
        at.table(["tool", "rank"], found["central"], None, right=["rank"])
        at.say("\nSurest:")
        _hops(found["surest"], at)
    if foretold := ahead.get("ahead_edges"):
        at.say("\nForetold most often (all of it: portico ahead edges):")
        edge_table(foretold[:_FORETOLD], None, at)


@app.command(name="path", sort_key=2)
def path(start: str, goal: str, /, *, at: At) -> None:
    """The likeliest way from one tool to another, hop by hop.

    A way is direct, if the one was seen right after the other or with what it gave, or it goes by
    way of others. The confidence of a way is the product of those of its hops.

    Parameters
    ----------
    start
        server.tool
    goal
        server.tool
    """
    found = Server(at.services).get("/graph/path", **{"from": start, "to": goal})
    likeliest, shortest = found["likeliest"], found["shortest"]
    if likeliest is None:
        at.data(found, f"No way from {start} to {goal} is known.")
        at.say(f"What is: portico graph neighbours {start}")
        return
    if at.json:
        at.details(found)
        return
    at.line(likeliest["words"])
    if shortest["tools"] != likeliest["tools"]:
        at.line(f"shortest: {shortest['words']}")
    _hops(likeliest["hops"], at)


@app.command(name="communities", sort_key=3)
def communities(*, at: At) -> None:
    """Tools that are used together more than with others; the most central of each first."""
    found = Server(at.services).get("/graph/communities")
    if not found:
        at.say(_EMPTY)
    rows = [each | {"tools": ", ".join(each["tools"])} for each in found]
    at.table(["number", "tools"], rows, {"data": found}, fold=["tools"])


@app.command(name="neighbours", sort_key=4)
def neighbours(tool: str, /, *, limit: int = 10, at: At) -> None:
    """What came after a tool, what it came after, and what belongs with it.

    Parameters
    ----------
    tool
        server.tool
    limit
        How many of each at most.
    """
    if not 1 <= limit <= 100:
        raise InvalidUsage("--limit is from 1 to 100.", fix="portico graph export has all of it.")
    found = Server(at.services).get(api_path("graph", "neighbours", tool), limit=limit)
    if at.json:
        at.details(found)
        return
    at.say(f"Belongs with {tool}: {', '.join(found['beside']) or 'nothing that is known yet'}")
    for heading, hops in (("What came after it:", "after"), ("What it came after:", "before")):
        if found[hops]:
            at.say(f"\n{heading}")
            _hops(found[hops], at)


@app.command(name="export", sort_key=5)
def export(target: Path | None = None, /, *, replace: bool = False, at: At) -> None:
    """The graph as JSON: nodes, and edges between them, as networkx, graphology and d3 take it.

    portico graph export graph.json

    Parameters
    ----------
    target
        The file to write; standard output if left away.
    replace
        Even if there is such a file already, which is then lost.
    """
    check_free(target, replace=replace)
    found = Server(at.services).get("/graph")
    text = json.dumps(found, indent=2, ensure_ascii=False)
    if target is None:
        at.data(found, text)
        return
    target.touch(mode=0o600)
    target.write_text(f"{text}\n", encoding="utf-8")
    nodes, edges = len(found["nodes"]), len(found["edges"])
    told: JsonObject = {"file": str(target), "nodes": nodes, "edges": edges}
    at.data(told, f"{target} ({nodes:,} tools, {edges:,} edges)")


def _ahead(server: Server) -> Told:
    """Whoever may not know of servers is told nothing of it."""
    try:
        figures = server.get("/ahead")["figures"]
        return {"ahead": figures, "ahead_edges": server.get("/ahead/edges")["data"]}
    except PorticoError as error:
        if error.kind is not Kind.DENIED:
            raise
        return {}


def _hops(hops: list[Told], at: Terminal) -> None:
    rows = [
        {
            **hop,
            "from": hop["earlier"],
            "to": hop["later"],
            "confidence": f"{hop['confidence']:.2f}",
            "at_least": f"{hop['at_least']:.2f}",
            "last_seen": day(hop["last_seen"]),
            "hands_on": ", ".join(f"{fed['path']} as {fed['parameter']}" for fed in hop["fed"][:3]),
        }
        for hop in hops
    ]
    told = not at.for_a_person or any(hop["fed"] for hop in hops)
    at.table(_HOP if told else _HOP[:-1], rows, None, right=_RIGHT)
