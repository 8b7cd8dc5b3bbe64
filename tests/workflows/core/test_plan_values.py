"""Values in plans: inputs, references resolved, outputs."""

import pytest

from portico.engine.core.runs import Failure
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.errors import UpstreamRefused
from portico.kernel.json import JsonObject, JsonValue
from portico.workflows.core.plan import (
    MOST_OF_RUN,
    MOST_OF_STEP,
    Effort,
    ExpressionFailed,
    ExpressionTooLarge,
    InvalidPlan,
    Step,
    TooMuchEffort,
    graph_of,
    holds,
)
from portico.workflows.core.plan_checks import MOST_CALLS, Amount, TooManyCalls, known_calls
from portico.workflows.core.plan_documents import read_plan
from portico.workflows.core.plan_progress import inner_name
from portico.workflows.core.plan_report import (
    Trouble,
    discreet,
    kept_words,
    spoken,
    unspoken,
    words_of,
)
from portico.workflows.core.plan_values import (
    GivenTooLarge,
    MissingValue,
    NotAList,
    TooManyItems,
    arguments,
    document_value,
    items_document,
    step_document,
    wanted,
    with_item,
)
from tests.workflows.core.at_once import arguments_of, items_of, output_of
from tests.workflows.core.naive import EXPRESSIONS

READ: JsonObject = {"id": "read", "tool": "t.read"}
KNOWN: JsonObject = {
    "read": {"text": "hello", "json": {"n": 3, "list": [1, {"x": None}], "no": False, "zero": 0}},
    "inputs": {"who": "Ada"},
}


def a_step(**fields: JsonValue) -> Step:
    user: JsonObject = {"id": "use", "tool": "t.use", **fields}
    return read_plan({"inputs": {"who": {}}, "steps": [READ, user]}, EXPRESSIONS).step("use")


def given(value: JsonValue, known: JsonObject = KNOWN, **fields: JsonValue) -> JsonValue:
    return arguments_of(a_step(arguments={"q": value}, **fields), known, EXPRESSIONS)["q"]


def test_references_are_put_in_their_place() -> None:
    rows: list[tuple[JsonValue, JsonValue]] = [
        ("plain", "plain"),
        ([1, None, {"a": 2.5}], [1, None, {"a": 2.5}]),
        ({"$from": "read.text"}, "hello"),
        ({"$from": "read"}, KNOWN["read"]),
        ({"$from": "inputs.who"}, "Ada"),
        ({"$from": "read.json.no"}, False),
        ({"$from": "read.json.zero", "default": 1}, 0),
        ({"$from": "read.json.gone", "default": None}, None),
        ({"$from": "read.json.gone", "default": {"a": [1]}}, {"a": [1]}),
        (
            {"$text": "${inputs.who} has ${read.json.n}: ${read.json.list}"},
            'Ada has 3: [1,{"x":null}]',
        ),
        ({"$text": "${read.json.no}$${"}, "false${"),
        ({"deep": [{"$from": "read.json.list[0]"}]}, {"deep": [1]}),
        ({"$literal": {"$from": "read"}}, {"$from": "read"}),
    ]

    for value, becomes in rows:
        assert given(value) == becomes


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"$from": "read.json.gone"}, "/arguments/q/$from"),
        ([{"$from": "read.json.list[1].x"}], "/arguments/q/0/$from"),
        ({"$text": "${read.json.gone}"}, "/arguments/q/$text"),
    ],
)
def test_a_path_to_nothing_is_a_failure_with_its_place(value: JsonValue, place: str) -> None:
    with pytest.raises(MissingValue) as refused:
        given(value)

    assert refused.value.place == place


def test_a_step_that_gave_nothing_has_its_default() -> None:
    assert given({"$from": "read.text", "default": "none"}, {}) == "none"


def test_what_is_given_in_all_is_bounded() -> None:
    large: JsonObject = {"read": {"text": "x" * 1_000_000}}

    fits = given([{"$from": "read.text"}] * 4, large)

    assert isinstance(fits, list)
    for value in ([{"$from": "read"}] * 4, {"$text": "${read.text}" * 5}):
        with pytest.raises(GivenTooLarge):
            given(value, large)


