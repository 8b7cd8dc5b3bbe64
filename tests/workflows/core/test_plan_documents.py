"""A plan is read whole, or refused with the place of everything that is wrong with it."""

from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.errors import Kind
from portico.kernel.json import JsonObject, JsonValue
from portico.workflows.core.plan import (
    ForEach,
    InvalidExpression,
    InvalidPlan,
    OnError,
    Plan,
    PlanDiagnostic,
    Reference,
    Template,
)
from portico.workflows.core.plan_documents import plan_document, read_plan
from tests.workflows.core.naive import EXPRESSIONS
from tests.workflows.core.plans import plan_documents

READ: JsonObject = {"id": "read", "tool": "files.read"}


def a_plan(*steps: JsonObject, **fields: JsonValue) -> JsonObject:
    return {"steps": list(steps or [READ]), **fields}


def a_step(**fields: JsonValue) -> JsonObject:
    return {"id": "a", "tool": "t.a", **fields}


def read(document: JsonValue) -> Plan:
    return read_plan(document, EXPRESSIONS)


def faults(document: JsonValue) -> list[PlanDiagnostic]:
    with pytest.raises(InvalidPlan) as refused:
        read(document)
    return list(refused.value.diagnostics)


def test_every_field_is_read() -> None:
    plan = read(
        {
            "$schema": "plan.schema.json",
            "name": "digest",
            "description": "Reads and sends.",
            "inputs": {"who": {"type": "string"}},
            "required": ["who"],
            "steps": [
                {
                    "id": "read",
                    "tool": "files.read.all",
                    "arguments": {"path": "a", "deep": [{"x": {"$from": "inputs.who"}}]},
                    "timeout": 2.5,
                    "tries": 3,
                    "on_error": {"fallback": "other"},
                },
                {"id": "other", "tool": "files.old", "on_error": "skip"},
                {
                    "id": "send",
                    "tool": "mail.send",
                    "arguments": {
                        "to": {"$from": "item.name", "default": None},
                        "text": {"$text": "Dear ${inputs.who}"},
                    },
                    "after": ["read"],
                    "when": "read.json.ok",
                    "for_each": {"in": {"$from": "read.json.people"}, "at_once": 2, "most": 50},
                },
            ],
            "output": {"$from": "send.items[*].json"},
        }
    )

    first, other, send = plan.steps
    assert (plan.name, plan.description, plan.required) == ("digest", "Reads and sends.", ("who",))
    assert first.tool == ToolRef("files", "read.all")
    assert first.timeout == timedelta(seconds=2.5)
    assert (first.tries, first.on_error, first.fallback) == (3, OnError.FALLBACK, "other")
    assert first.arguments == {"path": "a", "deep": [{"x": Reference("inputs", "who")}]}
    assert other.on_error is OnError.SKIP
    assert send.arguments["to"] == Reference("item", "name", None, has_default=True)
    assert send.arguments["text"] == Template(("Dear ", Reference("inputs", "who")))
    assert send.for_each == ForEach(over=Reference("read", "json.people"), at_once=2, limit=50)
    assert (send.after, send.when) == (("read",), "read.json.ok")
    assert plan.output == Reference("send", "items[*].json")


def test_what_is_not_said_is_as_usual() -> None:
    plan = read(a_plan())

    [step] = plan.steps
    assert (step.arguments, step.after, step.when, step.for_each) == ({}, (), None, None)
    assert (step.on_error, step.timeout, step.tries) == (OnError.STOP, None, 1)
    assert (plan.name, plan.inputs, plan.has_output) == (None, {}, False)


def test_a_literal_is_taken_as_it_stands_and_json_text_for_its_value() -> None:
    literal: JsonObject = {"$literal": {"$from": "nowhere", "x": [1]}}

    [step] = read(a_plan(a_step(arguments={"l": literal, "j": {"$json": '{"$x": null}'}}))).steps

    assert step.arguments == {"l": {"$from": "nowhere", "x": [1]}, "j": {"$x": None}}


