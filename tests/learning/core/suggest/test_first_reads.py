"""Of a suggested plan only reads come into question, up to the first step that is none."""

import json
from collections.abc import Mapping

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.calls import Answer
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.prefetch.predicted import Origin, Source
from portico.learning.core.prefetch.wanted import Wanted
from portico.learning.core.suggest.first_reads import FirstReads, KnownRead
from portico.testing.memory_store import BEGINNING, SeededEntropy
from portico.workflows.core.plan_documents import read_plan

EXPRESSIONS = JmespathExpressions()
FILES = ServerId.mint(BEGINNING, SeededEntropy("files"))
WORDS, CONSTANT = Source(Origin.WORDS), Source(Origin.CONSTANT)


def reads(ref: ToolRef) -> KnownRead | None:
    return KnownRead(ToolPlace(FILES, ref.name), "pin") if ref.name != "write" else None


def step(name: str, tool: str = "read", **more: JsonValue) -> JsonObject:
    return {"id": name, "tool": f"files.{tool}", **more}


def first(*steps: JsonObject, said: Mapping[str, set[str]] | None = None) -> Mapping[str, Wanted]:
    plan = read_plan({"steps": [*steps], "inputs": {"a": {}}}, EXPRESSIONS)
    return FirstReads(plan=plan, reads=reads, said=said or {}, expressions=EXPRESSIONS)()


def gives(value: JsonValue) -> Answer:
    return Answer([{"type": "text", "text": json.dumps(value)}])


def then(wanted: Wanted, value: JsonValue) -> list[Wanted]:
    assert wanted.then is not None
    return [*wanted.then(gives(value))]


def test_a_read_of_which_everything_is_known_is_wanted_with_where_each_value_is_from() -> None:
    found = first(
        step("read", arguments={"path": "/a", "head": 3, "odd": {"$literal": "${a.b}"}}),
        said={"read": {"path"}},
    )

    wanted = found["read"]
    assert (str(wanted.ref), wanted.pin, wanted.proven, wanted.edge) == (
        "files.read",
        "pin",
        True,
        None,
    )
    assert wanted.arguments == {"path": "/a", "head": 3, "odd": "${a.b}"}
    assert wanted.sources == {"path": {WORDS}, "head": {CONSTANT}, "odd": {CONSTANT}}


def test_what_may_change_something_is_never_wanted_nor_what_is_read_after_it() -> None:
    found = first(step("one"), step("write", "write"), step("two"))

    assert list(found) == ["one"]


def test_what_waits_for_something_is_not_wanted_yet() -> None:
    found = first(
        step("one"),
        step("after", after=["one"]),
        step("of", arguments={"path": {"$from": "one.text"}}),
        step("input", arguments={"path": {"$from": "inputs.a"}}),
        step("each", for_each={"in": ["a"]}),
        step("when", when="one.json"),
    )

    assert list(found) == ["one"]


def test_what_hangs_on_one_read_alone_is_wanted_once_that_has_answered() -> None:
    one = first(
        step("one"),
        step("two", arguments={"path": {"$from": "one.json.path"}, "head": 3}, after=["one"]),
        step("three", arguments={"path": {"$from": "two.json.path"}}),
        step("both", arguments={"a": {"$from": "one.text"}, "b": {"$from": "two.text"}}),
        step("later", arguments={"a": {"$from": "one.text"}}, after=["two"]),
        step("write", "write", arguments={"a": {"$from": "one.text"}}),
        step("behind", arguments={"a": {"$from": "one.text"}}),
    )["one"]

    [two] = then(one, {"path": "/b"})
    [three] = then(two, {"path": "/c"})

    assert two.arguments == {"path": "/b", "head": 3}
    result = Source(Origin.RESULT, ToolPlace(FILES, "read"))
    assert two.sources == {"path": {result}, "head": {CONSTANT}}
    assert three.arguments == {"path": "/c"}
    assert then(three, {}) == []


def test_where_a_path_leads_to_nothing_nothing_is_wanted() -> None:
    one = first(step("one"), step("two", arguments={"path": {"$from": "one.json.path"}}))["one"]

    assert then(one, {"other": 1}) == []
