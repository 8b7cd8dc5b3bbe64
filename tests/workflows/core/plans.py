"""Any plan that can be carried out, and tools for it that always do the same with the same."""

from collections.abc import Sequence
from random import Random
from typing import Any
from zlib import crc32

from hypothesis import strategies as st

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.workflows.core.plan import Plan
from portico.workflows.core.plan_documents import read_plan
from tests.workflows.core.naive import EXPRESSIONS

INPUTS: JsonObject = {"who": "Ada", "count": 3, "list": [1, "two", {"three": 3}]}
_SCHEMAS: JsonObject = {name: {} for name in INPUTS}
_PATHS = ("json.list", "json.number", "text", "json.echo.a", "json.nothing", "content[0].text")
_LISTS = ("json.list", "json.list", "json.number", "json.nothing")
_PLAIN: Sequence[JsonValue] = (1, "x", None, [1, 2.5], {"$literal": {"$from": 1}}, {"a": {}})


def plan_documents(most: int = 8) -> st.SearchStrategy[JsonObject]:
    """By a number, and as many steps as it takes: a plan is drawn in no time, and can be again."""
    seeds, counts = st.integers(0, 2**32), st.integers(1, most)
    return st.builds(lambda count, seed: _Drawing(Random(seed)).document(count), counts, seeds)


def plans(most: int = 8) -> st.SearchStrategy[Plan]:
    return plan_documents(most).map(lambda document: read_plan(document, EXPRESSIONS))


def without_stops(document: JsonObject) -> JsonObject:
    """The same, but whatever fails is only left out."""
    steps: Any = document["steps"]
    return {**document, "steps": [_without_stop(step) for step in steps]}


def _without_stop(step: JsonObject) -> JsonObject:
    stops = step.get("on_error", "stop") == "stop"
    return {**step, "on_error": "skip"} if stops else step


class _Drawing:
    """Each step looks only at those drawn before it; they are written in another order."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._earlier: list[str] = []
        self._many: set[str] = set()

    def document(self, count: int) -> JsonObject:
        steps: list[JsonObject] = []
        for number in range(count):
            step = self._step(f"s{number}")
            if "for_each" in step:
                self._many.add(f"s{number}")
            if self._one_in(4):
                step["on_error"] = {"fallback": f"f{number}"}
                stand_in = self._step(f"f{number}")
                # What it gives has the form that the first would have given.
                stand_in.pop("for_each", None)
                more: JsonObject = {"for_each": {"in": [1, 2]}} if "for_each" in step else {}
                steps.append({**stand_in, **more})
            steps.append(step)
            self._earlier.append(f"s{number}")
        self._chance.shuffle(steps)
        document: JsonObject = {"inputs": _SCHEMAS, "steps": steps}
        return {**document, "output": self._given()} if self._one_in(2) else document

    def _one_in(self, count: int) -> bool:
        return self._chance.randrange(count) == 0

    def _step(self, name: str) -> dict[str, JsonValue]:
        step: dict[str, JsonValue] = {"id": name, "tool": f"demo.t{self._chance.randrange(4)}"}
        names = self._chance.sample("abc", self._chance.randrange(4))
        step["arguments"] = {each: self._given() for each in names}
        if self._one_in(4):
            over = [1, 2] if self._one_in(3) else self._reference(_LISTS)
            step["for_each"] = {"in": over, "most": 5}
        if self._earlier and self._one_in(4):
            step["when"] = self._condition()
        if self._earlier and self._one_in(3):
            step["after"] = self._chance.choices(self._earlier, k=2)
        if self._one_in(2):
            step["on_error"] = self._chance.choice(["stop", "skip", "skip"])
        return step

    def _given(self) -> JsonValue:
        match self._chance.randrange(6):
            case 0:
                return self._chance.choice(_PLAIN)
            case 1:
                return {"$text": f"<${{{self._path(_PATHS)}}}> for $${{"}
            case 2:
                return {"deep": [self._reference(_PATHS)]}
            case _:
                return self._reference(_PATHS)

    def _reference(self, paths: Sequence[str]) -> JsonValue:
        reference: JsonObject = {"$from": self._path(paths)}
        return {**reference, "default": [7]} if self._one_in(2) else reference

    def _path(self, paths: Sequence[str]) -> str:
        if not self._earlier or self._one_in(4):
            return f"inputs.{self._chance.choice(list(INPUTS))}"
        return self._of(self._chance.choice(self._earlier), self._chance.choice(paths))

    def _of(self, name: str, path: str) -> str:
        return f"{name}.items[0].{path}" if name in self._many else f"{name}.{path}"

    def _condition(self) -> str:
        name = self._chance.choice(self._earlier)
        if self._one_in(2):
            return f"!{name} || inputs.count == `3`"
        return f"{self._of(name, 'json.number')} > `3`"


def steady(ref: ToolRef, arguments: JsonObject) -> ToolResult:
    """A tool that fails one time in five, always with the same arguments."""
    seed = crc32(str(ref).encode() + canonical(arguments))
    if seed % 5 == 0:
        return ToolResult([{"type": "text", "text": "no"}], failed=True)
    said: JsonObject = {"list": [seed % 7, "x"], "number": seed % 11, "echo": arguments}
    if seed % 3:
        return ToolResult([{"type": "text", "text": f"said {seed % 97}"}], structured=said)
    return ToolResult([{"type": "text", "text": canonical(said).decode()}])
