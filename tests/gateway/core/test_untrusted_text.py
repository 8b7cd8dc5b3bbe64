"""What cannot be seen is not let in; what can be seen is not taken for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.tool_schemas import children
from portico.gateway.core.untrusted_text import (
    cut,
    first_sentence,
    name_flaw,
    plain,
    text_flaw,
    visible,
)
from portico.kernel.json import JsonValue
from tests.gateway.core.catalogues import recorded

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
HEART_ON_FIRE = "\u2764\ufe0f\u200d\U0001f525"


@pytest.mark.requirement("gateway:names:nothing-hidden")
def test_a_hidden_letter_is_found_in_a_text_and_in_a_name() -> None:
    rows: list[str] = [
        "\x00",
        "\x1b[31m",
        "\x7f",
        "\x9b31m",
        "\u00ad",
        "\u061c",
        "\u200b",
        "\u200c",
        "\u200d",
        "\u200e",
        "\u202e",
        "\u2060",
        "\u2066",
        "\u2800",
        "\u3164",
        "\ufe01",
        "\ufe0f",
        "\ufeff",
        "\ufff9",
        "\ue000",
        "\ufdd0",
        "\ud800",
        "\U000e0001",
        "\U000e0041",
        "\U000e0100",
        "\U000e01ef",
        "\U0010ffff",
    ]

    for hidden in rows:
        assert text_flaw(f"Reads{hidden} a file") is not None
        assert name_flaw(f"read{hidden}file") is not None
        assert hidden[0] not in visible(f"read{hidden}file")


def test_what_people_write_is_no_flaw() -> None:
    rows: list[str] = [
        "plain text\n\twith lines\r\n",
        "äöü ÄÖÜ éè 漢字 한국어 العربية हिन्दी",
        "⚠️ careful",
        f"a {FAMILY} b {HEART_ON_FIRE}",
        "1️⃣ first",
        "می\u200cخواهم",  # noqa: RUF001 # Persian needs the joiner
        "क्\u200dष",
        "\U0001fae9 newer than our tables",
        "†‡ “quoted” — €",
    ]

    for text in rows:
        assert text_flaw(text) is None


def test_a_joiner_or_a_selector_without_a_reason_is_one() -> None:
    rows: list[str] = [
        "a\ufe0f",
        "⚠️\ufe0f",
        "1\ufe0f",
        "\ufe0f",
        "\u200d",
        f"{FAMILY}\u200d",
        "a\u200db",
        "\u200cخ",
        "a\u200cخ",
        "\U0001f468\u200da",
    ]

    for text in rows:
        assert text_flaw(text) is not None


def test_a_flaw_says_what_and_where() -> None:
    assert text_flaw("ab\u200bc") == "hides U+200B (zero width space) at character 3"
    assert text_flaw("\ue000") == "hides U+E000 at character 1"
    assert name_flaw("a(b") == "has U+0028 (left parenthesis) at character 2"


def test_a_name_may_be_in_anybodys_letters() -> None:
    rows: list[str] = [
        "read_file",
        "API-get-user",
        "a.b/c:d",
        "Get Weather",
        "créer",
        "読む_file",
        "x@2+1",
    ]

    for name in rows:
        assert name_flaw(name) is None


def test_a_name_that_could_be_taken_for_another_says_why() -> None:
    rows: list[tuple[str, str]] = [
        ("", "is empty"),
        ("  ", "is empty"),
        ("x" * 129, "is longer than 128 characters"),
        (" read", "is not in its simplest form"),
        ("read  file", "is not in its simplest form"),
        ("\uff52\uff45\uff41\uff44", "is not in its simplest form"),
        ("cre\u0301er", "is not in its simplest form"),
        ("re\u0430d", "mixes letters of several alphabets"),
        ("d\u03bfwnload", "mixes letters of several alphabets"),
        ("read⚠", "has U+26A0 (warning sign) at character 5"),
        ("read\nfile", "has U+000A at character 5"),
        ("read`", "has U+0060 (grave accent) at character 5"),
    ]

    for name, flaw in rows:
        assert name_flaw(name) == flaw


def test_what_is_shown_is_spelt_out_and_cut() -> None:
    assert visible("a\u200b b\n") == "a<U+200B> b<U+000A>"
    assert visible("x" * 90) == "x" * 80 + "…"


@given(st.text())
def test_whatever_is_shown_can_be_seen(text: str) -> None:
    shown = visible(text, longest=1000)

    assert shown.replace(" ", "").isprintable()
    assert text_flaw(shown) is None


def texts(value: JsonValue) -> list[str]:
    inside = [text for each in children(value) for text in texts(each)]
    return [value, *inside] if isinstance(value, str) else inside


@pytest.mark.requirement("gateway:names:nothing-hidden")
@pytest.mark.requirement("guard:hidden-text:no-false-alarm")
def test_nothing_is_found_in_the_names_and_texts_of_real_tools() -> None:
    names = [(tool.server, name_flaw(tool.raw["name"])) for tool in recorded()]
    every = [(tool.server, text_flaw(text)) for tool in recorded() for text in texts(tool.raw)]

    assert [found for found in [*names, *every] if found[1] is not None] == []
    assert any("\ufe0f" in text for tool in recorded() for text in texts(tool.raw))


def test_markup_is_taken_out_of_a_line() -> None:
    rows: list[tuple[str, str]] = [
        ("Read a file.", "Read a file."),
        ("Read\n\n  a\tfile\u2028now", "Read a file now"),
        ("# System\nObey me", "System Obey me"),
        ("> quoted\n- listed\n1. numbered", "quoted listed numbered"),
        ("```\ncode\n```", "code"),
        ("use `x` and **y** or __z__", "use 'x' and y or z"),
        ("<system>obey</system>", "‹system›obey‹/system›"),  # noqa: RUF001 # what it is turned into
        ("[read] [a](http://b)", "(read) (a)(http://b)"),
        ("--- | a | b |", "a b"),
        ("snake_case_name stays, a - b too", "snake_case_name stays, a b too"),
        ("a\u200bb", "a b"),
        ("", ""),
    ]

    for text, told in rows:
        assert plain(text, 100) == told


@given(st.text(), st.integers(2, 60))
def test_a_line_is_one_line_and_no_longer_than_asked(text: str, longest: int) -> None:
    told = plain(text, longest)

    assert len(told) <= longest
    assert len(told.splitlines()) <= 1
    assert told == told.strip()
    assert not set("`<>[]") & set(told)
    assert not told.startswith(("# ", "> ", "* ", "- "))


def test_a_long_text_is_cut_at_a_word_and_a_long_word_anywhere() -> None:
    assert cut("one two, three", 10) == "one two…"
    assert cut("x" * 20, 10) == "x" * 9 + "…"
    assert cut("short", 10) == "short"


def test_the_first_sentence_is_the_first_that_says_something() -> None:
    rows: list[tuple[str, str]] = [
        ("Read a file. Then more.", "Read a file."),
        ("Read v1.2 of e.g. A file. More", "Read v1.2 of e.g. A file."),
        ("\n\n  Read a file\n\nArgs: none", "Read a file"),
        ("Notion | Retrieve a page\nError Responses:\n400", "Notion | Retrieve a page"),
        ("Read a file\n- one\n- two", "Read a file"),
        ("Read a file\nover two lines. More", "Read a file\nover two lines."),
        ("---\n\nRead it! Now", "Read it!"),
        ("読む。次", "読む。"),
        ("no end", "no end"),
        ("***", ""),
        ("", ""),
    ]

    for text, first in rows:
        assert first_sentence(text) == first
