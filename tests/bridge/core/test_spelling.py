"""What names and texts may hold."""

import pytest

from portico.bridge.core.errors import BadBridgeInput
from portico.bridge.core.spelling import check_flaws, flaws_of_line, flaws_of_text


@pytest.mark.parametrize("text", ["a", "Zürich 1/2", "x" * 10, "日本"])
def test_a_line_is_what_can_be_shown_in_one(text: str) -> None:
    assert flaws_of_line("name", text, most=10) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must not be empty"),
        ("x" * 11, "has 11 letters; at most 10"),
        (" a", "begins or ends with a space"),
        ("a\nb", "has letters that cannot be shown in a line"),
        ("a\0", "has letters that cannot be shown in a line"),
        ("\ud800", "has letters that cannot be shown in a line"),
        ("\u202eabc", "has letters that cannot be shown in a line"),
    ],
)
def test_a_line_that_is_none_is_told_why(text: str, told: str) -> None:
    [flaw] = flaws_of_line("name", text, most=10)

    assert (flaw.field, flaw.message) == ("name", told)


@pytest.mark.parametrize(
    ("text", "flaws"),
    [("", 0), ("a\n\tb ", 0), ("a\0", 1), ("\udfff", 1), ("x" * 10, 0), ("x" * 11, 1)],
)
def test_a_text_may_have_lines_but_nothing_that_cannot_be_kept(text: str, flaws: int) -> None:
    assert len(flaws_of_text("body", text, most=10)) == flaws


def test_all_flaws_are_told_at_once() -> None:
    check_flaws([])

    with pytest.raises(BadBridgeInput, match=r"name: .*; body: ") as refused:
        check_flaws(
            [*flaws_of_line("name", "", most=1), *flaws_of_text("body", "", least=1, most=1)]
        )

    assert [flaw.field for flaw in refused.value.flaws] == ["name", "body"]
