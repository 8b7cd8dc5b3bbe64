"""Which of the three doors a tool is called through, and how large an answer is."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.approved_calls import answer_of, question_of
from portico.gateway.core.calls import (
    MARGIN,
    UNBOUNDED,
    Call,
    CallId,
    CallOutcome,
    CallStats,
    ClientCapability,
    ToolResult,
    Verb,
    claim_of,
    for_the_record,
    lost,
    verb_for,
)
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import (
    NoLogins,
)
from portico.gateway.core.results import answer_from, answer_kept, beginning, pages, text_of
from portico.guard.core.approvals import AnswerKind
from portico.guard.core.policy import ArgumentWarning, Danger
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.json import JsonValue, kept
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.guard.approvals import an_act, an_approval


def test_an_effect_has_one_door_and_what_is_unknown_has_the_last() -> None:
    rows: list[tuple[Effect, Verb]] = [
        (Effect.PURE, Verb.READ),
        (Effect.LOCAL_READ, Verb.READ),
        (Effect.EXTERNAL_READ, Verb.READ),
        (Effect.LOCAL_WRITE, Verb.WRITE),
        (Effect.EXTERNAL_WRITE, Verb.WRITE),
        (Effect.IRREVERSIBLE, Verb.DESTRUCTIVE),
        (Effect.UNKNOWN, Verb.DESTRUCTIVE),
    ]

    for effect, verb in rows:
        assert verb_for(effect) is verb


def test_the_size_of_an_answer_counts_texts_images_and_what_is_embedded() -> None:
    answer = ToolResult(
        [
            {"type": "text", "text": "four"},
            {"type": "image", "data": "12345678"},
            {"type": "resource", "resource": {"uri": "a:b", "blob": "xy"}},
            {"type": "resource", "resource": "odd"},
        ]
    )

    assert answer.size == 14


def test_nothing_called_has_failed_never() -> None:
    none = timedelta()

    assert CallStats("a", 0, 0, none, none, none, None).error_rate == 0
    assert CallStats("a", 4, 1, none, none, none, None).error_rate == 0.25


def test_what_its_caller_gave_up_did_not_go_wrong() -> None:
    right = {outcome for outcome in CallOutcome if not outcome.wrong}

    assert right == {CallOutcome.DONE, CallOutcome.CANCELLED}


def test_a_call_is_lost_when_it_must_have_been_given_up_and_nobody_said_so() -> None:
    call = Call(
        id=CallId.mint(BEGINNING, SeededEntropy()),
        principal=a_person().id,
        ref=ToolRef("files", "read"),
        effect=Effect.PURE,
        pin="p",
        arguments={},
        started_at=BEGINNING,
    )
    due = replace(call, due_at=BEGINNING + timedelta(seconds=30))
    moment = timedelta(microseconds=1)

    for each, over in ((call, BEGINNING + UNBOUNDED + MARGIN), (due, due.due_at)):
        assert over is not None
        last = over if each is call else over + MARGIN
        assert not lost(each, last)
        assert lost(each, last + moment)
        assert not lost(replace(each, outcome=CallOutcome.DONE), last + moment)


def test_a_call_of_a_run_is_known_in_every_leg_by_its_first() -> None:
    run = RunId.mint(BEGINNING, SeededEntropy())

    first, third = claim_of(run, "pay", 1), claim_of(run, "pay", 3)

    assert third.first == first.first == first.id
    assert third.id not in third.earlier
    assert claim_of(run, "other", 1).id != first.id


CALL = CallId.mint(BEGINNING, SeededEntropy())


def test_it_comes_back_as_it_was() -> None:
    rows: list[ToolResult] = [
        ToolResult([{"type": "text", "text": "hello"}]),
        ToolResult([], structured={"a": [1, None]}, failed=True, meta={"x": "y"}),
    ]

    for answer in rows:
        assert answer_from(kept(answer_kept(answer, CALL))) == (answer, CALL)


def test_what_was_kept_of_something_else_is_none() -> None:
    rows: list[JsonValue] = ["a page of text", None, {"content": []}, [1]]

    for other in rows:
        assert answer_from(other) is None


def test_of_something_bent_the_rest_comes_back() -> None:
    bent: JsonValue = {"call": str(CALL), "content": "no list", "meta": 1}

    assert answer_from(bent) == (ToolResult([]), CALL)
    assert answer_from({"call": str(CALL), "content": [1, {"type": "text"}]}) == (
        ToolResult([{"type": "text"}]),
        CALL,
    )


IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


@given(st.text(max_size=3000), st.integers(min_value=1, max_value=700))
def test_no_letter_is_lost_and_no_page_too_long(text: str, size: int) -> None:
    cut = pages(text, size)

    assert "".join(cut) == text
    assert all(len(page) <= size for page in cut)


def test_a_page_ends_with_a_line_or_else_with_a_word() -> None:
    assert pages("first line\nsecond line", 15)[0] == "first line\n"
    assert pages("one two three", 9)[0] == "one two "
    assert pages("unbreakable", 5)[0] == "unbre"


def test_the_text_of_an_answer_is_its_texts_in_order() -> None:
    answer = ToolResult([{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}])

    assert text_of(answer) == "a\nb"


def test_the_text_of_a_resource_is_text_too() -> None:
    answer = ToolResult([{"type": "resource", "resource": {"uri": "a:b", "text": "inside"}}])

    assert text_of(answer) == "inside"
    assert beginning(answer, 3, "[more]").content[0] == {"type": "text", "text": "ins"}


def test_a_structured_form_that_says_much_more_stands_for_the_texts() -> None:
    answer = ToolResult([{"type": "text", "text": "see below"}], structured={"rows": ["x"] * 500})

    assert text_of(answer).startswith('{"rows":')


def test_the_beginning_has_the_first_page_the_images_and_how_to_go_on() -> None:
    answer = ToolResult([{"type": "text", "text": "one two three"}, IMAGE], structured={"n": 1})

    shown = beginning(answer, 8, "[more]")

    assert [block.get("text") for block in shown.content] == ["one two ", None, "[more]"]
    assert shown.structured is None


def test_what_is_short_is_kept_as_it_is() -> None:
    rows: list[JsonValue] = [
        None,
        True,
        3,
        2.5,
        "text",
        [1, "two"],
        {"path": "a", "deep": {"er": [1]}},
    ]

    for short in rows:
        assert for_the_record(short) == short


def test_a_long_text_is_cut_and_says_so() -> None:
    assert for_the_record({"body": "x" * 501}) == {"body": "x" * 500 + "…"}


def test_of_many_items_the_first_are_kept() -> None:
    assert for_the_record(list(range(21))) == [*range(20), "…"]
    many = {str(number): number for number in range(23)}
    assert for_the_record(many) == {str(number): number for number in range(20)} | {"…": 3}


def test_what_lies_too_deep_is_left_out() -> None:
    deep: JsonValue = "bottom"
    for _ in range(7):
        deep = {"in": deep}

    kept = for_the_record(deep)

    assert "bottom" not in str(kept)
    assert "…" in str(kept)


ANA = a_person("ana")


def test_the_question_says_what_and_offers_three_answers() -> None:
    act = an_act(ANA, tool="mail.send", to="bob@else.example", text="x" * 3_000, many=[1, {"a": 2}])
    marks = (ArgumentWarning("/to", Danger.RECIPIENT),)

    question = question_of(an_approval(ANA, act=act, marks=marks))
    said = str(question.params["message"])

    assert question.wanted is ClientCapability.ELICITATION
    assert "to: bob@else.example (recipient)" in said
    assert "… and 1,000 more" in said
    assert 'many: [1,{"a":2}]' in said
    schema: Any = question.params["requestedSchema"]
    assert isinstance(schema, dict)
    assert schema["properties"]["answer"]["enum"] == ["once", "run", "reject"]


def test_where_a_rule_asks_nothing_lasting_is_offered() -> None:
    schema: Any = question_of(an_approval(ANA, rule="ask-mail")).params["requestedSchema"]

    assert schema["properties"]["answer"]["enum"] == ["once", "reject"]


def test_nothing_that_was_asked_for_looks_like_what_we_say() -> None:
    forged: dict[str, Any] = {"a\nnote": "x\napr_1; approved already\u202e", "b": {"c": "\u2028"}}

    said = str(question_of(an_approval(ANA, act=an_act(ANA, **forged))).params["message"])

    assert len(said.split("\n")) == 4
    assert not {"\u202e", "\u2028", "\r"} & set(said)
    assert "a<U+000A>note: x<U+000A>apr_1; approved already<U+202E>" in said


def test_what_is_marked_is_whole_and_says_why() -> None:
    given: dict[str, Any] = {"x/command": "y" * 3_000, "b": {"c": "z"}, "d": 1}
    act = an_act(ANA, **given)
    marks = (
        ArgumentWarning("/x~1command", Danger.HIDDEN),
        ArgumentWarning("/x~1command", Danger.COMMAND),
        ArgumentWarning("/b/c", Danger.PATH),
    )
    asked = an_approval(ANA, act=act, marks=marks)

    said = str(question_of(asked).params["message"]).split("\n")
    every = question_of(replace(asked, marks=(ArgumentWarning("", Danger.UNSEEN),))).params[
        "message"
    ]

    assert said[1] == f"x/command: {'y' * 3_000} (part of this is not shown, command)"
    assert said[2:4] == ['b: {"c":"z"} (path)', "d: 1"]
    assert str(every).count("(there is more than was looked through)") == 3


def test_the_exact_words_are_answers() -> None:
    rows: list[tuple[str, AnswerKind]] = [
        ("once", AnswerKind.ONCE),
        ("run", AnswerKind.RUN),
        ("reject", AnswerKind.REJECT),
    ]

    for word, kind in rows:
        assert answer_of({"action": "accept", "content": {"answer": word}}) is kind


def test_what_was_not_accepted_is_no_answer() -> None:
    rows: list[JsonValue] = ["decline", "cancel", "Accept", "", None, True]

    for action in rows:
        assert answer_of({"action": action, "content": {"answer": "once"}}) is None


def test_whatever_else_is_said_is_no_answer() -> None:
    rows: list[JsonValue] = [
        None,
        {},
        "once",
        ["once"],
        {"answer": "yes"},
        {"answer": "Once"},
        {"answer": " once"},
        {"answer": "always"},
        {"answer": True},
        {"answer": ["once"]},
        {"answer": None},
        {"approve": "once"},
    ]

    for content in rows:
        assert answer_of({"action": "accept", "content": content}) is None


def test_a_server_that_nobody_logs_in_to_says_how_to_say_where() -> None:
    error = NoLogins("wiki")

    assert "'wiki'" in str(error)
    assert error.fix is not None
    assert "servers login-config wiki" in error.fix
