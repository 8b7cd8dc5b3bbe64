"""What a yes is bound to, and what a record is signed with."""

from dataclasses import replace
from datetime import timedelta, timezone

import pytest
from inline_snapshot import snapshot

from portico.bridge.core.declassification import (
    Declassification,
    DeclassificationId,
    check_lower,
    digest_of,
    pin_of,
    signed_content,
)
from portico.bridge.core.errors import BelowContainer, NotLower
from portico.bridge.core.message import MessageId
from portico.kernel.ids import ApprovalId, PrincipalId, SpaceId
from portico.kernel.label import PUBLIC, Label
from portico.testing.kernel import BEGINNING

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


def test_a_signature_is_of_everything_in_the_record() -> None:
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


def test_a_record_has_one_text_whoever_reads_it_and_where() -> None:
    elsewhere = RECORD.at.astimezone(timezone(timedelta(hours=5)))
    read = replace(RECORD, at=elsewhere, signature="another", sound=False)

    assert signed_content(SPACE, read) == signed_content(SPACE, RECORD)
