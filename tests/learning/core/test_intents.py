"""What a question asks for: intents, with calibrated confidence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.search import whole
from portico.kernel.json import JsonObject
from portico.learning.core.dataflow_fields import Flow, Flows
from portico.learning.core.intents import (
    ENOUGH,
    HIGHEST,
    LATEST,
    LOWEST,
    SHIPPED,
    START,
    Calibration,
    Judged,
    Kind,
    Outcome,
    Span,
    in_general,
    spans,
    sub_steps,
    threshold,
    wilson_lower,
    without_values,
)
from portico.learning.core.past_plans import PastPlan, PastStep, ToolStatistics, Unknown
from portico.learning.core.suggestions import askable, input_name
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


NOTHING = ToolStatistics.of([])


def test_a_need_is_the_share_of_plans_that_had_it_shrunk() -> None:
    learnt = ToolStatistics.of(
        [a_plan("a", READ, SEND), a_plan("b", READ, SEND), a_plan("c", LIST, SEND)]
    )

    assert learnt.need(SEND, READ) == pytest.approx(2 / 4)
    assert learnt.need(SEND, LIST) == pytest.approx(1 / 4)
    assert learnt.need(READ, SEND) == learnt.need("un.heard", READ) == 0


def test_what_was_handed_on_is_learnt_with_its_path() -> None:
    learnt = ToolStatistics.of([READ_AND_SEND])

    assert learnt.sources == {(SEND, "body"): {(READ, "text"): 4}}
    assert learnt.givers_of("Body") == {READ: pytest.approx(4 / 5)}
    assert learnt.givers_of("subject") == {}
    assert learnt.flows.seen(Flow(READ, "text", SEND, "body")) == 4


def test_what_was_seen_outside_of_plans_is_added() -> None:
    flows = Flows.of({Flow(READ, "text", SEND, "body"): 2, Flow(LIST, "text", SEND, "body"): 1})

    learnt = ToolStatistics.of([READ_AND_SEND], {(READ, LIST): 3}, flows)

    assert learnt.sources[SEND, "body"] == {(READ, "text"): 6, (LIST, "text"): 1}
    assert learnt.follows([READ], LIST) > ToolStatistics.of([READ_AND_SEND]).follows([READ], LIST)


def test_a_reference_to_nowhere_teaches_nothing() -> None:
    step = PastStep("s1", SEND, {"body": Reference("s9"), "x": Unknown()}, ("s8",))

    learnt = ToolStatistics.of([PastPlan(id="a", steps=[step])])

    assert learnt.sources == {}
    assert learnt.before == {}


def test_what_comes_next_is_foreseen_by_two_steps_before_by_one_and_by_none() -> None:
    learnt = ToolStatistics.of(
        [a_plan("a", LIST, READ, SEND), a_plan("b", SIGN, READ, LIST), a_plan("c", READ, LIST)]
    )

    assert learnt.follows([LIST, READ], SEND) > learnt.follows([SIGN, READ], SEND)
    assert learnt.follows([READ], LIST) > learnt.follows([READ], SEND)
    assert learnt.follows([], READ) == learnt.follows([], LIST) > learnt.follows([], SEND)
    assert learnt.after([READ]) == [SEND, LIST]
    assert learnt.after([]) == [LIST, SIGN, READ]


def test_where_nothing_was_seen_nothing_is_likelier_than_anything_else() -> None:
    assert NOTHING.follows([READ], SEND) == NOTHING.follows([], READ) == NOTHING.common(READ)


OUTCOMES = st.lists(
    st.builds(Judged, st.floats(-20, 7), st.booleans(), st.floats(0.01, 1)), max_size=60
)


def test_what_seems_likelier_is_said_to_be_surer() -> None:
    assert 0 < SHIPPED.confidence(-9) < SHIPPED.confidence(-1) < SHIPPED.confidence(3) < 1


def test_without_outcomes_nothing_changes() -> None:
    assert SHIPPED.fitted([]).confidence(-1) == pytest.approx(SHIPPED.confidence(-1))


def test_a_few_outcomes_move_it_little_and_many_a_lot() -> None:
    before = SHIPPED.confidence(0)

    one, many = SHIPPED.fitted([Judged(0.0, False)]), SHIPPED.fitted([Judged(0.0, False)] * 200)

    assert before - 0.1 < one.confidence(0) < before
    assert many.confidence(0) < 0.1


def test_it_comes_to_say_what_was() -> None:
    taught = Calibration(0.5, 1.5).fitted([*_came(-3.0, 10), *_came(1.0, 90)])

    assert taught.confidence(-3) == pytest.approx(0.1, abs=0.05)
    assert taught.confidence(1) == pytest.approx(0.9, abs=0.05)


def test_what_few_runs_allow_is_no_reason_to_expect_less_of_what_has_many() -> None:
    taught = Calibration(0.5, 1.5).fitted([*_came(-3.0, 5, 0.5), *_came(1.0, 45, 0.5)])

    assert taught.confidence(1, 0.5) == pytest.approx(0.45, abs=0.05)
    assert taught.confidence(1) == pytest.approx(0.9, abs=0.1)


def _came(raw: float, right: int, backing: float = 1.0) -> list[Judged]:
    """Of a hundred."""
    return [Judged(raw, number < right, backing) for number in range(100)]


def test_it_never_says_less_of_what_seemed_likelier() -> None:
    taught = SHIPPED.fitted([Judged(3.0, False), Judged(-9.0, True)] * 100)

    assert taught.slope == 0


@given(OUTCOMES)
def test_whatever_comes_it_stays_a_probability(outcomes: list[Judged]) -> None:
    taught = SHIPPED.fitted(outcomes)

    assert 0 <= taught.confidence(-20) <= taught.confidence(7) <= 1


YES, NO = Outcome.ACCEPTED, Outcome.REJECTED


def test_with_few_outcomes_it_stays_where_it_starts() -> None:
    for few in range(ENOUGH):
        assert threshold([NO] * few) == START


def test_whoever_accepts_everything_brings_it_down_little_by_little() -> None:
    found = [threshold([YES] * many) for many in (20, 50, 100, 200)]

    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(0.902, abs=0.001)
    assert found[-1] == LOWEST


@pytest.mark.requirement("seed001:14")
def test_whoever_rejects_brings_it_up_to_its_highest() -> None:
    assert threshold([NO] * 20) == HIGHEST
    assert threshold([YES] * 10 + [NO] * 10) == HIGHEST


def test_only_the_latest_count() -> None:
    assert threshold([NO] * LATEST + [YES] * 10_000) == HIGHEST


def test_whatever_is_not_accepted_counts_against_it() -> None:
    rows: list[Outcome] = [Outcome.REJECTED, Outcome.MODIFIED, Outcome.UNCLAIMED]

    for other in rows:
        assert threshold([YES] * 30 + [other] * 10) > threshold([YES] * 40)


@given(st.lists(st.sampled_from([*Outcome]), max_size=300))
def test_it_never_leaves_its_bounds(outcomes: list[Outcome]) -> None:
    assert LOWEST <= threshold(outcomes) <= HIGHEST


@given(st.integers(0, 200), st.integers(1, 200))
def test_the_lower_bound_is_below_what_was_seen(hits: int, tried: int) -> None:
    hits = min(hits, tried)

    assert 0 <= wilson_lower(hits, tried) <= hits / tried
