"""The plans of a storm: what they are, what comes of them, and what the outside must have seen."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.storm.plan_tools import ITEMS, WRITES

Json = dict[str, Any]


def step(name: str, tool: str, *, after: Sequence[str] = (), **more: Any) -> Json:
    """What it is given comes under `given`; nobody reads what a change gave, as a person who says
    that it was done cannot say what it answered."""
    given = more.pop("given", None)
    arguments: Json = {"plan": {"$from": "inputs.plan"}, "step": more.pop("called", name)}
    if given is not None:
        arguments["given"] = given
    made: Json = {"id": name, "tool": f"outside.{tool}", "arguments": arguments, **more}
    return {**made, "after": list(after)} if after else made


def of(name: str, path: str = "json.step", **more: Any) -> Json:
    return {"$from": f"{name}.{path}", **more}


def _each(name: str) -> Json:
    return {"$text": name + " ${item}"}


BIG: Json = {
    "name": "twenty-steps",
    "inputs": {"plan": {"type": "string"}},
    "required": ["plan"],
    "steps": [
        step("begin", "look"),
        step("trees", "list", given=of("begin")),
        step("see", "look", called=_each("see"), for_each={"in": of("trees", "json.items")}),
        step(
            "plant",
            "change",
            called=_each("plant"),
            for_each={"in": of("trees", "json.items"), "at_once": 2},
        ),
        step("note", "change", after=["plant"]),
        step("fell", "delete", after=["begin"]),
        step("after-fell", "look", after=["fell"]),
        step("breaks", "fail", on_error={"fallback": "spare"}),
        step("spare", "look"),
        step("uses", "look", given=of("breaks")),
        step("never", "look", when="begin.json.step == 'no'"),
        step("maybe", "fail", on_error="skip"),
        step("without", "look", given=of("maybe", default="nothing")),
        step("left", "look", given=of("begin")),
        step("right", "look", given=of("begin")),
        step("joined", "change", given=[of("left"), of("right")]),
        step("burn", "delete", after=["joined"]),
        step("sweep", "change", after=["burn"]),
        step("count", "look", given=of("see", "items[*].json.step"), after=["note"]),
        step(
            "end",
            "look",
            given={"uses": of("uses"), "without": of("without"), "count": of("count")},
            after=["sweep", "after-fell"],
        ),
    ],
    "output": {
        "end": of("end", "json"),
        "count": of("count", "json.given"),
        "fallback": of("breaks"),
    },
}
SMALL: Json = {
    "name": "six-steps",
    "inputs": {"plan": {"type": "string"}},
    "required": ["plan"],
    "steps": [
        step("begin", "look"),
        step("note", "change", given=of("begin")),
        step("breaks", "fail", on_error={"fallback": "spare"}),
        step("spare", "look"),
        step("fell", "delete", after=["note"]),
        step("end", "look", given=of("breaks"), after=["fell"]),
    ],
    "output": of("end", "json"),
}


def chain_of(steps: int, width: int) -> Json:
    """So many reads, `width` beside one another."""
    made = [
        step(f"s{each}", "look", given=of(f"s{each - width}") if each >= width else None)
        for each in range(steps)
    ]
    inputs: Json = {"plan": {"type": "string"}}
    return {"inputs": inputs, "required": ["plan"], "steps": made, "output": of(f"s{steps - 1}")}


def writes_of(plan: Json) -> Counter[str]:
    """By the names under which the outside hears of them."""
    found: Counter[str] = Counter()
    for each in plan["steps"]:
        if each["tool"].removeprefix("outside.") in WRITES:
            called = each["arguments"]["step"]
            if isinstance(called, str):
                found[called] += 1
            else:
                found.update(called["$text"].replace("${item}", item) for item in ITEMS)
    return found


def made_by(plan: str, calls: Iterable[Mapping[str, Any]]) -> tuple[Counter[str], Counter[str]]:
    """The changes and the reads that the outside has seen of one."""
    changes: Counter[str] = Counter()
    reads: Counter[str] = Counter()
    for call in calls:
        if call["plan"] == plan:
            (changes if call["tool"] in WRITES else reads)[call["step"]] += 1
    return changes, reads


def outcome(report: Json) -> Json:
    """What must be the same however often somebody died."""
    return {
        "status": report["status"],
        "output": report["output"],
        "steps": {each["id"]: each["state"] for each in report["steps"]},
    }
