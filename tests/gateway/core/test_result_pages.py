"""A long answer is cut into pages that together are the whole of it."""

from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.call import Answer
from portico.gateway.core.result_pages import beginning, pages, text_of

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
