"""Whatever a voice says is read as a vote, or told why it is none; what happens comes back."""

import json
import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.debate.core.debates import Decision, Option, Said, Verdict, Why
from portico.debate.core.events import (
    TYPES,
    DebateEnded,
    GuestsWanted,
    Happening,
    PartBegan,
    RoundBegan,
    Skipped,
    Standing,
    VoiceAnswered,
    VoiceAsked,
    VoiceFailed,
    VoiceSpoke,
    happening_json,
    happening_of,
)
from portico.debate.core.prompts import (
    Unusable,
    Vote,
    objects_in,
    read_field,
    read_said,
    read_text_field,
    read_vote,
    said_of,
)
from portico.debate.core.questions import Question, QuestionKind

COLOUR = Question(text="Which?", kind=QuestionKind.CHOICE, choices=("red", "dark blue"))
TRUTH = Question(text="Is it?", kind=QuestionKind.YES_NO)
MANY = Question(text="How many?", kind=QuestionKind.NUMBER)
NAME = Question(text="Who?", kind=QuestionKind.TEXT)
ESSAY = Question(text="Why", kind=QuestionKind.OPEN)
EVERY = (COLOUR, TRUTH, MANY, NAME, ESSAY)


def vote(text: str, question: Question = TRUTH) -> Vote:
    read = read_vote(text, question)
    assert isinstance(read, Vote), read
    return read


def shown(text: str, question: Question) -> str:
    said = read_said(text, question, "a:1", 1)
    assert isinstance(said, Said), said
    return said.shown


def test_a_vote_is_read_with_all_that_belongs_to_it() -> None:
    text = json.dumps(
        {
            "rationale": "since",
            "evidence": ["one", 2, None],
            "answer": "yes",
            "confidence": 0.7,
            "veto": "it leaks",
            "changed_because": "a slip",
        }
    )

    assert vote(text) == Vote(
        answer="yes",
        rationale="since",
        evidence=("one", "2"),
        confidence=0.7,
        veto="it leaks",
        changed_because="a slip",
    )


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ('{"answer": "B"}', COLOUR, "dark blue"),
        ('{"answer": "b)"}', COLOUR, "dark blue"),
        ('{"answer": "Dark Blue!"}', COLOUR, "dark blue"),
        ('```json\n{"answer": "red"}\n```', COLOUR, "red"),
        ('Well, I think so.\n{"answer": "red"} That is all.', COLOUR, "red"),
        ("I weighed it.\n**Answer:** dark blue.", COLOUR, "dark blue"),
        ("red", COLOUR, "red"),
        ('{"answer": true}', TRUTH, "yes"),
        ('{"answer": "No."}', TRUTH, "no"),
        ('{"answer": 12}', MANY, "12"),
        ('{"answer": "Ada"}', NAME, "Ada"),
        ("Because of the wind.", ESSAY, "Because of the wind."),
        ('{"answer": "Because."}', ESSAY, "Because."),
    ],
)
def test_an_answer_is_found_in_whatever_form_it_has(
    text: str, question: Question, answer: str
) -> None:
    assert shown(text, question) == answer


@pytest.mark.parametrize(
    ("text", "question", "code"),
    [
        ("", TRUTH, "empty"),
        (" \x00 ", TRUTH, "empty"),
        ('{"answer": "elephant"}', COLOUR, "not_a_choice"),
        ('{"answer": "perhaps"}', TRUTH, "not_yes_or_no"),
        ('{"answer": ""}', COLOUR, "unreadable"),
        ('{"answer": "yes"', TRUTH, "unreadable"),
        ('{"answer": ["yes"]}', TRUTH, "unreadable"),
        ("I could not say, and would rather go on for long about it. " * 9, TRUTH, "unreadable"),
        ('{"answer": "Bec', ESSAY, "unreadable"),
        ('{"answer": 1e999}', MANY, "unreadable"),
        ('He said {"answer": "yes"}, and I say {"answer": "no"}', TRUTH, "ambiguous"),
    ],
)
def test_what_is_no_vote_is_told_with_its_reason(text: str, question: Question, code: str) -> None:
    said = read_said(text, question, "a:1", 1)

    assert isinstance(said, Unusable), said
    assert said.code == code
    assert said.why.endswith(".")


