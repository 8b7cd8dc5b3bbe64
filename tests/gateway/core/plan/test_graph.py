"""What needs what, in what order, and what takes longest."""

from collections.abc import Sequence

from portico.gateway.core.plan.graph import Graph, Need, critical_path, graph_of
from portico.gateway.core.plan.reading import read_plan
from portico.kernel.json import JsonObject, JsonValue
from tests.gateway.core.plan.naive import EXPRESSIONS


def step(name: str, *needs: str, **fields: JsonValue) -> JsonObject:
    given = {other: {"$from": f"{other}.text"} for other in needs}
    return {"id": name, "tool": f"t.{name}", "arguments": given, **fields}


def graph(*steps: JsonObject) -> Graph:
    return graph_of(read_plan({"steps": list(steps)}, EXPRESSIONS), EXPRESSIONS)


DIAMOND: Sequence[JsonObject] = (
    step("end", "left", "right"),
    step("left", "top"),
    step("right", "top"),
    step("top"),
)


def test_needs_are_what_is_referred_to_asked_about_and_waited_for() -> None:
    found = graph(
        step("a"),
        step("b", for_each={"in": {"$from": "a.json", "default": []}}, when="a.json"),
        {**step("c", after=["a"]), "arguments": {"x": {"$from": "b.items[0].text"}}},
    )

    assert found.needs["b"] == (
        Need("b", "a", "/for_each/in/$from", must=False),
        Need("b", "a", "/when", must=False),
    )
    assert found.needs["c"] == (
        Need("c", "b", "/arguments/x/$from"),
        Need("c", "a", "/after/0", given=False, must=False),
    )
    assert found.before == {"a": (), "b": ("a",), "c": ("b", "a")}


def test_the_order_lets_nothing_come_before_what_it_needs() -> None:
    found = graph(*DIAMOND)

    assert found.order == ("top", "left", "right", "end")
    assert found.last == ("end",)


def test_whoever_needs_a_step_waits_for_those_that_stand_in_for_it() -> None:
    found = graph(
        step("a", on_error={"fallback": "f"}),
        step("f", on_error={"fallback": "g"}),
        step("g"),
        step("end", "a"),
    )

    assert found.before == {"a": (), "f": ("a",), "g": ("f",), "end": ("a", "f", "g")}
    assert found.stands_in_for == {"f": "a", "g": "f"}
    assert found.last == ("end",)


def test_downstream_is_all_that_waits_for_it() -> None:
    found = graph(*DIAMOND, step("alone"))

    assert found.downstream(["left"]) == {"left", "end"}
    assert found.downstream(["top", "alone"]) == {"top", "left", "right", "end", "alone"}


def test_the_critical_path_is_the_slowest_chain() -> None:
    seconds = {"top": 1.0, "left": 5.0, "right": 2.0, "end": 1.0}

    found = critical_path(graph(*DIAMOND), lambda name: seconds[name])

    assert (found.steps, found.seconds) == (("top", "left", "end"), 7.0)


def test_who_stands_in_is_not_on_it() -> None:
    steps = (step("slow"), step("a", on_error={"fallback": "f"}), step("f", "slow"), step("b", "a"))

    found = critical_path(graph(*steps), lambda name: 10.0 if name in {"slow", "f"} else 1.0)

    assert (found.steps, found.seconds) == (("slow",), 10.0)