def test_expressions_are_bounded_here_too() -> None:
    path = "json.list | " + " | ".join(["[@, @]"] * 30)

    with pytest.raises(ExpressionTooLarge):
        given({"$from": f"read.{path}"})


def test_a_condition_finds_null_for_a_step_that_gave_nothing() -> None:
    assert wanted(a_step(), {}, EXPRESSIONS)
    assert wanted(a_step(when="read.json.n > `2` && inputs.who == 'Ada'"), KNOWN, EXPRESSIONS)
    assert not wanted(a_step(when="read.json.ok"), {}, EXPRESSIONS)
    assert wanted(a_step(when="!read"), {}, EXPRESSIONS)


def test_what_is_empty_does_not_hold() -> None:
    rows: list[JsonValue] = [None, False, "", [], {}]

    for value in rows:
        assert not holds(value)


def test_anything_else_holds() -> None:
    rows: list[JsonValue] = [True, 0, 0.0, "0", [0], {"a": None}]

    for value in rows:
        assert holds(value)


def items(over: JsonValue, most: int = 3) -> list[JsonValue]:
    step = a_step(for_each={"in": over, "most": most})
    return list(items_of(step, KNOWN, EXPRESSIONS))


def test_a_for_each_goes_through_a_list() -> None:
    assert items({"$from": "read.json.list"}) == [1, {"x": None}]
    assert items([{"$from": "read.text"}, 2]) == ["hello", 2]
    assert not items_of(a_step(), KNOWN, EXPRESSIONS)


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("read.text", "a text"),
        ("read.json", "an object"),
        ("read.json.n", "a number"),
        ("read.json.no", "true or false"),
    ],
)
def test_it_goes_through_nothing_else(path: str, what: str) -> None:
    with pytest.raises(NotAList, match=what):
        items({"$from": path})


def test_an_absent_list_may_be_null_by_default_and_is_none() -> None:
    with pytest.raises(NotAList, match="null"):
        items({"$from": "read.json.gone", "default": None})


def test_more_items_than_allowed_are_a_failure() -> None:
    with pytest.raises(TooManyItems) as refused:
        items([1, 2, 3, 4])

    assert (refused.value.count, refused.value.limit) == (4, 3)


def test_an_item_and_its_number_are_at_hand() -> None:
    step = a_step(
        for_each={"in": [["a"]]}, arguments={"x": {"$from": "item[0]"}, "n": {"$from": "index"}}
    )

    found = arguments_of(step, with_item(KNOWN, ["a"], 0), EXPRESSIONS)

    assert found == {"x": "a", "n": 0}


def outcome(document: JsonObject, known: JsonObject) -> JsonValue:
    plan = read_plan(document, EXPRESSIONS)
    return output_of(plan, graph_of(plan, EXPRESSIONS), known, EXPRESSIONS)


def test_a_plan_gives_what_it_says_or_what_its_last_steps_gave() -> None:
    steps: JsonValue = [
        READ,
        {"id": "a", "tool": "t.a", "after": ["read"]},
        {"id": "b", "tool": "t.b"},
    ]
    known: JsonObject = {**KNOWN, "a": {"text": "done", "json": None}}

    assert outcome({"steps": steps, "output": {"said": {"$from": "a.text"}}}, known) == {
        "said": "done"
    }
    assert outcome({"steps": steps, "output": None}, known) is None
    assert outcome({"steps": steps}, known) == {"a": "done"}


def test_a_function_of_something_that_it_is_not_for_is_said_with_its_expression() -> None:
    with pytest.raises(ExpressionFailed, match="sum") as refused:
        given({"$from": "read.json.n | sum(@)"})

    assert refused.value.what


def plan_of(**more: JsonValue) -> JsonObject:
    return {"steps": [{"id": "b", "tool": "x.read", **more}], "inputs": {"big": {"type": "array"}}}


