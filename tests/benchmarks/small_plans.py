"""Plans of a handful of calls each, in the form of the published files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FIND = {
    "name": "find_boat",
    "description": "Find a boat on a lake",
    "query_parameters": {"lake": {"type": "str", "description": "Which lake", "required": True}},
    "output_parameters": {
        "boat_id": {"type": "string", "description": "Which boat it is"},
        "oars": {"type": "int", "description": "How many oars it has"},
        "crew": {
            "type": "list",
            "items": {"properties": {"sailor": {"type": "str", "description": "Who rows"}}},
        },
        "odd": "not a schema",
    },
}
_RENT = {
    "name": "rent_boat",
    "description": "Rent a boat",
    "parameters": {
        "properties": {
            "boat_id": {"type": "string", "description": "The boat to rent"},
            "hours": {"type": "int", "description": "For how long", "default": 1},
            "colour": {"type": "string", "enum": ["red", "blue"]},
        }
    },
    "output_parameters": {"receipt": {"type": "string", "description": "What was paid"}},
}
_WRITE = {
    "name": "write_letter",
    "description": "Write a letter",
    "arguments": {"message": {"description": "What to write", "allowed_values": []}},
    "output_parameters": {},
}


def _nested(lake: str, hours: int) -> list[Mapping[str, Any]]:
    return [
        {"name": "find_boat", "arguments": {"lake": lake}, "label": "$var1"},
        {
            "name": "rent_boat",
            "arguments": {"boat_id": "$var1.boat_id$", "hours": hours},
            "label": "var2",
        },
        {"name": "write_letter", "arguments": {"message": "$var2$"}, "label": "var3"},
        {"name": "unheard_of", "arguments": {"sailor": "$var1.crew[0].sailor$"}, "label": "var4"},
        {"name": "var_result", "arguments": {"boat": "$var2$"}},
    ]


def nestful() -> Mapping[str, Any]:
    plans = [{"output": _nested(lake, hours)} for lake, hours in (("Garda", 2), ("Como", 3))]
    written = {"output": json.dumps(_nested("Iseo", 4))}
    part = {"spec": [_FIND, _RENT, _WRITE], "data": [*plans, written, {"output": []}]}
    return {"executable": part, "glaive": part, "sgd": part}


def _call(api: str, parameters: Mapping[str, Any], *responses: str) -> Mapping[str, Any]:
    return {"api": api, "parameters": parameters, "responses": responses}


def seal() -> Mapping[str, Any]:
    def a_tool(name: str, takes: str, gives: str) -> Mapping[str, Any]:
        return {
            "id": name,
            "description": f"{name} for {takes}",
            "params": {takes: {"type": "str", "description": takes}},
            "required": [takes],
            "responses": {gives: {"type": "str", "description": gives}},
        }

    nested = [
        _call("getPlant", {"garden": "mine"}, "API_call_0", "API_call_1"),
        _call("waterPlant", {"plant_name": "API_call_0"}, "API_call_2"),
        _call("tellFriend", {"news": "API_call_1 and API_call_2", "to": "API_call_9"}),
    ]
    return {
        "tools": [
            a_tool("getPlant", "garden", "plant_name"),
            a_tool("waterPlant", "plant_name", "litres"),
            a_tool("tellFriend", "news", "answer"),
        ],
        "queries": [{"calling": nested}, {"calling": [_call("getPlant", {"garden": "x"}, "a")]}],
    }


def link() -> Mapping[str, Any]:
    things = ("harbour", "lantern", "sail")
    givers = [
        {"id": f"get_{thing}", "description": f"Find the {thing}", "params": []} for thing in things
    ]
    takers = [
        {
            "id": f"{verb}_{thing}",
            "description": f"{verb} something with it",
            "params": [{"name": thing, "description": f"The {thing} to {verb}"}],
        }
        for thing in things
        for verb in ("paint", "sell", "show")
    ]
    edges = [
        {
            "source": f"get_{thing}",
            "target": f"{verb}_{thing}",
            "type": "PARAMETER_DIRECTLY_DEPENDS_ON",
            "param": thing,
        }
        for thing in things
        for verb in ("paint", "sell", "show")
    ]
    others = [
        {"source": "get_sail", "target": "paint_sail", "type": "TOOL_DEPENDS_ON", "param": "sail"},
        {"source": "gone", "target": "paint_sail", "type": "PARAMETER_X", "param": "sail"},
        {"source": "get_sail", "target": "paint_sail", "type": "PARAMETER_X", "param": None},
    ]
    return {"tools": [*givers, *takers], "edges": [*edges, *others]}


def write_plans(folder: Path) -> Path:
    """Where `--data` is to point."""
    there = folder / "tool-search"
    there.mkdir()
    files = {"nestful_v1.json": nestful(), "sealtools_raw.json": seal(), "toollinkos.json": link()}
    for name, told in files.items():
        (there / name).write_text(json.dumps(told), encoding="utf-8")
    return folder