def test_the_same_answer_twice_is_one_and_another_inside_of_a_text_none() -> None:
    assert vote('{"answer": "yes"} and again {"answer": "Yes!"}').answer == "Yes!"

    inner = json.dumps({"answer": "no", "confidence": 1.0})
    text = json.dumps({"rationale": f"The others say {inner}", "answer": "yes"})

    assert vote(text).answer == "yes"
    assert vote(f"So: {text}").answer == "yes"
    assert vote('So: {"note": "a \\" brace } in it", "answer": "yes"}').answer == "yes"


@pytest.mark.parametrize(
    ("said", "confidence"),
    [
        (0.5, 0.5),
        (85, 0.85),
        ("85%", 0.85),
        ("0.4", 0.4),
        (-1, None),
        (101, None),
        ("much", None),
        (None, None),
        (True, None),
        ([1], None),
        (10**400, None),
        ("1e999", None),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_a_confidence_is_between_0_and_1_or_was_not_said(
    said: object, confidence: float | None
) -> None:
    assert vote(json.dumps({"answer": "yes", "confidence": said})).confidence == confidence


def test_what_says_nothing_is_nothing_and_an_open_answer_goes_by_its_voice() -> None:
    read = vote('{"answer": "yes", "veto": "null", "changed_because": "None", "evidence": "one"}')

    assert (read.veto, read.changed_because, read.evidence) == (None, None, ("one",))
    none = Question(text="Which?", kind=QuestionKind.CHOICE, choices=("red", "None"))
    assert shown('{"answer": "none"}', none) == "None"

    said = read_said("Because.", ESSAY, "a:1", 1)

    assert isinstance(said, Said)
    assert (said.key, said.shown) == ("a:1", "Because.")

    said = read_said('{"answer": "elephant"}', COLOUR, "a:1", 1)

    assert said == Unusable("not_a_choice", "answered 'elephant', which is none of the choices.")


def test_a_changed_answer_counts_only_with_an_error_that_it_names() -> None:
    first = read_said('{"answer": "yes"}', TRUTH, "a:1", 1)
    assert isinstance(first, Said)

    silent = said_of(Vote(answer="no"), TRUTH, "a:1", 2, first=first)
    named = said_of(Vote(answer="no", changed_because="a slip"), TRUTH, "a:1", 2, first=first)
    kept = said_of(Vote(answer="Yes"), TRUTH, "a:1", 2, first=first)

    assert [each.shown for each in (silent, named, kept) if isinstance(each, Said)] == [
        "yes",
        "no",
        "yes",
    ]


@pytest.mark.parametrize(
    ("answer", "question", "code"),
    [("  ", NAME, "empty"), (" ", ESSAY, "empty"), ("", MANY, "not_a_number")],
)
def test_an_empty_answer_is_none(answer: str, question: Question, code: str) -> None:
    said = said_of(Vote(answer=answer), question, "a:1", 1)

    assert isinstance(said, Unusable)
    assert said.code == code


def test_of_objects_in_a_text_the_last_counts_and_no_more_than_twenty() -> None:
    text = '{"same": false} or rather {"same": true} {"other": 1}'

    assert read_field(text, "same") is True
    assert read_field("nothing", "same") is None
    assert read_text_field('{"text": " It is so. "}', "text") == "It is so."
    assert read_text_field("It is so.", "text") == "It is so."
    assert read_text_field('{"text": 7}', "text") == ""

    assert objects_in('so } { "a": { "answer": 1 } ') == []
    assert vote(json.dumps({"answer": 10**40}), MANY).answer == str(10**40)

    assert len(objects_in('{"a": 1} ' * 100)) == 20


@pytest.mark.parametrize(
    "text",
    [
        "{" * 150_000,
        "[" * 150_000,
        '{"answer": ' * 30_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        '"' * 200_000,
        "\\" * 200_000,
        "answer: " * 25_000,
        "```\n" * 50_000,
        "```" + "\n" * 150_000 + "x",
        "```json" + " \n" * 90_000 + "```",
        " " * 300_000,
        '{"answer": ' + "9" * 100_000 + "}",
        "{} " * 60_000,
    ],
)
@pytest.mark.parametrize("question", EVERY)
def test_hostile_texts_are_read_in_no_time(text: str, question: Question) -> None:
    began = time.process_time()

    read_said(text, question, "a:1", 1)

    assert time.process_time() - began < 2


@given(st.text(max_size=400), st.sampled_from(EVERY))
def test_any_text_is_a_vote_or_none(text: str, question: Question) -> None:
    said = read_said(text, question, "a:1", 1)

    if isinstance(said, Said):
        json.dumps(said.as_json()).encode()
        assert Said.from_json(said.as_json()) == said
        assert "\x00" not in said.answer
    else:
        assert said.code


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("answer", "confidence", "veto"), _JSON)),
    st.sampled_from(EVERY),
)
def test_any_json_is_a_vote_or_none(value: dict[str, object], question: Question) -> None:
    said = read_said(json.dumps(value), question, "a:1", 1)

    if isinstance(said, Said):
        assert said.confidence is None or 0 <= said.confidence <= 1
        said.answer.encode()