def test_a_step_has_its_share_and_all_of_them_theirs() -> None:
    run = Effort.of_run()
    first = run.of_step()

    first.spend(MOST_OF_STEP)
    with pytest.raises(TooMuchEffort, match="the step"):
        first.spend(1)
    for _ in range(MOST_OF_RUN // MOST_OF_STEP - 1):
        run.of_step().spend(MOST_OF_STEP)
    with pytest.raises(TooMuchEffort, match="the whole run"):
        run.of_step().spend(1)


def test_many_references_stop_in_between_and_dear_ones_more_often() -> None:
    dear = {f"p{n}": {"$from": "inputs.big[?a > `-1`] | length(@)"} for n in range(5)}
    step = read_plan(plan_of(arguments=dear), EXPRESSIONS).steps[0]
    known = {"inputs": {"big": [{"a": number} for number in range(3_000)]}}
    effort = Effort.of_run()

    resolving = arguments(step, known, EXPRESSIONS, effort)

    assert len([*resolving]) == 5
    assert resolving.value() == {f"p{n}": 3_000 for n in range(5)}
    assert effort.spent > 5 * 30_000


def test_what_is_given_again_and_again_is_spent_each_time() -> None:
    given = {"text": {"$text": "${index} ${inputs.big[0]}"}}
    document = plan_of(arguments=given, for_each={"in": [1]})
    step = read_plan(document, EXPRESSIONS).steps[0]
    known = {"inputs": {"big": ["x" * 3_900_000]}}
    effort = Effort.of_run().of_step()

    def all_of_them() -> None:
        for index in range(1_000):
            assert [*arguments(step, with_item(known, index, index), EXPRESSIONS, effort)]

    with pytest.raises(TooMuchEffort):
        all_of_them()
    assert effort.spent < 2 * MOST_OF_STEP


def test_what_an_expression_took_is_spent_though_it_failed() -> None:
    effort = Effort(15, "the step")

    with pytest.raises(TooMuchEffort):
        EXPRESSIONS.search("a.b.c", {"a": {"b": {"c": 1}}}, effort)


def over(number: int, items: int) -> JsonObject:
    each: JsonObject = {"in": [0] * items, "most": 1_000}
    return {"id": f"s{number}", "tool": "a.b", "for_each": each}


def test_as_many_as_may_be_are_counted_and_no_more() -> None:
    amount = Amount(3)
    amount.add(2)
    amount.add(1)

    with pytest.raises(TooManyCalls, match="more than 3 calls"):
        amount.add(1)


def test_what_is_listed_is_known_before() -> None:
    later: JsonObject = {"id": "l", "tool": "a.b", "for_each": {"in": {"$from": "s1.items"}}}

    its = read_plan({"steps": [over(1, 5), later, {"id": "o", "tool": "a.b"}]}, EXPRESSIONS)

    assert known_calls(its) == 7


def test_a_plan_that_lists_more_is_refused() -> None:
    fits = [over(number, 1_000) for number in range(MOST_CALLS // 1_000)]

    assert known_calls(read_plan({"steps": fits}, EXPRESSIONS)) == MOST_CALLS
    with pytest.raises(InvalidPlan, match="would make 10,001 calls") as caught:
        read_plan({"steps": [*fits, {"id": "o", "tool": "a.b"}]}, EXPRESSIONS)
    assert [fault.place for fault in caught.value.diagnostics] == ["/steps"]


def text(said: str) -> JsonObject:
    return {"type": "text", "text": said}


def test_texts_are_joined_those_of_resources_too() -> None:
    embedded: JsonObject = {"type": "resource", "resource": {"uri": "x:", "text": "two"}}
    answer = ToolResult([text("one"), {"type": "image", "data": "aGk="}, embedded])

    document = step_document(answer)

    assert document["text"] == "one\ntwo"
    assert document["content"] == answer.content
    assert (document["structuredContent"], document["json"]) == (None, None)


def test_a_text_that_is_json_is_read() -> None:
    rows: list[tuple[str, JsonValue]] = [
        ('{"a": [1]}', {"a": [1]}),
        ("3", 3),
        (" ", None),
        ("{oops", None),
        ("[NaN]", None),
        ("[" * 100_000, None),
        ("9" * 5_000, None),
    ]

    for said, value in rows:
        assert step_document(ToolResult([text(said)]))["json"] == value


def test_the_structured_form_comes_first() -> None:
    document = step_document(ToolResult([text('{"a": 1}')], structured={"a": 2}))

    assert document["json"] == document["structuredContent"] == {"a": 2}


def test_the_value_of_a_document_is_its_json_or_its_text() -> None:
    said, read = step_document(ToolResult([text("hi")])), step_document(ToolResult([text("[1]")]))

    assert document_value(said) == "hi"
    assert document_value(read) == [1]
    assert document_value(items_document([said, None, read])) == ["hi", None, [1]]
    assert document_value({"items": "a text", "json": 1}) == 1


def test_long_names_are_short_and_stay_apart() -> None:
    one, other = inner_name("a" * 64), inner_name("a" * 63 + "b")

    assert one == inner_name("a" * 64)
    assert one != other
    assert len(one) == len(other) == 30
    assert "#" in one
    assert [inner_name(short) for short in ("read", "a" * 30)] == ["read", "a" * 30]


_KEPT = "res_00000000000000000000000001"
_REFUSED = UpstreamRefused("files", -32000, "no such customer: SECRET")
_TITLE = "The server refuses what it was asked for"


def _trouble(message: str) -> Trouble:
    return Trouble(type="UpstreamRefused", message=message)


def test_an_error_is_told_by_its_kind_and_where_its_words_are_if_they_could_be_kept() -> None:
    kept, lost = discreet(_REFUSED, "read", _KEPT), discreet(_REFUSED, "read", None)
    foreign = discreet(KeyError("SECRET"), None, None)

    assert kept == Failure(
        "UpstreamRefused", f"{_TITLE} [in full: {_KEPT}]", "upstream_refused", "read"
    )
    assert kept_words(kept.message) == _KEPT
    assert (lost.message, kept_words(lost.message)) == (_TITLE, None)
    assert (foreign.type, foreign.code) == ("KeyError", None)
    assert "SECRET" not in foreign.message


def test_an_error_without_words_is_kept_by_its_name() -> None:
    assert words_of(ValueError()) == {"words": "ValueError"}
    assert words_of(_REFUSED) == {"words": str(_REFUSED), "fix": _REFUSED.fix}


def test_its_words_stand_where_its_kind_stood_while_they_are_kept() -> None:
    short = discreet(_REFUSED, "read", _KEPT).message
    rows: list[tuple[str, JsonObject | None, str]] = [
        (short, words_of(_REFUSED), str(_REFUSED)),
        (f"The step 'read' failed: {short}", {"words": "no"}, "The step 'read' failed: no"),
        (short, None, short),
        (short, {"words": 1}, short),
        ("It was cancelled.", {"words": "no"}, "It was cancelled."),
    ]

    for message, words, told in rows:
        assert spoken(message, words) == told


def test_others_are_not_told_where_they_are() -> None:
    short = discreet(_REFUSED, "read", _KEPT).message

    assert unspoken(_trouble(short)) == _trouble(_TITLE)
    assert unspoken(_trouble(f"The step 'read' failed: {short}")) == _trouble(
        f"The step 'read' failed: {_TITLE}"
    )
    assert unspoken(_trouble("It was cancelled.")) == _trouble("It was cancelled.")


def test_a_tool_that_says_itself_that_it_failed_is_quoted_in_short() -> None:
    told = f"files.read says that it failed [in full: {_KEPT}]"

    assert spoken(told, {"isError": True, "text": " no such file\n"}) == (
        "files.read says that it failed: no such file"
    )
    assert spoken(told, {"isError": True, "text": ""}).endswith("failed: without a word")
    assert spoken(told, {"isError": True, "text": "x" * 501}).endswith(f"{'x' * 500}…")
