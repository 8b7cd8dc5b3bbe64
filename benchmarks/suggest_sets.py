"""Plans with the words that they are for, from six published sets."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.edge_sets import FOUR, GoldPlan, read_plans
from portico.gateway.core.search_text import ToolText
from portico.learning.core.dataflow_fields import Parameter
from portico.learning.core.intents import Offered
from portico.learning.core.past_plans import PastStep
from portico.workflows.core.plan import Reference, topological

LINK, ULTRA, TMDB = "toollinkos", "ultratool", "tmdb"
NESTFUL: Final = FOUR[:3]
_SERVER: Final = "set"
"""Tools are called by their server and their name; these have none."""
FILES: Final = (
    "toollinkos.json",
    "ultratool_plans.json",
    "tmdb_plans.json",
    "nestful_v1.json",
    "sealtools_raw.json",
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A plan, and what it is for."""

    intent: str
    steps: tuple[PastStep, ...]
    about: str
    """What may not be seen while this is asked for: other plans for the same tool."""
    told: tuple[Mapping[str, str], ...] = ()
    """What each step was told, references as they are written there; where that is known."""

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(step.tool for step in self.steps)


@dataclass(frozen=True, slots=True)
class SuggestSet:
    name: str
    tools: tuple[ToolText, ...]
    offered: Mapping[str, Offered]
    plans: tuple[Wanted, ...]


def missing_files(folder: Path) -> list[str]:
    return [name for name in FILES if not (folder / name).is_file()]


def read_wanted(folder: Path) -> Mapping[str, SuggestSet]:
    """Seal-Tools' file is only there because what reads NESTFUL's plans reads both."""
    link, ultra, tmdb, nestful = (_read(folder / name) for name in FILES[:4])
    gold = read_plans(folder)
    read = [
        _link(link),
        _in_a_row(ULTRA, ultra),
        _in_a_row(TMDB, tmdb),
        *(_nestful(name, _part(nestful, name), gold[name].plans) for name in NESTFUL),
    ]
    return {each.name: each for each in read}


def _read(file: Path) -> Any:  # noqa: ANN401 # four shapes, known to the readers below
    return json.loads(file.read_text("utf-8"))


def _part(told: Any, name: str) -> Any:  # noqa: ANN401 # as it lies in the file
    return told[name.removeprefix("nestful_")]


def _link(told: Any) -> SuggestSet:  # noqa: ANN401 # as it lies in the file
    """Which tools a request needs is told as a set; what its plan says of their order is what the
    set's graph says of these tools: a run would show as much."""
    edges: dict[str, list[tuple[str, str | None]]] = {}
    for edge in told["edges"]:
        edges.setdefault(edge["target"], []).append((edge["source"], edge["param"]))
    plans = [
        Wanted(each["q"], tuple(_link_steps(each["gold"], edges)), _ref(each["main"]))
        for each in told["queries"]
    ]
    tools = [
        Offered(
            tool=_ref(each["id"]),
            parameters=[
                Parameter(name=one["name"], required=bool(one.get("required")))
                for one in each["params"]
            ],
        )
        for each in told["tools"]
    ]
    return SuggestSet(
        LINK, _texts(told["tools"]), {each.tool: each for each in tools}, tuple(plans)
    )


def _link_steps(
    tools: Sequence[str], edges: Mapping[str, Sequence[tuple[str, str | None]]]
) -> Iterator[PastStep]:
    own = {
        tool: [(giver, name) for giver, name in edges.get(tool, ()) if giver in tools]
        for tool in tools
    }
    before = {tool: list(dict.fromkeys(giver for giver, _ in own[tool])) for tool in tools}
    order = topological(before)
    for tool in (*order, *(each for each in tools if each not in order)):
        fed = {name: Reference(giver) for giver, name in own[tool] if name}
        yield PastStep(tool, _ref(tool), fed, tuple(before[tool]))


def _in_a_row(name: str, told: Any) -> SuggestSet:  # noqa: ANN401 # as it lies in the file
    """Tools one after the other; what each gives to the next is not told."""
    texts = _texts(told["tools"])
    plans = [
        Wanted(each["q"], tuple(_row(each["gold"])), str(each["id"])) for each in told["queries"]
    ]
    return SuggestSet(
        name, texts, {each.ref: Offered(tool=each.ref) for each in texts}, tuple(plans)
    )


def _row(tools: Sequence[str]) -> Iterator[PastStep]:
    for place, tool in enumerate(tools):
        yield PastStep(str(place), _ref(tool), {}, (str(place - 1),) if place else ())


def _nestful(name: str, told: Any, gold: Sequence[GoldPlan]) -> SuggestSet:  # noqa: ANN401 # as it lies in the file
    texts = _texts(told["spec"])
    offered: dict[str, Offered] = {each.ref: Offered(tool=each.ref) for each in texts}
    for plan in gold:
        for step in plan.steps:
            offered[_ref(step.tool)] = Offered(tool=_ref(step.tool), parameters=step.wanted)
    asked = [each for each in told["data"] if each["output"]]
    plans = [
        Wanted(each["input"], tuple(_nested(plan)), f"{place}", _told(each["output"], plan))
        for place, (each, plan) in enumerate(zip(asked, gold, strict=True))
    ]
    return SuggestSet(name, texts, offered, tuple(plans))


def _nested(plan: GoldPlan) -> Iterator[PastStep]:
    for place, step in enumerate(plan.steps):
        fed = {
            name: Reference(str(giver), f"json.{field}" if field else "")
            for (giver, taker, name), field in plan.gold.items()
            if taker == place
        }
        yield PastStep(str(place), _ref(step.tool), fed)


def _told(output: Any, plan: GoldPlan) -> tuple[Mapping[str, str], ...]:  # noqa: ANN401 # as it lies in the file
    calls = json.loads(output) if isinstance(output, str) else output
    return tuple(
        {name: str(value) for name, value in (call["arguments"] or {}).items()}
        for call in calls[: len(plan.steps)]
    )


def _texts(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolText, ...]:
    return tuple(
        ToolText(
            ref=_ref(each.get("id", each["name"])),
            server="",
            name=each["name"],
            description=each["description"],
            parameters=tuple(
                (one["name"], one.get("description") or "") for one in each.get("params", ())
            ),
            about_server="",
        )
        for each in tools
    )


def _ref(name: str) -> str:
    return f"{_SERVER}.{name}"
