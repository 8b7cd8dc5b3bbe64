"""`portico ahead`: figures of prefetch, and its switches."""

from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import PLAIN, At, Terminal
from portico.kernel.json import JsonObject, JsonValue

app = App(
    name="ahead",
    help="Calls made before they are asked for: what they win, and their switches.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_SERVERS = ["server", "mode", "reads_elsewhere"]
_EDGES = ["after", "tool", "state", "right", "at_least", "made", "served", "saved"]
_ALL = 1000
_SAID = {
    "off": "Nothing is called ahead",
    "shadow": "Calls are foretold, and not made ahead",
    "live": "Calls that have proved right are made ahead",
}
_CLOSED = {
    "proven_for_caller": "not yet right for this caller",
    "switched_on": "switched off",
    "in_good_standing": "its caller may no longer",
    "still_approved": "no longer approved",
    "pinned_as_foretold": "its tool has changed",
    "only_reads": "changes something",
    "no_workflow": "a saved workflow",
    "stays_here": "reads elsewhere",
    "complete": "an argument is not known",
    "fits_its_schema": "its tool would not take it",
    "proven": "not right often enough",
    "worth_it": "quick as it is",
    "allowed": "not allowed",
    "settled": "something is being changed",
    "awake": "its server sleeps",
    "not_in_the_way": "its server is busy",
    "few_at_once": "too many at once",
    "few_of_one": "too many at once",
    "few_a_minute": "too many this minute",
    "affordable": "too dear",
}
"""Why a call that has proved right was not made."""


@app.command(name="show", sort_key=1)
def show(*, at: At) -> None:
    """Whether calls are made ahead, of which servers, and what has come of it."""
    house = Server(at.services)
    found = house.get("/ahead")
    if at.json:
        at.data(found, "")
        return
    at.line(_mode(found), loud=True)
    for line in _figures(found["figures"]):
        at.line(line)
    if found["mode"] == "live" and found["figures"]["calls"] and not found["figures"]["tried"]:
        at.line(_not_yet(house.get("/ahead/edges", limit=_ALL)["data"]))
    rows = [
        {
            "server": its["name"],
            "mode": its["mode"],
            "reads_elsewhere": "ahead too" if its["external"] else "only when asked",
        }
        for its in found["servers"]
    ]
    at.table(_SERVERS, rows, {})


@app.command(name="edges", sort_key=2)
def edges(*, limit: int = 30, at: At) -> None:
    """From which call to which is foretold, how often that was right, and what it has won.

    Parameters
    ----------
    limit
        How many, those foretold most often.
    """
    found = Server(at.services).get("/ahead/edges", limit=limit)["data"]
    if not found:
        at.say("Nothing was foretold yet: it takes work that repeats itself.")
    edge_table(found, {"data": found}, at)


@app.command(name="off", sort_key=3)
def off(*, server: str | None = None, at: At) -> None:
    """Call nothing ahead from this moment on.

    What is under way is broken off and what waits is thrown away, in every process within a second.

    Parameters
    ----------
    server
        Only of this one.
    """
    _switch(at, "off", server, None)


@app.command(name="shadow", sort_key=4)
def shadow(*, server: str | None = None, at: At) -> None:
    """Foretell calls and compare them with what is called, without making any.

    Parameters
    ----------
    server
        Only of this one.
    """
    _switch(at, "shadow", server, None)


@app.command(name="live", sort_key=5)
def live(
    *,
    server: str | None = None,
    external: Annotated[bool | None, Parameter(negative="--no-external")] = None,
    at: At,
) -> None:
    """Make calls that only read ahead, where they have proved right.

    portico ahead live --server search --external

    Parameters
    ----------
    server
        Only of this one.
    external
        With --server: also those of its tools that read elsewhere, in tasks that have read nothing
        labelled. Whoever is asked learns what is asked, also where nobody asks in the end.
    """
    _switch(at, "live", server, external)


@app.command(name="learning", sort_key=6)
def learning(word: Literal["on", "off"], /, *, at: At) -> None:
    """Whether it is noted which calls follow which, without their values.

    Parameters
    ----------
    word
        on or off.
    """
    found = Server(at.services).put("/ahead", {"learning": word == "on"})
    noted = "is noted, without what they were given" if found["learning"] else "is not noted"
    at.data(found, f"Which calls follow which {noted}.")


def edge_table(edges: list[dict[str, Any]], value: JsonValue, at: Terminal) -> None:
    rows: list[JsonObject] = [
        {
            "after": _after(each),
            "tool": each["tool"],
            "state": _state(each),
            "right": f"{each['right']} of {each['predicted']}",
            "at_least": _percent(each["at_least"]),
            "made": each["tried"],
            "served": each["served"],
            "saved": _seconds(each["saved_ms"]),
        }
        for each in edges
    ]
    at.table(_EDGES, rows, value, right=["right", "at_least", "saved"])


def _switch(at: At, mode: str, server: str | None, external: bool | None) -> None:
    if server is None and external is not None:
        raise InvalidUsage(
            "What reads elsewhere is let in server by server.",
            fix="Name one: portico ahead live --server NAME --external",
        )
    if server is None:
        found = Server(at.services).put("/ahead", {"mode": mode})
        at.data(found, f"{_mode(found)}.")
        return
    switch = {"mode": mode} | ({} if external is None else {"external": external})
    found = Server(at.services).put("/ahead", {"servers": {server: switch}})
    its = next(each for each in found["servers"] if each["name"] == server)
    at.data(found, f"{_SAID[its['mode']]}: {server}.")
    if its["mode"] != mode:
        at.say(f"{_mode(found)}, and so of every server. For the space: portico ahead {mode}")


def _mode(found: dict[str, Any]) -> str:
    said = _SAID[found["mode"]]
    if found["installation"] != "live" and found["installation"] == found["mode"]:
        said += " (ahead.mode of the configuration)"
    return said if found["learning"] else f"{said}; which calls follow which is not noted"


def _figures(figures: dict[str, Any]) -> list[str]:
    if not figures["calls"]:
        return ["No calls were counted yet."]
    if not figures["tried"]:
        return [f"None of {figures['calls']} calls was made ahead so far."]
    served, asked = _percent(figures["coverage"]), _percent(figures["exact_hit_rate"])
    wasted, saved = _percent(figures["waste_rate"]), _seconds(figures["saved_ms"])
    return [
        f"  served   {figures['served']} of {figures['calls']} calls ({served}), {saved} won",
        f"  made     {figures['tried']} ahead, of which {asked} were asked for",
        f"  wasted   {figures['wasted']}, {wasted} of what was called",
    ]


def _not_yet(edges: list[dict[str, Any]]) -> str:
    """Why nothing was made ahead so far."""
    if not edges:
        return "Nothing was foretold yet: it takes work that repeats itself."
    live = [each for each in edges if each["live"]]
    if not live:
        return "Nothing has proved right yet; how far each has come: portico ahead edges"
    why = sorted({_closed(each["turned_down"]) for each in live if each["turned_down"]})
    ways = "1 way has" if len(live) == 1 else f"{len(live)} ways have"
    return f"{ways} proved right, and nothing was made: {', '.join(why) or 'not yet'}."


def _after(edge: dict[str, Any]) -> str:
    if edge["after"] is None:
        return "the first words"
    steps = [each for each in (edge["before"], edge["after"]) if each]
    return ", ".join(steps) + (", which failed" if edge["failed"] else "")


def _state(edge: dict[str, Any]) -> str:
    if not edge["live"]:
        return "shadow"
    gate = edge["turned_down"]
    return "live" if gate is None else f"live, {_closed(gate)}"


def _closed(gate: str) -> str:
    return _CLOSED.get(gate, gate.replace("_", " "))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"
