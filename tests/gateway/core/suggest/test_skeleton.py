"""What is kept of a plan: where its arguments came from, and nothing that is somebody's."""

from datetime import timedelta

import pytest

from portico.gateway.core.plan.plan import ForEach, Given, Plan, Reference, Step, Template
from portico.gateway.core.suggest.intent import Kind
from portico.gateway.core.suggest.skeleton import (
    Constant,
    FromIntent,
    Kept,
    PastStep,
    Unknown,
    listed_values,
    skeleton_of,
)
from portico.gateway.core.suggest.skeleton_document import read_skeleton, skeleton_document
from portico.gateway.core.tool import ToolRef
from portico.kernel.json import JsonObject, JsonValue

INTENT = "Read /srv/a.md for Ana, 12 pages of it as draft, and send it to ana@example.com"
FIND = ToolRef("fs", "find")


def kept(
    given: Given, *, name: str = "x", listed: dict[str, list[JsonValue]] | None = None
) -> Kept:
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
def test_an_argument_is_kept_as_where_it_came_from(given: Given, is_kept: Kept) -> None:
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
