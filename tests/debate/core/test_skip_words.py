"""What was not done is told with its reason."""

import pytest

from portico.debate.core.skip_words import skip_words


@pytest.mark.parametrize(
    ("what", "why", "saved", "told"),
    [
        (
            "critique",
            "budget",
            1_200,
            "Not done: the critique round, as the budget has no room for it "
            "(up to 1,200 tokens less).",
        ),
        ("guests:1", "late", 0, "Not done: waiting longer for guests, as there is no time for it."),
        (
            "said:1:openai:gpt-5",
            "budget",
            0,
            "Not done: asking openai:gpt-5, as the budget has no room for it.",
        ),
        (
            "one more voice",
            "certain",
            0,
            "Not done: one more voice, as nobody who is left could change the answer.",
        ),
        ("voice:a:1", "It is away. Wait.", 0, "a:1 is left out: It is away. Wait."),
        (
            "material:a:1",
            "its window has room for 9.",
            0,
            "a:1 reads only the beginning of the material: its window has room for 9.",
        ),
        ("same:0f", "late", 0, "Not done: asking a judge, as there is no time for it."),
        ("openai:gpt-5", "It is away.", 0, "Not done: openai:gpt-5, as It is away."),
    ],
)
def test_what_was_not_done_is_told_with_its_reason(
    what: str, why: str, saved: int, told: str
) -> None:
    assert skip_words(what, why, saved) == told
