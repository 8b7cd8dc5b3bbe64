"""Plans with the words that they are for, in the form of the published files."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from tests.bench.small_sets import THINGS, write_sets
from tests.benchmarks.small_plans import nestful

_WORDS: Final = {thing: told.lower() for thing, told in THINGS.items()}
FIRST: Final = "key"
"""Whatever is to be done, it comes first."""


def _link() -> dict[str, Any]:
    tools = [
        {
            "id": thing,
            "name": f"do_{thing}",
            "description": told,
            "params": [{"name": "day", "description": "which one", "required": True}],
        }
        for thing, told in THINGS.items()
    ]
    tools.append({"id": FIRST, "name": "fetch", "description": "Fetch it", "params": []})
    edges = [
        {"source": FIRST, "target": thing, "type": "TOOL_DEPENDS_ON", "param": name}
        for thing in THINGS
        for name in ("day", None)
    ]
    round_about = {"source": "lamp", "target": FIRST, "type": "TOOL_DEPENDS_ON", "param": None}
    queries = [
        {"q": f"{word} {when}", "main": thing, "gold": [thing, FIRST]}
        for thing, word in _WORDS.items()
        for when in ("today", "on monday", "at once")
    ]
    return {"tools": tools, "edges": [*edges, round_about], "queries": queries}


def _in_a_row() -> dict[str, Any]:
    things = list(THINGS)
    tools = [
        {"id": thing, "name": f"do_{thing}", "description": told} for thing, told in THINGS.items()
    ]
    queries = [
        {
            "id": f"{first}-{second}-{when}",
            "q": f"{_WORDS[first]} {when} and then {_WORDS[second]}",
            "gold": [first, second],
        }
        for first, second in pairwise(things)
        for when in ("today", "on monday", "soon")
    ]
    return {"tools": tools, "queries": queries}


def write_wishes(folder: Path) -> Path:
    """Where `--data` is to point."""
    write_sets(folder)
    nested = nestful()
    for part in nested.values():
        for number, each in enumerate(part["data"]):
            each["input"] = f"find a boat and rent it for {number} hours"
    files = {
        "toollinkos": _link(),
        "ultratool_plans": _in_a_row(),
        "tmdb_plans": _in_a_row(),
        "nestful_v1": nested,
        "sealtools_raw": _seal(folder / "tool-search" / "sealtools_raw.json"),
    }
    for name, told in files.items():
        file = folder / "tool-search" / f"{name}.json"
        file.write_text(json.dumps(told), encoding="utf-8")
    return folder


def _seal(file: Path) -> dict[str, Any]:
    """As it is searched, with what whoever reads its plans looks for."""
    told = json.loads(file.read_text("utf-8"))
    call: dict[str, Any] = {"parameters": {}, "responses": []}
    return {
        "tools": [{**each, "responses": {}, "required": []} for each in told["tools"]],
        "queries": [
            {**each, "calling": [{**one, **call} for one in each["calling"]]}
            for each in told["queries"]
        ],
    }