def test_what_is_wrong_is_said_at_its_place() -> None:
    rows: list[tuple[JsonValue, str, str]] = [
        ([], "", "A plan is an object"),
        ({}, "", "'steps' is missing"),
        ({"steps": []}, "/steps", "at least 1"),
        ({"steps": "all"}, "/steps", "must be a list"),
        ({"steps": [1]}, "/steps/0", "A step is an object"),
        (a_plan(stepz=1), "/stepz", "Did you mean 'steps'?"),
        (a_plan(zzz=1), "/zzz", "There are: $schema, name,"),
        (a_plan(**{"a/b~c": 1}), "/a~1b~0c", "no field"),
        (a_plan(name="no spaces"), "/name", "must begin with a letter"),
        (a_plan(name=3), "/name", "must be a text"),
        (a_plan(description="x" * 2001), "/description", "at most 2,000 characters"),
        (a_plan(inputs=[]), "/inputs", "must be an object"),
        (a_plan(inputs={"a b": {}}), "/inputs/a b", "The name of an input must begin"),
        (a_plan(inputs={"a": 1}), "/inputs/a", "a JSON Schema"),
        (a_plan(inputs={"a": {"$json": "3"}}), "/inputs/a", "a JSON Schema"),
        (a_plan(inputs={"a": {"$ref": "http://x"}}), "/inputs/a", "not a schema that can be used"),
        (a_plan(required=["a"]), "/required/0", "no input 'a'"),
        (a_plan(required=[1]), "/required/0", "must be a text"),
        (a_plan(inputs={"who": {}}, required=["whoo"]), "/required/0", "Did you mean 'who'?"),
        (a_plan({"tool": "a.b"}), "/steps/0", "'id' is missing"),
        (a_plan({"id": "a"}), "/steps/0", "'tool' is missing"),
        (a_plan(a_step(id="1a")), "/steps/0/id", "must begin with a letter"),
        (a_plan(a_step(id="x" * 65)), "/steps/0/id", "at most 64"),
        (a_plan(a_step(id="item")), "/steps/0/id", "means something else"),
        (a_plan(a_step(), a_step()), "/steps/1/id", "/steps/0 has the id 'a' already"),
        (a_plan(a_step(tool="read")), "/steps/0/tool", "of the form server.tool"),
        (a_plan(a_step(argments={})), "/steps/0/argments", "Did you mean 'arguments'?"),
        (a_plan(a_step(arguments=[])), "/steps/0/arguments", "must be an object"),
        (a_plan(a_step(timeout=0)), "/steps/0/timeout", "at least 0.001"),
        (a_plan(a_step(timeout=90_000)), "/steps/0/timeout", "at most 86,400"),
        (a_plan(a_step(timeout=True)), "/steps/0/timeout", "must be a number"),
        (a_plan(a_step(tries=0)), "/steps/0/tries", "at least 1"),
        (a_plan(a_step(tries=1.5)), "/steps/0/tries", "a whole number"),
        (a_plan(a_step(after=["b"])), "/steps/0/after/0", "no step 'b'"),
        (a_plan(a_step(after=[1])), "/steps/0/after/0", "must be a text"),
        (a_plan(a_step(on_error="skp")), "/steps/0/on_error", "Did you mean 'skip'?"),
        (a_plan(a_step(on_error=1)), "/steps/0/on_error", '{"fallback": "id"}'),
        (a_plan(a_step(on_error={})), "/steps/0/on_error", "'fallback' is missing"),
        (a_plan(a_step(on_error={"fallback": "b"})), "/steps/0/on_error/fallback", "no step 'b'"),
        (a_plan(a_step(when="")), "/steps/0/when", "must not be empty"),
        (a_plan(a_step(when="x" * 1001)), "/steps/0/when", "at most 1,000 characters"),
        (a_plan(a_step(when="a ==")), "/steps/0/when", "wrong at character 5: it ends too early"),
        (a_plan(a_step(when="foo(a)")), "/steps/0/when", "no function 'foo'"),
        (a_plan(a_step(when="b.json")), "/steps/0/when", "no step 'b'"),
        (a_plan(a_step(when="item.x")), "/steps/0/when", "no step 'item'"),
        (a_plan(a_step(when="length(@) > `1`")), "/steps/0/when", "all steps at once"),
        (a_plan(a_step(when="@.a || *")), "/steps/0/when", "all steps at once"),
        (a_plan(a_step(for_each=[1])), "/steps/0/for_each", "must be an object"),
        (a_plan(a_step(for_each={})), "/steps/0/for_each", "'in' is missing"),
        (a_plan(a_step(for_each={"in": "abc"})), "/steps/0/for_each/in", "must be a list"),
        (a_plan(a_step(for_each={"in": {"$text": "x"}})), "/steps/0/for_each/in", "must be a list"),
        (
            a_plan(a_step(for_each={"in": [1], "most": 2000})),
            "/steps/0/for_each/most",
            "at most 1,000",
        ),
        (
            a_plan(a_step(for_each={"in": {"$from": "item.x"}})),
            "/steps/0/for_each/in/$from",
            "only in the arguments of a for_each",
        ),
    ]

    for document, place, what in rows:
        found = faults(document)

        assert [fault.place for fault in found] == [place]
        assert what in str(found[0])