DECISION = Decision(
    verdict=Verdict.DECIDED,
    why=Why.CERTAIN,
    answer="80",
    probability=0.9,
    options=(Option(key="c:1", shown="80", probability=0.9, voices=("a", "b")),),
    n_eff=1.5,
    rule="cold",
    weights=(("a", 1.25),),
    veto="no",
    synthesis="All of it.",
    asked=2,
    saved_tokens=7,
)
NOTHING_YET = Standing(
    options=(),
    spent_tokens=0,
    reserved_tokens=9,
    cap_tokens=None,
    spent_money=Decimal(0),
    cap_money=None,
)
EVERY_HAPPENING: list[Happening] = [
    RoundBegan(round=2, voices=("a", "b#2")),
    VoiceAsked(voice="a", round=1, reserved_tokens=900, why="It is the first."),
    VoiceSpoke(voice="a", round=1, text="Hm \x00 \ud800"),
    VoiceAnswered(
        voice="a",
        round=1,
        answer="80",
        rationale="It is open.",
        confidence=0.5,
        tokens=12,
        money=Decimal("0.0025"),
        seconds=1.5,
    ),
    VoiceAnswered(
        voice="a",
        round=2,
        answer="80",
        rationale="",
        confidence=None,
        tokens=0,
        money=Decimal(0),
        seconds=0.0,
    ),
    VoiceFailed(voice="a", round=1, code="voice_away", why="Nobody is there."),
    NOTHING_YET,
    Standing(
        options=(("80", 0.75), ("22", 0.2)),
        spent_tokens=10,
        reserved_tokens=0,
        cap_tokens=100,
        spent_money=Decimal("0.1"),
        cap_money=Decimal("2.50"),
    ),
    Skipped(what="critique", why="budget", saved_tokens=300),
    GuestsWanted(seats=2),
    PartBegan(debate="dbt_x", question="Why?"),
    DebateEnded(decision=DECISION, status="decided", tokens=9, money=Decimal(1), seconds=2.0),
    DebateEnded(decision=None, status="failed", tokens=0, money=Decimal(0), seconds=0.0),
]


@pytest.mark.parametrize("happening", EVERY_HAPPENING, ids=lambda each: type(each).__name__)
def test_it_comes_back_as_it_was(happening: Happening) -> None:
    type_, facts = happening_json(happening)

    assert happening_of(type_, json.loads(json.dumps(facts))) == happening


def test_every_happening_has_a_name_of_its_own() -> None:
    assert {type(each) for each in EVERY_HAPPENING} == set(TYPES)
    assert len(set(TYPES.values())) == len(TYPES)


def test_what_is_of_a_later_version_is_passed_over_and_a_list_that_is_none_is_empty() -> None:
    assert happening_of("voice.sang", {}) is None

    began = happening_of("round.began", {"round": 1, "voices": "everybody"})

    assert began == RoundBegan(round=1, voices=())
