"""The parts of an intent, and the values that stand in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.search import whole
from portico.kernel.json import JsonObject
from portico.learning.core.dataflow.flows import Flow, Flows
from portico.learning.core.suggest.askable import askable, input_name
from portico.learning.core.suggest.intent import (
    Kind,
    Span,
    in_general,
    spans,
    sub_steps,
    without_values,
)
from portico.learning.core.suggest.needs import Learnt
from portico.learning.core.suggest.past import PastPlan
from portico.learning.core.suggest.skeleton import PastStep, Unknown
from portico.workflows.core.plan import Reference
from portico.workflows.core.plan_documents import plan_document, read_plan
from tests.learning.core.suggest.errands import LIST, READ, READ_AND_SEND, SEND, SIGN, a_plan


def test_values_are_found_as_they_stand() -> None:
    rows: list[tuple[str, list[tuple[Kind, object]]]] = [
        ("send it to ana@example.com.", [(Kind.EMAIL, "ana@example.com")]),
        ("open https://example.com/a?b=1.", [(Kind.URL, "https://example.com/a?b=1")]),
        ("read /srv/data/notes.md, please", [(Kind.PATH, "/srv/data/notes.md")]),
        ("read notes.md and ~/plans", [(Kind.PATH, "notes.md"), (Kind.PATH, "~/plans")]),
        (
            "on 2026-11-20 at 9:30, 3 copies",
            [(Kind.DATE, "2026-11-20"), (Kind.TIME, "9:30"), (Kind.NUMBER, 3)],
        ),
        ("on 10/05/2023 at 9:30 AM", [(Kind.DATE, "10/05/2023"), (Kind.TIME, "9:30 AM")]),
        ("call 991-898-8887 or +15550100", []),
        ("write 'he don't mind'", [(Kind.QUOTED, "he don't mind")]),
        ("at 9 a.m., i.e. early, e.g. soon", [(Kind.NUMBER, 9)]),
        ("warm it by -1.5 degrees", [(Kind.NUMBER, -1.5)]),
        ("issues of octo/hello-world", [(Kind.NAME, "octo/hello-world")]),
        ("describe user_accounts", [(Kind.NAME, "user_accounts")]),
        ("fix BUG-123", [(Kind.NAME, "BUG-123")]),
        ("a hotel in New York.", [(Kind.NAME, "New York")]),
        ('call it "the old one"', [(Kind.QUOTED, "the old one")]),
        ("call it 'old' and `new`", [(Kind.QUOTED, "old"), (Kind.QUOTED, "new")]),
        ('to "ana@example.com"', [(Kind.EMAIL, "ana@example.com")]),
        ('named "Ana"', [(Kind.QUOTED, "Ana")]),
        ("List everything. Then stop", []),
        ("Call Ana. Email John Smith", [(Kind.NAME, "Ana"), (Kind.NAME, "John Smith")]),
        ("what's ana's and it's hers", []),
        ('nothing "   " here', []),
        ("", []),
    ]

    for intent, found in rows:
        assert [(span.kind, span.value) for span in spans(intent)] == found


def test_the_word_before_a_value_is_told() -> None:
    [span] = spans('push to branch "main"')

    assert span == Span(Kind.QUOTED, "main", "main", 15, "branch")


def test_a_value_at_the_very_beginning_has_no_word_before_it() -> None:
    assert [span.before for span in spans("42 is it")] == [""]


def test_at_most_forty_values_are_looked_at() -> None:
    assert len(spans(" ".join(map(str, range(100))))) == 40


def test_in_general_something_stands_for_each_value() -> None:
    assert in_general('Send "10 kg" and  10 more from a/b.md to b@c.de') == (
        'Send "<quoted>" and <number> more from <path> to <email>'
    )


def test_without_values_the_words_are_left() -> None:
    assert without_values("tell the time in Asia/Tokyo at 10:00") == "tell the time in at"


def test_sub_steps_come_in_their_order() -> None:
    assert sub_steps("Read the letter, then send it to Ana") == [
        "Read the letter",
        "send it to Ana",
    ]


@given(st.text(max_size=400))
def test_no_value_is_made_up(intent: str) -> None:
    told = whole(intent)

    assert all(span.text in told for span in spans(intent))


EXPRESSIONS = JmespathExpressions()
PLAN = read_plan(
    {
        "steps": [
            {"id": "list", "tool": "files.list"},
            {"id": "read", "tool": "files.read", "arguments": {"head": 3}},
        ]
    },
    EXPRESSIONS,
)
SCHEMAS: JsonObject = {
    "path": {"type": "string", "description": "Which.", "$ref": "#/somewhere"},
    "a b": True,
}


def test_a_plan_that_lacks_nothing_stays_as_it_is() -> None:
    assert askable(PLAN, [], lambda _: SCHEMAS) is PLAN


def test_what_is_missing_is_an_input_that_has_to_be_given() -> None:
    asking = askable(PLAN, [("read", "path"), ("read", "a b")], lambda _: SCHEMAS)

    document = plan_document(asking)
    assert document["inputs"] == {
        "read_path": {"type": "string", "description": "Which."},
        "read_a_b": {},
    }
    assert document["required"] == ["read_path", "read_a_b"]
    assert asking.steps[0] == PLAN.steps[0]
    assert document["steps"] == [
        {"id": "list", "tool": "files.list"},
        {
            "id": "read",
            "tool": "files.read",
            "arguments": {
                "head": 3,
                "path": {"$from": "inputs.read_path"},
                "a b": {"$from": "inputs.read_a_b"},
            },
        },
    ]
    assert read_plan(document, EXPRESSIONS) == asking


def test_its_name_can_stand_in_a_path_as_it_is() -> None:
    assert input_name("read-it", "é.path") == "read_it___path"


NOTHING = Learnt.of([])


def test_a_need_is_the_share_of_plans_that_had_it_shrunk() -> None:
    learnt = Learnt.of([a_plan("a", READ, SEND), a_plan("b", READ, SEND), a_plan("c", LIST, SEND)])

    assert learnt.need(SEND, READ) == pytest.approx(2 / 4)
    assert learnt.need(SEND, LIST) == pytest.approx(1 / 4)
    assert learnt.need(READ, SEND) == learnt.need("un.heard", READ) == 0


def test_what_was_handed_on_is_learnt_with_its_path() -> None:
    learnt = Learnt.of([READ_AND_SEND])

    assert learnt.sources == {(SEND, "body"): {(READ, "text"): 4}}
    assert learnt.givers_of("Body") == {READ: pytest.approx(4 / 5)}
    assert learnt.givers_of("subject") == {}
    assert learnt.flows.seen(Flow(READ, "text", SEND, "body")) == 4


def test_what_was_seen_outside_of_plans_is_added() -> None:
    flows = Flows.of({Flow(READ, "text", SEND, "body"): 2, Flow(LIST, "text", SEND, "body"): 1})

    learnt = Learnt.of([READ_AND_SEND], {(READ, LIST): 3}, flows)

    assert learnt.sources[SEND, "body"] == {(READ, "text"): 6, (LIST, "text"): 1}
    assert learnt.follows([READ], LIST) > Learnt.of([READ_AND_SEND]).follows([READ], LIST)


def test_a_reference_to_nowhere_teaches_nothing() -> None:
    step = PastStep("s1", SEND, {"body": Reference("s9"), "x": Unknown()}, ("s8",))

    learnt = Learnt.of([PastPlan(id="a", steps=[step])])

    assert learnt.sources == {}
    assert learnt.before == {}


def test_what_comes_next_is_foreseen_by_two_steps_before_by_one_and_by_none() -> None:
    learnt = Learnt.of(
        [a_plan("a", LIST, READ, SEND), a_plan("b", SIGN, READ, LIST), a_plan("c", READ, LIST)]
    )

    assert learnt.follows([LIST, READ], SEND) > learnt.follows([SIGN, READ], SEND)
    assert learnt.follows([READ], LIST) > learnt.follows([READ], SEND)
    assert learnt.follows([], READ) == learnt.follows([], LIST) > learnt.follows([], SEND)
    assert learnt.after([READ]) == [SEND, LIST]
    assert learnt.after([]) == [LIST, SIGN, READ]


def test_where_nothing_was_seen_nothing_is_likelier_than_anything_else() -> None:
    assert NOTHING.follows([READ], SEND) == NOTHING.follows([], READ) == NOTHING.common(READ)
