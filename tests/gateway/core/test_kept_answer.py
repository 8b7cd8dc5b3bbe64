"""What is kept of calls: answers, their pages, and arguments for the record."""

from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.call import Answer, CallId
from portico.gateway.core.kept_answer import answer_from, answer_kept
from portico.gateway.core.record import for_the_record
from portico.gateway.core.result_pages import beginning, pages, text_of
from portico.kernel.json import JsonValue, kept
from portico.testing.kernel import BEGINNING, SeededEntropy

CALL = CallId.mint(BEGINNING, SeededEntropy())


def test_it_comes_back_as_it_was() -> None:
    rows: list[Answer] = [
        Answer([{"type": "text", "text": "hello"}]),
        Answer([], structured={"a": [1, None]}, failed=True, meta={"x": "y"}),
    ]

    for answer in rows:
        assert answer_from(kept(answer_kept(answer, CALL))) == (answer, CALL)


def test_what_was_kept_of_something_else_is_none() -> None:
    rows: list[JsonValue] = ["a page of text", None, {"content": []}, [1]]

    for other in rows:
        assert answer_from(other) is None


def test_of_something_bent_the_rest_comes_back() -> None:
    bent: JsonValue = {"call": str(CALL), "content": "no list", "meta": 1}

    assert answer_from(bent) == (Answer([]), CALL)
    assert answer_from({"call": str(CALL), "content": [1, {"type": "text"}]}) == (
        Answer([{"type": "text"}]),
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
    answer = Answer([{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}])

    assert text_of(answer) == "a\nb"


def test_the_text_of_a_resource_is_text_too() -> None:
    answer = Answer([{"type": "resource", "resource": {"uri": "a:b", "text": "inside"}}])

    assert text_of(answer) == "inside"
    assert beginning(answer, 3, "[more]").content[0] == {"type": "text", "text": "ins"}


def test_a_structured_form_that_says_much_more_stands_for_the_texts() -> None:
    answer = Answer([{"type": "text", "text": "see below"}], structured={"rows": ["x"] * 500})

    assert text_of(answer).startswith('{"rows":')


def test_the_beginning_has_the_first_page_the_images_and_how_to_go_on() -> None:
    answer = Answer([{"type": "text", "text": "one two three"}, IMAGE], structured={"n": 1})

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
