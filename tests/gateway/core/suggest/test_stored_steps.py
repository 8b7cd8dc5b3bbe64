"""Past plans are kept by the ids of servers and the numbers of steps, and come back by names."""

from collections.abc import Callable

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.learnt import ToolPlace
from portico.gateway.core.plan.plan import Reference
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.server import ServerId
from portico.gateway.core.suggest.skeleton import Constant, PastStep, Unknown
from portico.gateway.core.suggest.stored_steps import restored, stored, with_inputs
from portico.kernel.json import JsonObject
from portico.testing.kernel import BEGINNING, SeededEntropy

FILES = ServerId.mint(BEGINNING, SeededEntropy("files"))
STEPS = [
    PastStep("annas_salary", "files.list", {"depth": Constant(2)}),
    PastStep(
        "then",
        "files.read.me",
        {"path": Reference("annas_salary", "json.a"), "what": Unknown()},
        ("annas_salary",),
    ),
    PastStep("last", "files.list", {}, ("then",)),
]


def place(tool: str) -> ToolPlace | None:
    server, _, name = tool.partition(".")
    return ToolPlace(FILES, name) if server == "files" else None


def named(server: str) -> Callable[[ToolPlace], str | None]:
    return lambda at: f"{server}.{at.tool}" if at.server == FILES else None


def test_a_plan_is_kept_by_ids_and_numbers_and_comes_back_by_the_names_of_today() -> None:
    kept = stored(STEPS, place)

    assert "salary" not in str(kept)
    assert str(FILES.value) in str(kept)
    assert restored(kept, named("notes")) == [
        PastStep("s1", "notes.list", {"depth": Constant(2)}, []),
        PastStep("s2", "notes.read.me", {"path": Reference("s1", "json.a"), "what": Unknown()}, []),
        PastStep("s3", "notes.list", {}, ["s2"]),
    ]


def test_a_plan_with_a_tool_that_is_gone_is_not_kept() -> None:
    assert stored([*STEPS, PastStep("mail", "mail.send")], place) is None


def test_a_plan_with_a_tool_that_somebody_may_not_know_of_is_not_there_for_them() -> None:
    assert restored(stored(STEPS, place), lambda _: None) is None
    assert (
        restored(stored(STEPS, place), lambda at: "files.list" if at.tool == "list" else None)
        is None
    )


def test_what_cannot_be_read_is_no_plan() -> None:
    assert restored("nonsense", named("files")) is None
    assert restored([{"id": "a", "tool": "no-uuid.read"}], named("files")) is None


def test_what_a_plan_was_given_stands_in_the_place_of_what_refers_to_it() -> None:
    document: JsonObject = {
        "inputs": {"path": {}, "other": {}},
        "steps": [
            {
                "id": "read",
                "tool": "files.read",
                "arguments": {
                    "path": {"$from": "inputs.path"},
                    "other": {"$from": "inputs.other"},
                    "head": 3,
                },
            },
            {"id": "then", "tool": "files.read", "arguments": {"path": {"$from": "read.text"}}},
        ],
    }
    plan = read_plan(document, JmespathExpressions())

    told = with_inputs(plan, {"path": "/a"})

    assert told.steps[0].arguments == {
        "path": "/a",
        "other": Reference("inputs", "other"),
        "head": 3,
    }
    assert told.steps[1].arguments == {"path": Reference("read", "text")}
