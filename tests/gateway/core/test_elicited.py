"""A request as a question to whoever sits at a program, and what counts as an answer."""

from dataclasses import replace
from typing import Any

from portico.gateway.core.elicited import answer_of, question_of
from portico.gateway.core.upstream import Wanted
from portico.guard.core.approval import AnswerKind
from portico.guard.core.danger import Danger, Mark
from portico.kernel.json import JsonValue
from portico.testing.guard import a_person
from tests.guard.approvals import an_act, an_approval

ANA = a_person("ana")


def test_the_question_says_what_and_offers_three_answers() -> None:
    act = an_act(ANA, tool="mail.send", to="bob@else.example", text="x" * 3_000, many=[1, {"a": 2}])
    marks = (Mark("/to", Danger.RECIPIENT),)

    question = question_of(an_approval(ANA, act=act, marks=marks))
    said = str(question.params["message"])

    assert question.wanted is Wanted.ELICITATION
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
        Mark("/x~1command", Danger.HIDDEN),
        Mark("/x~1command", Danger.COMMAND),
        Mark("/b/c", Danger.PATH),
    )
    asked = an_approval(ANA, act=act, marks=marks)

    said = str(question_of(asked).params["message"]).split("\n")
    every = question_of(replace(asked, marks=(Mark("", Danger.UNSEEN),))).params["message"]

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