@pytest.mark.parametrize(
    ("given", "place", "what"),
    [
        ({"$frm": "a"}, "/$frm", '{"$literal": {…}}'),
        ({"$from": "read", "$text": "x"}, "/$from", "beside another"),
        ({"$from": 1}, "/$from", "must be a text"),
        ({"$from": ""}, "/$from", "must not be empty"),
        ({"$from": "no step"}, "/$from", "is not a step's id"),
        ({"$from": "read."}, "/$from", "is not a step's id"),
        ({"$from": "reed.json"}, "/$from", "Did you mean 'read'?"),
        ({"$from": "read.json", "defalt": 1}, "/defalt", "Did you mean 'default'?"),
        ({"$from": "read.json", "default": {"$from": "read"}}, "/default", "refers to nothing"),
        ({"$from": "read.json", "default": [{"$text": ""}]}, "/default", "refers to nothing"),
        ({"$from": "read.json[", "default": 1}, "/$from", "The expression is wrong"),
        ({"$from": "read.json.a b"}, "/$from", "character 8: 'b' was not expected"),
        ({"$from": "read.`x`"}, "/$from", "between ` and ` stands JSON"),
        ({"$from": "read.name"}, "/$from", "Did you mean read.json.name?"),
        ({"$from": "read.jsn"}, "/$from", "Did you mean 'json'?"),
        ({"$from": "many.json"}, "/$from", "many.items[0].json"),
        ({"$from": "inputs.whom"}, "/$from", "Did you mean 'who'?"),
        ({"$from": "inputs.zzz"}, "/$from", "Its inputs are: who"),
        ({"$from": "item"}, "/$from", "only in the arguments of a for_each"),
        ({"$from": "index"}, "/$from", "only in the arguments of a for_each"),
        ({"$text": 1}, "/$text", "must be a text"),
        ({"$text": "a ${read.text"}, "/$text", "never closed"),
        ({"$text": "a ${}"}, "/$text", "is not a step's id"),
        ({"$text": "a ${reed.text}"}, "/$text", "Did you mean 'read'?"),
        ({"$json": "{"}, "/$json", "It is not JSON"),
        ({"$json": "[NaN]"}, "/$json/0", "nan is not a JSON number"),
        ({"$literal": [float("inf")]}, "/$literal/0", "inf is not a JSON number"),
        (float("nan"), "", "nan is not a JSON number"),
        ("\ud800", "", "half of a surrogate pair"),
        ({"$literal": {"a": "\ud800"}}, "/$literal/a", "half of a surrogate pair"),
    ],
)
def test_what_an_argument_says_is_looked_at(given: JsonValue, place: str, what: str) -> None:
    many: JsonObject = {"id": "many", "tool": "t.b", "for_each": {"in": [1]}}
    user: JsonObject = {"id": "use", "tool": "t.u", "arguments": {"q": given}}

    found = faults(a_plan(READ, many, user, inputs={"who": {}}))

    assert found[0].place == f"/steps/2/arguments/q{place}"
    assert what in str(found[0])


def test_dates_of_toml_are_no_json() -> None:
    day: Any = date(2026, 1, 1)  # as TOML gives it

    [fault] = faults(a_plan(a_step(arguments={"q": [day]})))

    assert (fault.place, fault.fix) == ("/steps/0/arguments/q/0", "Write it as a text.")


def test_nothing_is_nested_without_end() -> None:
    deep: JsonValue = 1
    for _ in range(40):
        deep = [deep]

    [as_given] = faults(a_plan(a_step(arguments={"q": deep})))
    [as_literal] = faults(a_plan(a_step(arguments={"q": {"$literal": deep}})))

    assert "more than 32 levels" in as_given.what
    assert "more than 32 levels" in as_literal.what


