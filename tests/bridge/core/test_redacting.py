"""A text without what was found in it, as it is shown to whoever has to say yes."""

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from portico.bridge.core.declassification import Finding, FindingKind
from portico.bridge.core.redacting import redacted
from tests.bridge.core.test_scan import texts

LETTER = """\
Dear all,
write to ana@example.com
or ben@example.com.
The token is token=abcd1234efgh
Nothing here.
Nor here.
-----BEGIN PRIVATE KEY-----
abc
-----END PRIVATE KEY----- (old)
Yours"""


def test_the_text_has_words_in_the_place_of_what_went() -> None:
    assert redacted(LETTER).text == snapshot("""\
Dear all,
write to [e-mail]
or [e-mail].
The token is token=[password]
Nothing here.
Nor here.
[private-key] (old)
Yours\
""")


def test_the_changes_are_told_line_by_line_and_without_a_secret() -> None:
    assert list(redacted(LETTER).diff) == snapshot(
        [
            "line 2:",
            " Dear all,",
            "-write to ana@example.com",
            "+write to [e-mail]",
            "line 3:",
            "-or ben@example.com.",
            "+or [e-mail].",
            "line 4:",
            "-The token is token=********",
            "+The token is token=[password]",
            " Nothing here.",
            "line 7:",
            " Nor here.",
            "-******** (old)",
            "+[private-key] (old)",
            " Yours",
        ]
    )


def test_what_changes_in_one_line_is_one_change() -> None:
    assert redacted("a@b.co, c@d.co").diff == (
        "line 1:",
        "-a@b.co, c@d.co",
        "+[e-mail], [e-mail]",
    )


def test_of_a_text_with_nothing_in_it_nothing_changes() -> None:
    whole = redacted("Nothing.\nAt all.")

    assert (whole.text, whole.findings, whole.diff) == ("Nothing.\nAt all.", (), ())


def test_others_may_say_what_was_found() -> None:
    finding = Finding("name", FindingKind.PERSONAL, 5, 8)

    assert redacted("Dear Ana!", [finding]).text == "Dear [name]!"


@given(texts)
def test_to_do_it_twice_is_to_do_it_once(text: str) -> None:
    once = redacted(text).text

    assert redacted(once).text == once


@given(st.lists(st.sampled_from(["a@b.co", "x", "", "token=abc"]), max_size=12))
def test_the_changes_account_for_every_line_that_is_another(lines: list[str]) -> None:
    whole = redacted("\n".join(lines))

    gone = [line[1:] for line in whole.diff if line.startswith("-")]
    come = [line[1:] for line in whole.diff if line.startswith("+")]
    changed = [line for line in lines if line in {"a@b.co", "token=abc"}]
    assert gone == [line.replace("abc", "********") for line in changed]
    assert len(come) == len(gone)
