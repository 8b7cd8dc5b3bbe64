"""Tools that are likely next, and how their arguments are filled."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.search import whole
from portico.kernel.effect import Effect
from portico.learning.core.dataflow_fields import Parameter
from portico.learning.core.intents import Kind, Offered
from portico.learning.core.likely_tools import (
    MOST_STEPS,
    Filled,
    From,
    MissingArgument,
    Origin,
    choose,
    drawn_by,
    fill,
    in_order,
    likely,
    next_tools,
)
from portico.learning.core.past_plans import (
    Constant,
    FromIntent,
    Near,
    PastPlan,
    PastPlans,
    PastStep,
    Searched,
    StoredArgument,
    SuggestionRequest,
    ToolStatistics,
    Unknown,
    Votes,
    runs_of,
    words_of,
)
from portico.workflows.core.plan import ArgumentTemplate, Reference
from tests.learning.core.suggest.errands import (
    INTENT,
    LIST,
    READ,
    READ_AND_SEND,
    SEND,
    SIGN,
    TOOLS,
    WHOLE,
    a_plan,
    a_tool,
    asked,
    wanted,
)

NOTHING = ToolStatistics.of([])


def test_without_a_past_search_decides() -> None:
    found = likely(asked(), NOTHING, TOOLS)

    assert [each.tool for each in found] == [READ, SEND, LIST]
    assert 1 > found[0].probability > found[2].probability > 0


def test_a_past_plan_for_the_same_raises_what_it_had() -> None:
    before = {each.tool: each.probability for each in likely(asked(), NOTHING, TOOLS)}

    found = likely(asked((READ_AND_SEND, 0.9)), ToolStatistics.of([READ_AND_SEND]), TOOLS)

    after = {each.tool: each.probability for each in found}
    assert after[SEND] > 0.9 > before[SEND]
    assert after[LIST] < before[LIST]


def test_where_no_past_plan_is_near_the_parts_of_the_intent_decide() -> None:
    far = asked((a_plan("far", SIGN), 0.1))

    found = likely(far, NOTHING, TOOLS)

    assert [each.tool for each in found if each.probability >= 0.5] == [READ, SEND]


@pytest.mark.requirement("seed001:06")
def test_a_likely_tool_draws_after_it_what_came_before_it_elsewhere() -> None:
    learnt = ToolStatistics.of([a_plan(f"{number}", SIGN, SEND) for number in range(20)])

    found = {each.tool for each in likely(asked(), learnt, TOOLS)}

    assert SIGN in found
    assert SIGN not in {each.tool for each in likely(asked(), NOTHING, TOOLS)}


def test_what_is_drawn_draws_further_and_circles_end() -> None:
    learnt = ToolStatistics.of([a_plan("a", LIST, READ, SEND), a_plan("b", SEND, LIST)])

    found = drawn_by({SEND: 0.9}, learnt, TOOLS)

    assert found[READ] > found[LIST] > found[SEND] > 0


def test_what_is_hardly_likely_draws_nothing() -> None:
    assert drawn_by({SEND: 0.01}, ToolStatistics.of([a_plan("a", READ, SEND)]), TOOLS) == {}


def test_what_is_not_offered_does_not_exist() -> None:
    offered = {tool: TOOLS[tool] for tool in (READ, LIST)}
    learnt = ToolStatistics.of([a_plan("a", SIGN, READ), READ_AND_SEND])
    question = asked((READ_AND_SEND, 0.9))

    chosen = choose(question, likely(question, learnt, offered), learnt, offered)

    assert {each.tool for each in likely(question, learnt, offered)} == {READ, LIST}
    assert {each.tool for each in next_tools(question, [], learnt, offered)} == {READ, LIST}
    assert chosen is not None
    assert chosen.like is None


def test_the_next_tool_is_what_came_next_before() -> None:
    learnt = ToolStatistics.of([READ_AND_SEND])

    first, *_ = next_tools(asked((READ_AND_SEND, 0.9)), [], learnt, TOOLS)
    then, *others = next_tools(asked((READ_AND_SEND, 0.9)), [READ], learnt, TOOLS)

    assert (first.tool, then.tool) == (READ, SEND)
    assert round(then.probability + sum(each.probability for each in others), 6) == 1


def test_what_answers_a_part_that_is_left_comes_before_what_was_done() -> None:
    found = [each.tool for each in next_tools(asked(), [READ], NOTHING, TOOLS)]

    assert found.index(SEND) < found.index(READ)


def test_when_every_part_was_answered_all_of_them_count_again() -> None:
    assert next_tools(asked(), [READ, SEND], NOTHING, TOOLS)


def test_where_nothing_is_found_nothing_comes_next() -> None:
    empty = SuggestionRequest(intent="hm", searched=())

    assert next_tools(empty, [], NOTHING, TOOLS) == []
    assert likely(empty, NOTHING, TOOLS) == []
    assert choose(empty, [], NOTHING, TOOLS) is None


def test_a_plan_that_was_made_before_is_chosen_over_one_put_together() -> None:
    learnt = ToolStatistics.of([READ_AND_SEND])
    question = asked((READ_AND_SEND, 0.9), (a_plan("other", READ, SEND), 0.85))

    chosen = choose(question, likely(question, learnt, TOOLS), learnt, TOOLS)

    assert chosen is not None
    assert (chosen.like, chosen.tools) == (READ_AND_SEND, (READ, SEND))
    assert chosen.share > 0.9
    assert chosen.raw > -1


def test_a_nearer_plan_with_the_same_tools_says_how_they_hang_together() -> None:
    far, near = a_plan("far", READ, SEND), a_plan("near", SEND, READ)
    learnt = ToolStatistics.of([far, near])
    question = asked((far, 0.5), (near, 0.9))

    chosen = choose(question, likely(question, learnt, TOOLS), learnt, TOOLS)

    assert chosen is not None
    assert chosen.like is near


def test_without_a_past_the_likely_tools_are_put_together() -> None:
    sure = [Searched(INTENT, {READ: 0.9, SEND: 0.85}), *asked().searched[1:]]
    question = asked(searched=sure)

    chosen = choose(question, likely(question, NOTHING, TOOLS), NOTHING, TOOLS)

    assert chosen is not None
    assert chosen.like is None
    assert set(chosen.tools) == {READ, SEND}


def test_if_none_is_likely_the_likeliest_is_chosen_and_not_surely() -> None:
    question = asked(searched=[Searched(INTENT, {READ: 0.05, SEND: 0.04})])

    chosen = choose(question, likely(question, NOTHING, TOOLS), NOTHING, TOOLS)

    assert chosen is not None
    assert chosen.tools == (READ,)
    assert chosen.raw < -3


def test_a_past_plan_with_too_many_steps_or_none_is_not_followed() -> None:
    long = a_plan("long", *[READ] * (MOST_STEPS + 1))
    question = asked((long, 0.9), (PastPlan(id="none", steps=()), 0.9))

    chosen = choose(question, likely(question, NOTHING, TOOLS), NOTHING, TOOLS)

    assert chosen is not None
    assert chosen.like is None


def test_nothing_comes_before_what_it_needs() -> None:
    learnt = ToolStatistics.of([a_plan(f"{number}", SEND, READ) for number in range(5)])

    assert in_order(frozenset({READ, SEND}), asked(), learnt, TOOLS) == (SEND, READ)


def test_what_needs_one_another_still_gets_an_order() -> None:
    both = [a_plan(f"{number}", SEND, READ, SEND) for number in range(5)]

    order = in_order(frozenset({READ, SEND}), asked(searched=()), ToolStatistics.of(both), TOOLS)

    assert set(order) == {READ, SEND}


def test_tools_of_which_nothing_is_known_are_in_the_order_of_their_names() -> None:
    some = {f"a.{name}": a_tool(f"a.{name}", Effect.PURE) for name in "cab"}

    order = in_order(frozenset(some), asked(searched=[WHOLE]), NOTHING, some)

    assert order == ("a.a", "a.b", "a.c")


NO_VECTORS = np.zeros((2, 0), np.float32)
ONE, OTHER = a_plan("one", READ, SEND), a_plan("other", LIST)


def test_the_nearest_by_meaning_come_first() -> None:
    past = PastPlans.of([ONE, OTHER], np.array([[1, 0], [0, 1]], np.float32))

    found = past.nearest(np.array([0.6, 0.8], np.float32), frozenset())

    assert [(each.plan.id, round(each.similarity, 2)) for each in found] == [
        ("other", 0.8),
        ("one", 0.6),
    ]
    assert len(past.nearest(np.array([0.6, 0.8], np.float32), frozenset(), most=1)) == 1


def test_without_a_vector_of_the_same_kind_words_decide() -> None:
    rows: list[np.ndarray | None] = [None, np.zeros(3, np.float32)]

    for vector in rows:
        words = [words_of("read the letter"), words_of("list the folder")]
        past = PastPlans.of([ONE, OTHER], NO_VECTORS, words)

        first, second = past.nearest(vector, words_of("list letters in the folder"))

        assert first.plan is OTHER, vector
        assert second.similarity == 0, vector


def test_without_any_word_nothing_is_alike() -> None:
    past = PastPlans.of([ONE, OTHER], NO_VECTORS)

    assert [each.similarity for each in past.nearest(None, frozenset())] == [0, 0]


def test_of_no_plans_none_is_near() -> None:
    assert PastPlans.of([], NO_VECTORS).nearest(None, frozenset()) == []


def test_a_vector_with_no_numbers_is_near_nothing() -> None:
    past = PastPlans.of([ONE], np.array([[np.nan, 1]], np.float32))

    assert past.nearest(np.array([1, 0], np.float32), frozenset())[0].similarity == 0


def test_what_was_rejected_counts_less_and_what_is_run_all_day_no_more_than_five_times() -> None:
    assert PastPlan(id="a", steps=(), times=1).weight == 1
    assert PastPlan(id="a", steps=(), times=1_000).weight == 5
    assert PastPlan(id="a", steps=(), times=2, accepted=2, rejected=2).weight == 1
    assert PastPlan(id="a", steps=(), times=1, rejected=5).weight < 0.1


def test_runs_with_the_same_tools_count_by_how_near_they_are() -> None:
    same = a_plan("again", SEND, READ, times=7, rejected=7)
    near = [Near(ONE, 0.9), Near(same, 0.9), Near(OTHER, 0.9), Near(ONE, 0.1)]

    assert runs_of(frozenset({READ, SEND}), near) == pytest.approx(1 + 7 / 3, abs=0.01)
    assert runs_of(frozenset({SEND}), near) == 0
    assert runs_of(frozenset({SEND}), []) == 0


def test_near_plans_say_more_than_far_ones() -> None:
    votes = Votes.of([Near(ONE, 0.9), Near(OTHER, 0.7)]).for_tools()

    assert votes[READ] == votes[SEND] > 5 * votes[LIST]
    assert 0.95 < votes[READ] + votes[LIST] < 1


def test_where_none_is_near_none_says_much() -> None:
    votes = Votes.of([Near(ONE, 0.05), Near(OTHER, 0.05)]).for_tools()

    assert max(votes.values()) < 0.1


def test_without_plans_nothing_is_said() -> None:
    assert Votes.of([]).for_tools() == {}


def test_what_came_next_is_known_by_what_came_before() -> None:
    votes = Votes.of([Near(ONE, 0.9), Near(a_plan("two", READ, LIST), 0.9)])

    assert votes.after(READ).keys() == {SEND, LIST}
    assert votes.after(None).keys() == {READ}
    assert votes.after(SEND) == {}


FILL_NOTHING = ToolStatistics.of([])
TOOL = "a.tool"


def filled(
    intent: str, *parameters: Parameter, listed: Mapping[str, list[str]] | None = None
) -> Filled:
    tool = Offered(tool=TOOL, parameters=parameters, listed=listed or {})
    [found] = fill([PastStep("it", TOOL)], intent, FILL_NOTHING, {TOOL: tool})
    return found


def test_a_past_plan_is_filled_with_what_stands_in_this_intent() -> None:
    read, send = fill(READ_AND_SEND.steps, INTENT, FILL_NOTHING, TOOLS)

    assert read.arguments == {"path": "/srv/b.md"}
    assert send.arguments == {"recipient": "bob@example.com", "body": Reference("s1", "text")}
    assert send.origins == {
        "recipient": Origin(From.INTENT, "bob@example.com"),
        "body": Origin(From.STEP, "s1.text"),
    }
    assert not read.missing
    assert not send.missing


def test_what_this_intent_does_not_say_is_missing() -> None:
    read, send = fill(READ_AND_SEND.steps, "Read it and send it", FILL_NOTHING, TOOLS)

    assert read.missing == [MissingArgument("s1", "path")]
    assert send.missing == [MissingArgument("s2", "recipient")]
    assert "path" not in read.arguments


def test_constants_are_kept_and_numbers_that_were_texts_stay_texts() -> None:
    kept: dict[str, StoredArgument] = {
        "order": Constant("asc"),
        "page": FromIntent(Kind.NUMBER, 0, as_text=True),
        "size": FromIntent(Kind.NUMBER, 0),
        "other": Unknown(),
    }
    [found] = fill([PastStep("s1", LIST, kept)], "page 3 of /srv/a", FILL_NOTHING, TOOLS)

    assert found.arguments == {"order": "asc", "page": "3", "size": 3, "path": "/srv/a"}
    assert found.origins["order"] == Origin(From.CONSTANT, "asc")


def test_what_is_said_for_a_parameter_is_taken() -> None:
    rows: list[tuple[str, Parameter, ArgumentTemplate]] = [
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
    rows: list[tuple[str, tuple[str, ...], dict[str, ArgumentTemplate]]] = [
        ('say "hello"', ("message", "subject"), {}),
        ('subject "hello"', ("subject", "message"), {"subject": "hello"}),
        ("from 2026-11-20 on", ("start_date", "end_date"), {}),
        ("go to Rome", ("where_to",), {}),
    ]

    for intent, names, arguments in rows:
        assert filled(intent, *map(wanted, names)).arguments == arguments


def test_one_of_a_few_values_is_taken_if_the_intent_has_its_word() -> None:
    listed = {f"{TOOL}#state": ["open", "closed", "up"]}
    rows: list[tuple[str, dict[str, ArgumentTemplate]]] = [
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

    told = [each.arguments for each in fill(steps, intent, FILL_NOTHING, tools, parts)]
    untold = [each.arguments for each in fill(steps, intent, FILL_NOTHING, tools)]

    assert told == [{"path": "/srv/a.md"}, {"folder": "/srv/b", "limit": 25}]
    assert untold == [{}, {}]


def test_what_was_taken_already_is_not_told_to_what_may_be_left_out() -> None:
    tools = {
        "a.read": a_tool("a.read", Effect.PURE, wanted("path"), wanted("folder", required=False))
    }

    [found] = fill(
        [PastStep("s", "a.read")],
        "read /srv/a.md",
        FILL_NOTHING,
        tools,
        {"a.read": "read /srv/a.md"},
    )

    assert found.arguments == {"path": "/srv/a.md"}


def test_what_was_mostly_handed_on_before_is_handed_on_again() -> None:
    steps = [PastStep("read", READ), PastStep("send", SEND)]

    _, send = fill(steps, INTENT, ToolStatistics.of([READ_AND_SEND]), TOOLS)

    assert send.arguments["body"] == Reference("read", "text")
    assert send.origins["body"] == Origin(From.STEP, "read.text")


def test_what_could_give_it_is_told_where_it_is_not_in_the_plan() -> None:
    learnt = ToolStatistics.of([READ_AND_SEND])

    [send] = fill([PastStep("send", SEND)], INTENT, learnt, TOOLS)

    assert send.missing == [MissingArgument("send", "body", (READ,))]


def test_of_two_steps_that_could_have_given_it_neither_is_taken() -> None:
    steps = [PastStep("one", READ), PastStep("two", READ), PastStep("send", SEND)]

    *_, send = fill(steps, INTENT, ToolStatistics.of([READ_AND_SEND]), TOOLS)

    assert [each.parameter for each in send.missing] == ["body"]


def test_where_it_came_from_many_places_none_is_taken() -> None:
    def from_field(path: str) -> PastPlan:
        steps = (PastStep("s1", READ), PastStep("s2", SEND, {"body": Reference("s1", path)}))
        return PastPlan(id=path, steps=steps)

    learnt = ToolStatistics.of([from_field(path) for path in ("json.a", "json.b", "json.c", "")])

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

    found = fill([PastStep("a", "a.a"), PastStep("b", "a.b")], intent, FILL_NOTHING, tools)

    told = "".join(str(int(each)) if each.isdecimal() else each for each in whole(intent))
    assert all(str(value) in told for step in found for value in step.arguments.values())