def test_too_many_steps_are_refused_at_once() -> None:
    steps = [{"id": f"s{number}", "tool": "t.a"} for number in range(2001)]

    [fault] = faults({"steps": steps})

    assert fault == PlanDiagnostic("/steps", "It must have at most 2,000, and has 2,001.")


def test_all_faults_are_told_together() -> None:
    document = a_plan(
        a_step(tool="?", arguments={"x": {"$from": "gone.text"}}), a_step(id="b", when="(")
    )

    places = [fault.place for fault in faults(document)]

    assert places == ["/steps/0/tool", "/steps/0/arguments/x/$from", "/steps/1/when"]


def test_an_item_is_at_hand_inside_a_for_each() -> None:
    each = a_step(
        for_each={"in": [[1]]}, arguments={"x": {"$from": "item[0]"}, "n": {"$from": "index"}}
    )

    [step] = read(a_plan(each)).steps

    assert step.arguments == {"x": Reference("item", "[0]"), "n": Reference("index")}


def needing(name: str, *others: str, **fields: JsonValue) -> JsonObject:
    given = {f"x{number}": {"$from": f"{other}.text"} for number, other in enumerate(others)}
    return {"id": name, "tool": "t.a", "arguments": given, **fields}


def with_fallback(name: str, other: str) -> JsonObject:
    return needing(name, on_error={"fallback": other})


X0 = "arguments/x0/$from"


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (
            [needing("a", "c"), needing("b", "a"), needing("c", "b")],
            [(f"/steps/0/{X0}", "a → c → b → a")],
        ),
        ([needing("a", "a")], [(f"/steps/0/{X0}", "'a' would wait for itself")]),
        (
            [needing("a", "b"), needing("b", "a"), needing("c", "d"), needing("d", "c")],
            [(f"/steps/0/{X0}", "a → b"), (f"/steps/2/{X0}", "c → d")],
        ),
        (
            [a_step(when="b.json.ok"), a_step(id="b", after=["a"])],
            [("/steps/0/when", "a → b → a")],
        ),
        (
            [with_fallback("a", "f"), with_fallback("b", "f"), a_step(id="f")],
            [("/steps/1/on_error/fallback", "'f' stands in for 'a' already")],
        ),
        (
            [with_fallback("a", "f"), a_step(id="f"), needing("b", "f")],
            [(f"/steps/2/{X0}", "Refer to 'a'")],
        ),
        (
            [with_fallback("a", "f"), needing("f", "a")],
            [(f"/steps/1/{X0}", "'f' would wait for itself, or for what it stands in for")],
        ),
        (
            [with_fallback("a", "f"), needing("b", "a"), needing("f", "b")],
            [("", "b → f → b")],
        ),
        ([with_fallback("a", "b"), with_fallback("b", "a")], [("/steps/0", "a → b → a")]),
        ([with_fallback("a", "a")], [("", "'a' would wait for itself")]),
    ],
)
def test_nothing_waits_for_itself_or_stands_in_twice(
    steps: list[JsonObject], told: list[tuple[str, str]]
) -> None:
    found = faults(a_plan(*steps))

    for fault, (place, what) in zip(found, told, strict=False):
        assert place in {"", fault.place}
        assert what in str(fault)
    assert len(found) >= len(told)


def test_no_more_circles_are_named_than_help() -> None:
    steps = [needing(f"s{number}", f"s{number ^ 1}") for number in range(60)]

    assert len(faults(a_plan(*steps))) == 20


def test_a_refusal_tells_the_first_and_counts_the_rest() -> None:
    with pytest.raises(InvalidPlan) as refused:
        read(a_plan(*(a_step(id=f"s{number}", tool="x") for number in range(5))))

    error = refused.value
    assert (error.kind, error.code, len(error.field_errors)) == (Kind.INVALID, "bad_plan", 5)
    assert str(error).endswith("; and 2 more")
    assert error.field_errors[0].field == "/steps/0/tool"


def test_every_field_is_written() -> None:
    document = a_plan(
        a_step(
            arguments={"x": {"$literal": {"$from": "a"}}, "y": {"z": [None]}},
            for_each={"in": [1], "at_once": 2, "most": 3},
            on_error={"fallback": "b"},
            timeout=2.5,
            tries=2,
        ),
        a_step(id="b", on_error="skip", timeout=3),
        name="n",
        description="d",
        inputs={"i": {"type": "string"}},
        required=["i"],
        output=None,
    )

    assert plan_document(read(document)) == document


