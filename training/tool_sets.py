"""Five public sets of questions with the tools that answer them, read from their JSON files."""

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from portico.gateway.core.search_text import ToolText, dense_text

NAMES: Final = ("live", "link", "seal", "meta", "ultra")
_MOST_QUESTIONS: Final = 4_000
"""Of one set; the largest has twenty thousand, of one kind."""
_LONGEST_QUESTION: Final = 2_000


@dataclass(frozen=True, slots=True)
class ToolSet:
    name: str
    texts: Sequence[str]
    questions: Sequence[str]
    gold: Sequence[Sequence[Sequence[int]]]
    """For each question: each tool that it needs, as the places where it can be found."""


def read_set(folder: Path, name: str) -> ToolSet:
    tools, asked = _READERS[name](folder)
    kept = [(question, gold) for question, gold in asked if gold]
    if len(kept) > _MOST_QUESTIONS:
        kept = random.Random(7).sample(kept, _MOST_QUESTIONS)
    texts = [dense_text(tool) for tool in tools]
    return ToolSet(name, texts, [each for each, _ in kept], [each for _, each in kept])


Read = tuple[list[ToolText], list[tuple[str, list[list[int]]]]]


def _live(folder: Path) -> Read:
    """A tool is right by its name, whichever server has it."""
    found = _json(folder / "livemcpbench.json")
    places: dict[str, list[int]] = defaultdict(list)
    for place, tool in enumerate(found["tools"]):
        places[tool["name"].lower()].append(place)
    asked = [
        (each["q"][:_LONGEST_QUESTION], [places[name] for name in _names(each) if name in places])
        for each in found["queries"]
    ]
    tools = [
        _tool(each, server=each["server"], parameters=_properties(each["input_schema"]))
        for each in found["tools"]
    ]
    return tools, asked


def _names(question: dict[str, Any]) -> Iterator[str]:
    return iter(dict.fromkeys(name.lower() for name in question["gold_names"]))


def _link(folder: Path) -> Read:
    found = _json(folder / "toollinkos.json")
    places = _places(found)
    tools = [
        _tool(each, parameters=[(part["name"], part.get("description")) for part in each["params"]])
        for each in found["tools"]
    ]
    return tools, [(each["q"], [[places[each["main"]]]]) for each in found["queries"]]


def _seal(folder: Path) -> Read:
    found = _json(folder / "sealtools_raw.json")
    places = _places(found)
    tools = [
        _tool(
            each,
            parameters=[(name, part.get("description")) for name, part in each["params"].items()],
        )
        for each in found["tools"]
    ]
    asked = [
        (each["query"], _all([call["api"] for call in each["calling"]], places))
        for each in found["queries"]
    ]
    return tools, asked


def _meta(folder: Path) -> Read:
    found = _json(folder / "metatool.json")
    places = _places(found)
    asked = [(each["q"], _all(each["gold"], places)) for each in found["multi"] + found["queries"]]
    return [_tool(each) for each in found["tools"]], asked


def _ultra(folder: Path) -> Read:
    found = _json(folder / "ultratool_plans.json")
    places = _places(found)
    asked = [(each["q"], _all(each["gold"], places)) for each in found["queries"]]
    return [_tool(each) for each in found["tools"]], asked


_READERS: Final = {"live": _live, "link": _link, "seal": _seal, "meta": _meta, "ultra": _ultra}


def _all(names: Sequence[str], places: dict[str, int]) -> list[list[int]]:
    """None if one of them is not in the catalogue."""
    if any(name not in places for name in names):
        return []
    return [[places[name]] for name in dict.fromkeys(names)]


def _places(found: dict[str, Any]) -> dict[str, int]:
    return {each["id"]: place for place, each in enumerate(found["tools"])}


def _tool(
    tool: dict[str, Any], *, server: str = "", parameters: Sequence[tuple[str, Any]] = ()
) -> ToolText:
    return ToolText(
        ref=tool["name"],
        server=server,
        name=tool["name"],
        description=tool["description"] or "",
        parameters=tuple((name, str(told or "")) for name, told in parameters),
        about_server="",
    )


def _properties(schema: dict[str, Any] | None) -> list[tuple[str, Any]]:
    found = (schema or {}).get("properties") or {}
    return [
        (name, part.get("description") if isinstance(part, dict) else None)
        for name, part in found.items()
    ]


def _json(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_bytes())
    return found
