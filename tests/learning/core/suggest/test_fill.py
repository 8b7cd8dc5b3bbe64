"""Arguments only from what is said and what was handed on before."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.search import whole
from portico.kernel.effect import Effect
from portico.learning.core.dataflow.shape import Parameter
from portico.learning.core.suggest.fill import Filled, From, MissingArgument, Origin, fill
from portico.learning.core.suggest.intent import Kind
from portico.learning.core.suggest.needs import Learnt
from portico.learning.core.suggest.offered import Offered
from portico.learning.core.suggest.past import PastPlan
from portico.learning.core.suggest.skeleton import Constant, FromIntent, Kept, PastStep, Unknown
from portico.workflows.core.plan import Given, Reference
from tests.learning.core.suggest.errands import (
    INTENT,
    LIST,
    READ,
    READ_AND_SEND,
    SEND,
    TOOLS,
    a_tool,
    wanted,
)

NOTHING = Learnt.of([])
TOOL = "a.tool"


def filled(
    intent: str, *parameters: Parameter, listed: Mapping[str, list[str]] | None = None
) -> Filled:
    tool = Offered(tool=TOOL, parameters=parameters, listed=listed or {})
    [found] = fill([PastStep("it", TOOL)], intent, NOTHING, {TOOL: tool})
    return found


def test_a_past_plan_is_filled_with_what_stands_in_this_intent() -> None:
    read, send = fill(READ_AND_SEND.steps, INTENT, NOTHING, TOOLS)

    assert read.arguments == {"path": "/srv/b.md"}
    assert send.arguments == {"recipient": "bob@example.com", "body": Reference("s1", "text")}
    assert send.origins == {
        "recipient": Origin(From.INTENT, "bob@example.com"),
        "body": Origin(From.STEP, "s1.text"),
    }
    assert not read.missing
    assert not send.missing


def test_what_this_intent_does_not_say_is_missing() -> None:
    read, send = fill(READ_AND_SEND.steps, "Read it and send it", NOTHING, TOOLS)

    assert read.missing == [MissingArgument("s1", "path")]
    assert send.missing == [MissingArgument("s2", "recipient")]
    assert "path" not in read.arguments


def test_constants_are_kept_and_numbers_that_were_texts_stay_texts() -> None:
    kept: dict[str, Kept] = {
        "order": Constant("asc"),
        "page": FromIntent(Kind.NUMBER, 0, as_text=True),
        "size": FromIntent(Kind.NUMBER, 0),
        "other": Unknown(),
    }
    [found] = fill([PastStep("s1", LIST, kept)], "page 3 of /srv/a", NOTHING, TOOLS)

    assert found.arguments == {"order": "asc", "page": "3", "size": 3, "path": "/srv/a"}
    assert found.origins["order"] == Origin(From.CONSTANT, "asc")


def test_what_is_said_for_a_parameter_is_taken() -> None:
    rows: list[tuple[str, Parameter, Given]] = [
        ('push to branch "main"', wanted("branch"), "main"),
        ('push to branch "main"', wanted("target_branch"), "main"),
        ("mail bob@example.com", wanted("recipient"), "bob@example.com"),
        ("mail bob@example.com", wanted("recipient", None), "bob@example.com"),
        ("look at https://example.com/x", wanted("pageUrl"), "https://example.com/x"),
        ("with limit 25", wanted("limit", "integer"), 25),
        ("with ratio 0.5", wanted("ratio", "number"), 0.5),
        ("of the 7 days", wanted("count", "integer"), 7),
        ('say "hello there"', wanted("message"), "hello there"),
    ]

    for intent, parameter, value in rows:
        assert filled(intent, parameter).arguments == {parameter.name: value}


def test_what_could_be_meant_otherwise_is_missing() -> None:
    rows: list[tuple[str, Parameter]] = [
        ("with limit 2.5", wanted("limit", "integer")),
        ('with limit "many"', wanted("limit", "number")),
        ('with filter "many"', wanted("filter", "object")),
        ("mail bob@example.com or ana@example.com", wanted("recipient")),
        ('branch "a" or branch "b"', wanted("branch")),
        ('"one" and "two"', wanted("message")),
        ("3 or 4", wanted("count", "integer")),
        ("say it", wanted("message")),
        ("say it", wanted("___")),
    ]

    for intent, parameter in rows:
        found = filled(intent, parameter)

        assert found.arguments == {}, intent
        assert found.missing == [MissingArgument("it", parameter.name)]


def test_one_value_is_taken_once_and_only_for_what_it_is_sure_to_be_meant_for() -> None:
    rows: list[tuple[str, tuple[str, ...], dict[str, Given]]] = [
        ('say "hello"', ("message", "subject"), {}),
        ('subject "hello"', ("subject", "message"), {"subject": "hello"}),
        ("from 2026-11-20 on", ("start_date", "end_date"), {}),
        ("go to Rome", ("where_to",), {}),
    ]

    for intent, names, arguments in rows:
        assert filled(intent, *map(wanted, names)).arguments == arguments


def test_one_of_a_few_values_is_taken_if_the_intent_has_its_word() -> None:
    listed = {f"{TOOL}#state": ["open", "closed", "up"]}
    rows: list[tuple[str, dict[str, Given]]] = [
        ("all closed issues", {"state": "closed"}),
        ("open or closed issues", {}),
        ("go up", {}),
    ]

    for intent, arguments in rows:
        assert filled(intent, wanted("state"), listed=listed).arguments == arguments


def test_what_may_be_left_out_is_told_only_what_stands_in_its_own_part() -> None:
    tools = {
        each.tool: each
        for each in (
            a_tool("a.read", Effect.PURE, wanted("path")),
            a_tool(
                "a.list",
                Effect.PURE,
                wanted("folder", required=False),
                wanted("limit", "integer", required=False),
            ),
        )
    }
    steps = [PastStep("read", "a.read"), PastStep("list", "a.list")]
    intent = "read /srv/a.md and list /srv/b with limit 25"
    parts = {"a.read": "read /srv/a.md", "a.list": "list /srv/b with limit 25"}

    told = [each.arguments for each in fill(steps, intent, NOTHING, tools, parts)]
    untold = [each.arguments for each in fill(steps, intent, NOTHING, tools)]

    assert told == [{"path": "/srv/a.md"}, {"folder": "/srv/b", "limit": 25}]
    assert untold == [{}, {}]


def test_what_was_taken_already_is_not_told_to_what_may_be_left_out() -> None:
    tools = {
        "a.read": a_tool("a.read", Effect.PURE, wanted("path"), wanted("folder", required=False))
    }

    [found] = fill(
        [PastStep("s", "a.read")], "read /srv/a.md", NOTHING, tools, {"a.read": "read /srv/a.md"}
    )

    assert found.arguments == {"path": "/srv/a.md"}


def test_what_was_mostly_handed_on_before_is_handed_on_again() -> None:
    steps = [PastStep("read", READ), PastStep("send", SEND)]

    _, send = fill(steps, INTENT, Learnt.of([READ_AND_SEND]), TOOLS)

    assert send.arguments["body"] == Reference("read", "text")
    assert send.origins["body"] == Origin(From.STEP, "read.text")


def test_what_could_give_it_is_told_where_it_is_not_in_the_plan() -> None:
    learnt = Learnt.of([READ_AND_SEND])

    [send] = fill([PastStep("send", SEND)], INTENT, learnt, TOOLS)

    assert send.missing == [MissingArgument("send", "body", (READ,))]


def test_of_two_steps_that_could_have_given_it_neither_is_taken() -> None:
    steps = [PastStep("one", READ), PastStep("two", READ), PastStep("send", SEND)]

    *_, send = fill(steps, INTENT, Learnt.of([READ_AND_SEND]), TOOLS)

    assert [each.parameter for each in send.missing] == ["body"]


def test_where_it_came_from_many_places_none_is_taken() -> None:
    def from_field(path: str) -> PastPlan:
        steps = (PastStep("s1", READ), PastStep("s2", SEND, {"body": Reference("s1", path)}))
        return PastPlan(id=path, steps=steps)

    learnt = Learnt.of([from_field(path) for path in ("json.a", "json.b", "json.c", "")])

    _, send = fill([PastStep("read", READ), PastStep("send", SEND)], INTENT, learnt, TOOLS)

    assert [each.parameter for each in send.missing] == ["body"]


@given(st.text(max_size=200))
def test_no_argument_is_made_up(intent: str) -> None:
    tools = {
        each.tool: each
        for each in (
            a_tool("a.a", Effect.PURE, wanted("path"), wanted("limit", "integer"), wanted("text")),
            a_tool("a.b", Effect.PURE, wanted("url"), wanted("name", None)),
        )
    }

    found = fill([PastStep("a", "a.a"), PastStep("b", "a.b")], intent, NOTHING, tools)

    told = "".join(str(int(each)) if each.isdecimal() else each for each in whole(intent))
    assert all(str(value) in told for step in found for value in step.arguments.values())
