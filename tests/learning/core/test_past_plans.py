"""What is kept of a plan: where its arguments came from, and nothing that is somebody's."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.intents import Kind
from portico.learning.core.past_plans import (
    Constant,
    FromIntent,
    PastStep,
    StoredArgument,
    Unknown,
    listed_values,
    read_skeleton,
    restored,
    skeleton_document,
    skeleton_of,
    stored,
    with_inputs,
)
from portico.testing.memory_store import BEGINNING, SeededEntropy
from portico.workflows.core.plan import ArgumentTemplate, ForEach, Plan, Reference, Step, Template
from portico.workflows.core.plan_documents import read_plan

INTENT = "Read /srv/a.md for Ana, 12 pages of it as draft, and send it to ana@example.com"
FIND = ToolRef("fs", "find")


def kept(
    given: ArgumentTemplate, *, name: str = "x", listed: dict[str, list[JsonValue]] | None = None
) -> StoredArgument:
    plan = Plan(steps=(Step(id="a", tool=FIND), Step(id="b", tool=FIND, arguments={name: given})))
    return skeleton_of(plan, INTENT, listed)[1].arguments[name]


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [
        ("/srv/a.md", FromIntent(Kind.PATH, 0)),
        ("ana@example.com", FromIntent(Kind.EMAIL, 0)),
        (12, FromIntent(Kind.NUMBER, 0)),
        ("12", FromIntent(Kind.NUMBER, 0, as_text=True)),
        (True, Constant(True)),
        (None, Constant(None)),
        (5, Constant(5)),
        (0.5, Constant(0.5)),
        (1234.56, Unknown()),
        (70123, Unknown()),
        ("asc", Constant("asc")),
        ("draft", Unknown()),
        ("a letter of somebody's", Unknown()),
        ("alice", Unknown()),
        ("fired", Unknown()),
        (9_999, Unknown()),
        (Reference("a", "json.items[0].id"), Reference("s1", "json.items[0].id")),
        (Reference("a"), Reference("s1")),
        (Reference("a", "json.items[?name=='Ana']"), Unknown()),
        (Reference("a", "json.ana_1234567"), Unknown()),
        (Reference("a", "json.id", "somebody", has_default=True), Unknown()),
        (Reference("inputs", "id"), Unknown()),
        (Template(["Dear ", Reference("a", "json.name")]), Unknown()),
        (["one", "two"], Unknown()),
    ],
)
def test_an_argument_is_kept_as_where_it_came_from(
    given: ArgumentTemplate, is_kept: StoredArgument
) -> None:
    assert kept(given) == is_kept


def test_what_the_tools_own_definition_names_is_kept() -> None:
    listed: dict[str, list[JsonValue]] = {"fs.find#x": ["descending", 1]}

    assert kept("descending", listed=listed) == Constant("descending")
    assert kept("ascending", listed=listed) == Unknown()
    assert kept(True, listed=listed) == Constant(True)


def test_steps_are_numbered_and_nothing_is_left_of_what_they_were_called() -> None:
    plan = Plan(
        steps=(
            Step(id="anas_letter", tool=FIND, arguments={"ana@example.com": 1}),
            Step(id="then", tool=FIND, after=("anas_letter",)),
        )
    )

    assert skeleton_of(plan, "whatever") == [
        PastStep("s1", "fs.find", {}, ()),
        PastStep("s2", "fs.find", {}, ("s1",)),
    ]


def test_what_is_done_many_times_or_stands_in_is_kept_without_its_arguments() -> None:
    plan = Plan(
        steps=(
            Step(id="a", tool=FIND, for_each=ForEach(over=[1, 2]), arguments={"x": Reference("b")}),
            Step(id="b", tool=FIND, timeout=timedelta(1), arguments={"x": Reference("a", "items")}),
            Step(id="c", tool=FIND, after=("a", "b")),
        )
    )

    first, second, third = skeleton_of(plan, "whatever")

    assert first.arguments == second.arguments == {"x": Unknown()}
    assert third.after == ("s2",)


def test_a_step_knows_which_steps_feed_it() -> None:
    step = PastStep("s3", "fs.find", {"x": Reference("s1"), "y": Reference("s1"), "z": Unknown()})

    assert step.fed_by == ["s1"]


def test_values_of_a_definition_are_those_that_it_names() -> None:
    schema: JsonObject = {
        "properties": {
            "order": {"enum": ["up", ["no"]], "default": "up"},
            "size": {"const": 3, "examples": "none"},
            "free": {"type": "string"},
            "odd": True,
        }
    }

    assert listed_values("fs.find", schema) == {
        "fs.find#order": ["up", "up"],
        "fs.find#size": [3],
    }
    assert listed_values("fs.find", {"properties": []}) == {}


def test_a_skeleton_is_read_as_it_was_written() -> None:
    steps = [
        PastStep(
            "s1",
            "fs.find",
            {
                "a": FromIntent(Kind.PATH, 1),
                "b": FromIntent(Kind.NUMBER, 0, as_text=True),
                "c": Constant(None),
                "d": Reference("s0", "json.id"),
                "e": Unknown(),
            },
            ["s0"],
        )
    ]

    assert read_skeleton(skeleton_document(steps)) == steps


@pytest.mark.parametrize(
    "document",
    [
        "steps",
        {"steps": []},
        ["step"],
        [{"id": "s1"}],
        [{"id": 1, "tool": "a.b"}],
        [{"id": "s1", "tool": "a.b", "arguments": {"x": {"intent": "path"}}}],
        [{"id": "s1", "tool": "a.b", "arguments": {"x": {"intent": "smell", "number": 0}}}],
        [{"id": "s1", "tool": "a.b", "after": 3}],
    ],
)
def test_what_is_no_skeleton_is_refused(document: JsonValue) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_skeleton(document)


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
