"""Five sets of a handful of tools each, in the form of the published files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

THINGS = {
    "letter": "Send a letter to a friend by post",
    "bread": "Bake a loaf of rye bread",
    "garden": "Water every plant in the garden",
    "piano": "Tune the strings of a piano",
    "boat": "Rent a rowing boat on the lake",
    "lamp": "Switch the lamp in the hall on or off",
}
ASKED = {
    thing: [f"please take care of the {thing}", f"{told.lower()} today"]
    for thing, told in THINGS.items()
}


def _simple() -> list[Mapping[str, Any]]:
    return [{"id": thing, "name": f"do_{thing}", "description": THINGS[thing]} for thing in THINGS]


def _pairs() -> list[tuple[str, str]]:
    return [(text, thing) for thing, texts in ASKED.items() for text in texts]


def write_sets(folder: Path) -> Path:
    simple, things = _simple(), list(THINGS)
    live = {
        "tools": [
            {
                "server": f"{thing}_house",
                "name": f"do_{thing}",
                "description": told,
                "server_desc": f"All about {thing}",
                "input_schema": {"properties": {"when": {"description": "the day"}, "odd": True}},
            }
            for thing, told in THINGS.items()
        ],
        "queries": [
            {
                "q": text,
                "gold": [thing],
                "gold_names": [f"do_{thing}"],
                "steps": f"1. look at the {thing}\n2. do it",
            }
            for text, thing in _pairs()
        ]
        + [{"q": "nothing", "gold": [], "gold_names": []}],
    }
    link = {
        "tools": [
            {**tool, "params": [{"name": "day", "description": "which one"}]} for tool in simple
        ],
        "queries": [{"q": text, "main": thing} for text, thing in _pairs()],
    }
    seal = {
        "tools": [{**tool, "params": {"day": {"description": "which one"}}} for tool in simple],
        "queries": [{"query": text, "calling": [{"api": thing}]} for text, thing in _pairs()]
        + [{"query": "not here", "calling": [{"api": "elsewhere"}]}],
    }
    both = f"{ASKED[things[0]][0]} and {ASKED[things[1]][0]}"
    meta = {
        "tools": simple,
        "queries": [{"q": text, "gold": [thing]} for text, thing in _pairs()],
        "multi": [{"q": both, "gold": things[:2]}],
    }
    ultra = {
        "tools": simple,
        "queries": [{"q": text, "gold": [thing]} for text, thing in _pairs()],
    }
    named = {
        "livemcpbench": live,
        "toollinkos": link,
        "sealtools_raw": seal,
        "metatool": meta,
        "ultratool_plans": ultra,
    }
    (folder / "tool-search").mkdir(parents=True)
    for name, told in named.items():
        (folder / "tool-search" / f"{name}.json").write_text(json.dumps(told), encoding="utf-8")
    return folder
