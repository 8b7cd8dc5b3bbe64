"""Questions whose right tools are known, from five published sets."""

import json
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from portico.gateway.core.search_text import ToolText

LIVE, LINK, SEAL, META, ULTRA = "live", "link", "seal", "meta", "ultra"
MULTI: Final = "meta-multi"
"""MetaTool's questions for two tools: to learn from, never when MetaTool is held out."""
FIVE: Final = (LIVE, LINK, SEAL, META, ULTRA)
FILES: Final = (
    "livemcpbench.json",
    "toollinkos.json",
    "sealtools_raw.json",
    "metatool.json",
    "ultratool_plans.json",
)
_LONGEST_QUESTION: Final = 2_000
_STEP: Final = re.compile(r"\n\s*\d+[.)]\s*|^\s*\d+[.)]\s*")

Gold = tuple[frozenset[int], ...]
"""What is to be found; any tool of a group will do for it."""


@dataclass(frozen=True, slots=True)
class ToolSet:
    name: str
    tools: tuple[ToolText, ...]
    questions: tuple[str, ...]
    gold: tuple[Gold, ...]
    steps: tuple[tuple[str, ...], ...] = ()
    """Each question as its annotators took it apart, where they did."""


def missing_files(folder: Path) -> list[str]:
    return [name for name in FILES if not (folder / name).is_file()]


def evenly(count: int, most: int) -> Sequence[int]:
    """At most so many of them, spread over all."""
    return [place * count // most for place in range(most)] if count > most else range(count)


def read_sets(folder: Path) -> Mapping[str, ToolSet]:
    live, link, seal, meta, ultra = (_read(folder / name) for name in FILES)
    draw = random.Random(7)  # noqa: S311 # a fixed sample, so that figures can be compared
    read = [_live(live), _link(link), _seal(seal), *_meta(meta, draw), _ultra(ultra, draw)]
    return {each.name: each for each in read}


def _read(file: Path) -> Any:  # noqa: ANN401 # five shapes, known to the five readers below
    return json.loads(file.read_text(encoding="utf-8"))


def _live(told: Any) -> ToolSet:  # noqa: ANN401 # as it lies in the file
    """A gold tool is known by its name alone: several servers may have one of that name."""
    named: dict[str, set[int]] = defaultdict(set)
    for place, tool in enumerate(told["tools"]):
        named[tool["name"].lower()].add(place)
    asked = [each for each in told["queries"] if each["gold"]]
    wanted = [dict.fromkeys(name.lower() for name in each["gold_names"]) for each in asked]
    return ToolSet(
        LIVE,
        tuple(_live_tool(tool) for tool in told["tools"]),
        tuple(each["q"][:_LONGEST_QUESTION] for each in asked),
        tuple(tuple(frozenset(named[name]) for name in names if name in named) for names in wanted),
        tuple(_steps(each.get("steps") or "") for each in asked),
    )


def _live_tool(tool: Mapping[str, Any]) -> ToolText:
    properties = (tool["input_schema"] or {}).get("properties") or {}
    return ToolText(
        ref=f"{tool['server']}.{tool['name']}",
        server=tool["server"],
        name=tool["name"],
        description=tool["description"] or "",
        parameters=tuple(
            (name, str(schema.get("description") or "") if isinstance(schema, Mapping) else "")
            for name, schema in properties.items()
        ),
        about_server=tool.get("server_desc") or "",
    )


def _steps(text: str) -> tuple[str, ...]:
    return tuple(step.strip() for step in _STEP.split(text) if step and step.strip())


def _link(told: Any) -> ToolSet:  # noqa: ANN401 # as it lies in the file
    place = _places(told["tools"])
    tools = [
        _tool(tool, [(each["name"], each.get("description") or "") for each in tool["params"]])
        for tool in told["tools"]
    ]
    asked = told["queries"]
    return ToolSet(
        LINK,
        tuple(tools),
        tuple(each["q"] for each in asked),
        tuple((frozenset({place[each["main"]]}),) for each in asked),
    )


def _seal(told: Any) -> ToolSet:  # noqa: ANN401 # as it lies in the file
    place = _places(told["tools"])
    tools = [
        _tool(tool, [(k, v.get("description") or "") for k, v in tool["params"].items()])
        for tool in told["tools"]
    ]
    wanted = [
        (each["query"], [call["api"] for call in each["calling"]]) for each in told["queries"]
    ]
    return _gathered(SEAL, tools, place, wanted)


def _meta(told: Any, draw: random.Random) -> Sequence[ToolSet]:  # noqa: ANN401 # as it lies there
    place, tools = _places(told["tools"]), [_tool(tool, []) for tool in told["tools"]]
    single = [(each["q"], each["gold"]) for each in told["queries"] if each["gold"][0] in place]
    several = [(each["q"], each["gold"]) for each in told["multi"]]
    return (
        _gathered(META, tools, place, draw.sample(single, min(1_500, len(single)))),
        _gathered(MULTI, tools, place, several),
    )


def _ultra(told: Any, draw: random.Random) -> ToolSet:  # noqa: ANN401 # as it lies in the file
    place, tools = _places(told["tools"]), [_tool(tool, []) for tool in told["tools"]]
    known = [each for each in told["queries"] if all(gold in place for gold in each["gold"])]
    drawn = draw.sample(known, min(1_000, len(known)))
    wanted = [(each["q"], each["gold"]) for each in drawn]
    return _gathered(ULTRA, tools, place, wanted)


def _gathered(
    name: str,
    tools: Sequence[ToolText],
    place: Mapping[str, int],
    wanted: Sequence[tuple[str, Sequence[str]]],
) -> ToolSet:
    """Without the questions that ask for a tool which is not in the set."""
    known = [(text, gold) for text, gold in wanted if all(each in place for each in gold)]
    return ToolSet(
        name,
        tuple(tools),
        tuple(text for text, _ in known),
        tuple(tuple(frozenset({place[each]}) for each in dict.fromkeys(gold)) for _, gold in known),
    )


def _places(tools: Sequence[Mapping[str, Any]]) -> Mapping[str, int]:
    return {tool["id"]: place for place, tool in enumerate(tools)}


def _tool(tool: Mapping[str, Any], parameters: Sequence[tuple[str, str]]) -> ToolText:
    return ToolText(
        ref=str(tool["id"]),
        server="",
        name=tool["name"],
        description=tool["description"],
        parameters=tuple(parameters),
        about_server="",
    )
