"""What is left of a text once things were found in it; what a yes and a signature are bound to."""

from dataclasses import replace
from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from portico.bridge.core.declassification import (
    Declassification,
    DeclassificationId,
    Finding,
    FindingKind,
    check_lower,
    digest_of,
    pin_of,
    redacted,
    signed_content,
)
from portico.bridge.core.errors import BelowContainer, NotLower
from portico.bridge.core.messages import MessageId
from portico.kernel.ids import ApprovalId, PrincipalId, SpaceId
from portico.kernel.label import PUBLIC, Label
from portico.testing.memory_store import BEGINNING
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


def test_what_changes_in_one_line_is_one_change_and_in_none_none() -> None:
    assert redacted("a@b.co, c@d.co").diff == (
        "line 1:",
        "-a@b.co, c@d.co",
        "+[e-mail], [e-mail]",
    )

    whole = redacted("Nothing.\nAt all.")

    assert (whole.text, whole.findings, whole.diff) == ("Nothing.\nAt all.", (), ())

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


SPACE = SpaceId.of_digest(b"space")
RECORD = Declassification(
    id=DeclassificationId.of_digest(b"record"),
    source=MessageId.of_digest(b"source"),
    copy=MessageId.of_digest(b"copy"),
    before=Label.parse("restricted+legal+finance"),
    after=Label.parse("team+finance"),
    rules=("e-mail",),
    asked_by=PrincipalId.of_digest(b"ana"),
    approved_by=PrincipalId.of_digest(b"ben"),
    approval=ApprovalId.of_digest(b"approval"),
    at=BEGINNING,
    digest=digest_of("text"),
    signature="signature",
)


@pytest.mark.parametrize("wanted", ["confidential", "restricted", "team+legal", "public+finance"])
def test_only_what_is_less_secret_is_lower(wanted: str) -> None:
    with pytest.raises(NotLower):
        check_lower(Label.parse("confidential"), Label.parse(wanted), PUBLIC)


def test_nothing_is_lower_than_where_it_stands() -> None:
    before, inside = Label.parse("restricted+legal"), Label.parse("team+legal")

    check_lower(before, Label.parse("team+legal"), inside)
    with pytest.raises(BelowContainer):
        check_lower(before, Label.parse("confidential"), inside)


def test_a_yes_is_to_one_message_from_one_label_to_another_in_these_words() -> None:
    pin = pin_of(RECORD.source, RECORD.before, RECORD.after, "text")

    others = [
        pin_of(RECORD.copy, RECORD.before, RECORD.after, "text"),
        pin_of(RECORD.source, Label.parse("restricted+legal"), RECORD.after, "text"),
        pin_of(RECORD.source, RECORD.before, PUBLIC, "text"),
        pin_of(RECORD.source, RECORD.before, RECORD.after, "other"),
    ]
    assert pin == snapshot(
        "41cf6794-ba42-80b8-b9c5-3531555f0f39 3:finance,legal 1:finance "
        "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"
    )
    assert pin not in others


def test_only_what_is_signed_makes_another_record() -> None:
    signed = signed_content(SPACE, RECORD)
    later = RECORD.at + timedelta(microseconds=1)

    others = [
        replace(RECORD, id=DeclassificationId.of_digest(b"other")),
        replace(RECORD, source=RECORD.copy),
        replace(RECORD, copy=RECORD.source),
        replace(RECORD, before=PUBLIC),
        replace(RECORD, after=PUBLIC),
        replace(RECORD, rules=()),
        replace(RECORD, asked_by=RECORD.approved_by),
        replace(RECORD, approved_by=RECORD.asked_by),
        replace(RECORD, approval=ApprovalId.of_digest(b"other")),
        replace(RECORD, at=later),
        replace(RECORD, digest=digest_of("other")),
    ]
    assert signed not in [signed_content(SPACE, other) for other in others]
    assert signed != signed_content(SpaceId.of_digest(b"other"), RECORD)

    elsewhere = RECORD.at.astimezone(timezone(timedelta(hours=5)))
    read = replace(RECORD, at=elsewhere, signature="another", sound=False)

    assert signed_content(SPACE, read) == signed_content(SPACE, RECORD)
