"""What answers are counted as."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from portico.debate.core.canonical_answers import (
    Canonical,
    canonical,
    canonical_value,
    chosen,
    folded,
    yes_or_no,
)
from portico.debate.core.canonical_formulas import Name, at_places
from portico.debate.core.questions import Question, QuestionKind, kind_of
from tests.debate.core.same_answers import DIFFERENT, SAME

CITIES = ("Paris", "London", "New York", "New York City")


def asked(text: str, kind: QuestionKind = QuestionKind.NUMBER, *choices: str) -> Question:
    return Question(text=text, kind=kind, choices=choices)


def key(answer: str, question: str = "") -> str:
    found = canonical_value(answer, question)
    assert found is not None
    return found.key


@pytest.mark.parametrize(("one", "other"), SAME)
def test_answers_that_mean_the_same_are_counted_as_one(one: str, other: str) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_near_misses_are_kept_apart(one: str, other: str) -> None:
    assert key(one) != key(other)


def test_two_hundred_pairs_were_checked_by_hand() -> None:
    assert len(SAME) >= 200


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("TCP", "PTC"),
        ("10.0.0.1", "192.168.0.1"),
        ("1.2.30", "1.23.0"),
        ("a1b2c3", "b2a1c3"),
        ("ghp_a1B2c3D4e5", "ghp_D4a1B2c3e5"),
        ("the key is ghp_a1B2c3", "use ghp_a1B2c3 there"),
    ],
)
def test_names_and_addresses_are_no_formulae(one: str, other: str) -> None:
    assert key(one) != key(other)
    assert key(one) == key(f" {one} ")


@pytest.mark.parametrize(
    ("question", "answer", "meant"),
    [
        ("How far is it in km?", "5000 m", "5"),
        ("How many bytes has a header?", "320 bits", "forty"),
        ("How many bytes has a header?", "Forty-two bytes.", "42"),
        ("How many bytes has a header?", "forty thousand", "40 kB"),
        ("How many bits has it?", "40 bytes", "320"),
        ("How many?", "twenty", "20"),
        ("How far is it in km?", "5 km", "5"),
        ("How many minutes?", "2 hours", "120"),
        ("How many apples?", "3 apples", "3"),
        ("How many people?", "9 billion people", "9000000000"),
        ("How far?", "5 km", "5000 m"),
        ("How far in 3 hours?", "5 km", "5000 m"),
        ("How far?", "3 miles", "3 mi"),
        ("How warm?", "20°", "20"),
    ],
)
def test_units_are_those_that_the_question_names(question: str, answer: str, meant: str) -> None:
    assert key(answer, question) == key(meant, question)


@pytest.mark.parametrize(
    ("one", "other"),
    [("5 km", "5 miles"), ("5 km", "5"), ("3 apples", "3 oranges"), ("5 km", "5 kg")],
)
def test_a_unit_that_the_question_does_not_name_counts(one: str, other: str) -> None:
    assert key(one, "What was it?") != key(other, "What was it?")


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ("a", 0),
        ("B)", 1),
        ("(c)", 2),
        ("The answer is D.", 3),
        ("paris!", 0),
        ("**London**", 1),
        ("4", 3),
        ("b) London", 1),
        ("I think New York City is right", 3),
        ("New York", 2),
        ("My vote is London", 1),
        ("b) Paris", 0),
        ("elephant", None),
        ("Paris or London", None),
        ("", None),
        ("5", None),
        ("0", None),
        ("z", None),
    ],
)
def test_a_choice_is_known_by_letter_number_or_text(answer: str, place: int | None) -> None:
    assert chosen(answer, CITIES) == place


def test_a_choice_is_known_by_its_own_text_first_without_case_and_wrapping() -> None:
    assert chosen("2", ("4", "2")) == 1
    assert chosen("b", ("b", "a")) == 0
    assert folded(" **New\tYork!** ") == "new york"


@pytest.mark.parametrize(
    ("answer", "word"),
    [("Yes.", "yes"), ("no, because", "no"), ("The answer is True", "yes"), ("maybe", None)],
)
def test_yes_and_no_are_known_by_their_first_word(answer: str, word: str | None) -> None:
    assert yes_or_no(answer) == word


def test_each_kind_of_question_has_its_own_keys() -> None:
    choice = asked("Where?", QuestionKind.CHOICE, *CITIES)

    assert canonical(choice, "london") == Canonical("c:1", "London")
    assert canonical(choice, "elephant") is None
    assert canonical(asked("Is it?", QuestionKind.YES_NO), "Yes!") == Canonical("c:yes", "yes")
    assert canonical(asked("Is it?", QuestionKind.YES_NO), "perhaps") is None
    assert canonical(asked("What is half of 3?"), "$1.50$") == Canonical("n:3/2", "1.50")
    assert canonical(asked("Who?", QuestionKind.TEXT), "Ada  Lovelace.") == Canonical(
        "t:adalovelace", "Ada Lovelace"
    )
    assert canonical(asked("Why?", QuestionKind.OPEN), " So. ") == Canonical("o:So.", "So.")
    assert canonical(asked("Why?", QuestionKind.OPEN), "  ") is None


@pytest.mark.parametrize("answer", ["", "  ", "$", "\x00\ud800", "$$$", "\\text{", "\\boxed{"])
def test_what_says_nothing_is_no_answer(answer: str) -> None:
    assert canonical_value(answer) is None


@pytest.mark.parametrize(
    "answer",
    [
        "(",
        "3^",
        "1/0",
        "9^9^9^9",
        "{" * 5_000,
        "(" * 60 + "1" + ")" * 60,
        "-" * 300 + "1",
        "x" * 300,
        "\\frac{1}",
        "\\sqrt[3",
        "\\sqrt[3]",
        "\\unknown",
        "a_{x+1}",
        "2^{9999}",
        "(-1)!",
        "1000!",
        "0.5!",
        "(1+1",
        "[1",
        "1=2",
        "x=x+1=2",
        "\\log(0)",
        "e^{e^{e^{e^9}}}",
        "1&2",
        "\\infty+3",
        "x/(x-x)",
        "x=x",
        "\\begin{pmatrix}\\end{pmatrix}",
        "1,,2",
        "(,)",
        "((1,2),(3,4))",
        "2^{64}" * 60,
        "2^{2^{2^{2^{2}}}}",
        "1e999",
        "x=2x=3x",
        "\\frac{1}{2}\\begin{pmatrix}1\\end{pmatrix}",
        "(((1,2),3),4),5),6)",
        "((((1,2),3),4),5)",
        "0=1",
        "*3",
        "+",
        "\\sin",
        "x" + "+x" * 150,
        "\\sqrt",
        "x_",
        "1|2",
        "3\\pm",
        "é",
        "()",
        "*".join(["10^{60}"] * 25),
        "e^{700}*e^{700}",
        "((1)",
        "1.7*10^{308}(1+i)",
        "x=10^{308}i+1.7*10^{308}",
        "x=10^{308}y+10^{308}",
        "3x=10^{308}*10^{308}*10^{308}",
        "-" * 399 + "1",
        "3" + "!" * 390,
        "2x=3x=4x",
        "99999999999999999999999999^{64}",
        "(10^{60})^{60}*10^{60}*10^{60}",
    ],
)
def test_hostile_answers_are_texts_at_worst(answer: str) -> None:
    assert key(answer) == key(answer)


def test_an_equation_that_holds_where_it_is_looked_at_is_a_text() -> None:
    place = complex(at_places(Name("x"), ["x"])[0]).real

    assert key(f"2x={2 * place!r}").startswith("t:")


@given(some.text(max_size=300))
def test_any_text_has_one_key_at_most(text: str) -> None:
    assert canonical_value(text) == canonical_value(text)


@given(some.text(alphabet="0123456789+-*/^(){}[]\\,.=<>xyi sqrtfacpm&_!%$", max_size=80))
def test_any_formula_has_one_key_at_most(text: str) -> None:
    assert canonical_value(text) == canonical_value(f" {text} ")


@given(some.integers(-(10**30), 10**30), some.integers(1, 10**6))
def test_a_fraction_is_its_value_however_it_is_written(above: int, below: int) -> None:
    written = (
        f"{above}/{below}",
        f"\\frac{{{above}}}{{{below}}}",
        f"\\frac{{{3 * above}}}{{{3 * below}}}",
    )

    assert len({key(each) for each in written}) == 1


@pytest.mark.parametrize(
    "unit", ["(", "\\frac{", "1,", "x+", "\\text{", " and ", "a ", "\\sqrt{[", " ", "\n", "or "]
)
def test_a_huge_answer_takes_no_longer_than_it_is_long(unit: str) -> None:
    begun = time.process_time()

    canonical_value(f"x{unit * 200_000}y")

    assert time.process_time() - begun < 0.5


@pytest.mark.parametrize("text", ["One Republic", "one must see", "Seven Samurai", "twenty-twenty"])
def test_words_that_only_begin_with_a_number_are_words(text: str) -> None:
    its = canonical_value(text, "Who was it?")

    assert its is not None
    assert its.key.startswith("t:")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Can you explain how TCP slow start works?", QuestionKind.OPEN),
        ("Could you please list the steps?", QuestionKind.OPEN),
        ("Would you write a summary?", QuestionKind.OPEN),
        ("Can you write to a closed socket?", QuestionKind.YES_NO),
        ("Can we list both?", QuestionKind.YES_NO),
        ("Would you recommend it?", QuestionKind.YES_NO),
    ],
)
def test_a_wish_in_the_shape_of_a_question_is_open(text: str, kind: QuestionKind) -> None:
    assert kind_of(text) is kind