@given(plan_documents())
def test_a_plan_written_down_is_read_as_the_same(document: JsonObject) -> None:
    plan = read(document)

    assert read(plan_document(plan)) == plan


_NAMES = st.sampled_from(["steps", "id", "tool", "arguments", "$from", "when", "x", "on_error"])
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("a.b"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(_ANYTHING)
def test_whatever_is_sent_is_read_or_refused(document: JsonValue) -> None:
    found = list[PlanDiagnostic]()
    try:
        plan = read(document)
    except InvalidPlan as error:
        found += error.diagnostics
        plan = None

    assert (plan is None) == bool(found)


def test_an_expression_that_is_none_says_where() -> None:
    with pytest.raises(InvalidExpression) as refused:
        EXPRESSIONS.check("a.b[")

    assert refused.value.position == 4


def test_so_many_stand_in_for_one_another_and_no_more() -> None:
    names = [f"f{number}" for number in range(12)]
    chain = [with_fallback(name, other) for name, other in pairwise(names)]

    read(a_plan(*chain[:8], a_step(id=names[8])))
    found = faults(a_plan(*chain[:9], a_step(id=names[9])))
    more = faults(a_plan(*chain, a_step(id=names[11])))

    assert [fault.place for fault in found] == ["/steps/9"]
    assert "'f9' is the 9th" in found[0].what
    assert len(more) == 1


def test_so_many_references_are_looked_at_and_no_more() -> None:
    given = [{"$from": f"x{number}.text"} for number in range(10_001)]

    [fault] = faults(a_plan(a_step(arguments={"q": given}, for_each={"in": [1]})))

    assert (fault.place, "10,001 references" in fault.what) == ("/steps", True)


def test_of_what_is_all_wrong_only_the_beginning_is_told_and_little_of_it_guessed() -> None:
    given = [{"$from": f"aa{number}.text"} for number in range(9_000)]
    steps = [a_step(id=f"a{number}") for number in range(500)]

    found = faults(a_plan(*steps, a_step(id="z", arguments={"q": given})))

    assert len(found) == 200
    assert sum(fault.fix is not None for fault in found) == 20


def test_a_text_that_seems_to_refer_to_a_step_is_not_passed_on_as_it_stands() -> None:
    rows: list[str] = [
        "see ${read.json.x}",
        "${ read }",
        "{{read.json.x}}",
        "{{ inputs.to }}",
        "${item[0]}",
    ]

    for text in rows:
        step = a_step(arguments={"to": ["x", text]})

        [fault] = faults(a_plan(READ, step))

        assert fault.place == "/steps/1/arguments/to/1", text
        assert "$text" in str(fault.fix), text


def test_a_text_that_names_no_step_is_only_a_text() -> None:
    for text in ("${HOME}/x", "{{name}}", "$read.json", "costs $5 {read.x}"):
        plan = read(a_plan(READ, a_step(arguments={"to": text})))

        assert plan.steps[1].arguments == {"to": text}


def test_said_to_be_meant_so_it_is_passed_on_and_written_so_again() -> None:
    document = a_plan(READ, a_step(arguments={"to": {"$literal": "${read.json.x}"}}))

    plan = read(document)

    assert plan.steps[1].arguments == {"to": "${read.json.x}"}
    assert plan_document(plan) == document


def test_what_other_programs_call_a_field_is_known() -> None:
    rows: list[tuple[str, str]] = [("depends_on", "after"), ("name", "id"), ("args", "arguments")]

    for written, meant in rows:
        found = faults(a_plan({"id": "a", "tool": "t.a", written: []}))

        assert [fault.fix for fault in found] == [f"Did you mean {meant!r}?"]


def test_a_tool_by_the_name_that_clients_have_for_it_is_told_its_own() -> None:
    [fault] = faults(a_plan({"id": "a", "tool": "post__list_customers"}))

    assert "Did you mean 'post.list_customers'?" in fault.what


def test_whoever_writes_a_function_first_is_told_where_it_stands() -> None:
    step = a_step(arguments={"n": {"$from": "sum(read.items[].json.total)"}})

    [fault] = faults(a_plan(READ, step))
    fine = read(a_plan(READ, a_step(arguments={"n": {"$from": "read.json.list | length(@)"}})))

    assert "| length(@)" in fault.what
    assert fine.steps[1].arguments["n"] == Reference("read", "json.list | length(@)")
