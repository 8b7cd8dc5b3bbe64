"""Declassification: scan, redact, sign."""

import time
from dataclasses import replace
from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from portico.bridge.core.declassification import (
    UNCLEAR,
    Declassification,
    DeclassificationId,
    FindingKind,
    RedactedText,
    ScanMatch,
    check_lower,
    digest_of,
    found,
    pin_of,
    redacted,
    signed_content,
)
from portico.bridge.core.errors import BelowContainer, NotLower
from portico.bridge.core.messages import MessageId
from portico.kernel.ids import ApprovalId, PrincipalId, SpaceId
from portico.kernel.label import PUBLIC, Label
from portico.testing.memory_store import BEGINNING

PIECES = [
    *("AKIA", "A" * 16, "0" * 16, "ghp_", "a" * 20, "sk-", "key-", "0123456789abcdef" * 2),
    *("password=", "password: ", "token=", "secret: ", "--password ", "x9Kq2mZ7pL4w", "_key=>"),
    *("[password]", "[e-mail]", "[", "]", "(", ",", ".", "-", ":", "::", "'", '"', "\\", " ", "\n"),
    *("ana@example.com", "@", "a", "b.co", "4111111111111111", "DE89370400440532013000"),
    *("+49 170 1234567", "tel ", "030 1234567", "123-45-6789", "10.1.2.3", "1", "fe80::12"),
    *("://u:", "@h", "cookie: ", "authorization: Basic ", "bearer ", "abcd1234efgh", "ptc_"),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", f"eyJ{'a' * 9}.{'b' * 9}."),
]
"""What rules look for, and what they end at, so that random texts are of their kind."""

texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text()


def told(text: str) -> list[tuple[str, str]]:
    return [(each.rule, text[each.start : each.end]) for each in found(text)]


@pytest.mark.parametrize(
    ("rule", "secret", "around"),
    [
        ("portico-key", "ptc_abcdefghijkl_" + "X" * 40, "with {}."),
        ("aws-key", "AKIAABCDEFGHIJKLMNOP", "id {}"),
        ("github-token", "ghp_" + "a1" * 18, "({})"),
        ("github-token", "github_pat_" + "a1" * 30, "{}"),
        ("gitlab-token", "glpat-" + "a1" * 10, "{}"),
        ("gitlab-token", "glrt-" + "a1" * 10, "{}"),
        ("slack-token", "xoxb-1234567890-abc", "{}"),
        ("slack-webhook", "services/T0AAA/B0BBB/c1" + "d2" * 11, "https://hooks.slack.com/{}"),
        ("stripe-key", "sk_live_" + "a1" * 12, "{}"),
        ("stripe-key", "rk_test_" + "a1" * 12, "{}"),
        ("stripe-webhook-secret", "whsec_" + "a1" * 16, "{}"),
        ("provider-key", "sk-proj-" + "a1" * 20, "{}"),
        ("provider-key", "sk-ant-api03-" + "a1" * 20, "{}"),
        ("google-key", "AIza" + "a1" * 18, "{}"),
        ("google-client-secret", "GOCSPX-" + "a1" * 14, "{}"),
        ("npm-token", "npm_" + "a1" * 18, "{}"),
        ("pypi-token", "pypi-" + "a1" * 30, "{}"),
        ("twilio-key", "SK" + "0a" * 16, "{}"),
        ("sendgrid-key", f"SG.{'a1' * 11}.{'b2' * 20}", "{}"),
        ("mailgun-key", "key-" + "0a" * 16, "{}"),
        ("telegram-token", "123456789:AA" + "b" * 33, "{}"),
        ("age-key", "AGE-SECRET-KEY-1" + "Q2" * 29, "{}"),
        ("private-key", "-----BEGIN RSA PRIVATE KEY-----\nab\n-----END RSA PRIVATE KEY-----", "{}"),
        ("json-web-token", f"eyJ{'a' * 20}.eyJ{'b' * 20}.{'c' * 20}", "{}"),
        ("bearer-token", "abcdefgh12345678", "x-auth: Bearer {}"),
        ("password-in-address", "p4ss", "postgres://app:{}@db/x"),
        ("authorization-header", "Basic YWJjOmRlZg==", "Authorization: {}"),
        ("cookie", "sid=abc; other=d", "Set-Cookie: {}"),
        ("password", "hunter2,", "password = {} and more"),
        ("password", '"two words"', "passphrase: {}"),
        ("assigned-secret", "aB3dE5fG7hI9jK1l", "client_secret: {}"),
        ("assigned-secret", "Zm9vYmFyMTIzNDU2Nzg5MGFiY2Q=", "AccountKey={};"),
        ("e-mail", "ana.meier+x@mail.example.co.uk", "from <{}>"),
        ("e-mail", "jörg@müller.example", "{},"),
        ("network-address", "192.168.17.4", "at {}:80"),
        ("network-address", "2001:db8::8a2e:370:7334", "[{}]"),
        ("network-address", "fe80::1%eth0", "{} "),
        ("network-address", "::ffff:10.1.2.3", " {}"),
        ("hardware-address", "00:1a:2B:3c:4d:5e", "{}"),
        ("hardware-address", "00-1a-2b-3c-4d-5e", "{}"),
        ("payment-card", "4111 1111 1111 1111", "{} 12/27"),
        ("payment-card", "5500-0000-0000-0004", "{}"),
        ("payment-card", "378282246310005", "no. {},"),
        ("payment-card", "3782 822463 10005", "{}"),
        ("bank-account", "DE89 3704 0044 0532 0130 00", "IBAN {} AT HOME"),
        ("bank-account", "gb82WEST12345698765432", "{}"),
        ("telephone-number", "+49 (0)170/123 45 67", "call {}"),
        ("telephone-number", "0049 170 1234567", "{}"),
        ("telephone-number", "(555) 123-4567", "{}"),
        ("telephone-number", "555-123-4567", "{}"),
        ("telephone-number", "030 1234567", "Phone: {}"),
        ("social-security-number", "123-45-6789", "{}"),
    ],
)
def test_what_must_not_get_out_is_found_and_nothing_beside_it(
    rule: str, secret: str, around: str
) -> None:
    assert told(around.format(secret)) == [(rule, secret)]


@pytest.mark.parametrize(
    "text",
    [
        "The password policy and the token budget are in the handbook.",
        "unexpected token: }",
        "key: value, secret: none, token: <yours>",
        "api_key_name: the-name-of-some-key-in-words",
        "See section 1.2.3 and build 10.4.2.",
        "It began at 12:30:45 on 2026-11-16 and took 1234567890123 ms.",
        "std::vector<int> and a::b, dead::beef",
        "127.0.0.1, ::1, 0.0.0.0 and ::",
        "300.1.2.3 is no address, and 1.2.3.4.5 neither",
        "4111 1111 1111 1112 has another sum; 9999999999999995 no issuer",
        "DE88 3704 0044 0532 0130 00 and XX12 3456 and DE89 3704",
        "DE89 3704 0044 0532 0130 00x",
        "GB82 WEST 1234  5698 7654 32",
        "000-12-3456, 666-12-3456, 912-12-3456, 123-00-4567, 123-45-0000",
        "x = y + 12345; a+b@; @home; commit 0123abc",
        "sk-short ghp_short AKIA",
        "1234567-1234567 00000000-0000-0000-0000-000000000000",
    ],
)
def test_what_merely_looks_a_little_like_it_stays(text: str) -> None:
    assert told(text) == []


def test_what_touches_another_goes_with_it() -> None:
    text = "password=ana@example.com,10.1.2.3 x"

    assert told(text) == [("password", "ana@example.com,10.1.2.3")]

    text = f"AKIA{'A' * 16}ghp_{'a' * 20}"

    assert [rule for rule, _ in told(text)] == ["aws-key", "github-token"]

    text = f"AKIA{'A' * 16}@example.com"

    [finding] = found(text)

    assert (finding.start, finding.end) == (0, len(text))
    assert finding.kind is FindingKind.SECRET


def test_a_text_in_which_there_is_always_something_more_goes_whole() -> None:
    text = "+49 170 1234567" * 20

    assert found(text) == (ScanMatch(UNCLEAR, FindingKind.SECRET, 0, len(text)),)
    assert found(RedactedText(text, found(text)).text) == ()


def test_what_the_house_knows_is_found_whatever_its_form() -> None:
    def known(text: str) -> list[tuple[int, int]]:
        place = text.find("correct horse")
        return [] if place < 0 else [(place, place + 13)]

    [finding] = found("say correct horse!", known)

    assert finding == ScanMatch("known-secret", FindingKind.SECRET, 4, 17)


@given(texts)
def test_what_is_found_lies_in_the_text_in_order_and_apart(text: str) -> None:
    places = [place for each in found(text) for place in (each.start, each.end)]

    assert places == sorted(places)
    assert all(each.start < each.end for each in found(text))
    assert all(0 <= place <= len(text) for place in places)


@given(texts)
def test_in_what_is_left_nothing_more_is_found(text: str) -> None:
    assert not found(RedactedText(text, found(text)).text)


@given(texts)
def test_what_is_beside_it_is_left_as_it_was(text: str) -> None:
    gone = found(text)
    left = RedactedText(text, gone).text

    ends = [0, *(each.end for each in gone)]
    starts = [*(each.start for each in gone), len(text)]
    kept = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    shown = [*(f"[{each.rule}]" for each in gone), ""]
    assert left == "".join(a + b for a, b in zip(kept, shown, strict=True))


@pytest.mark.parametrize(
    "piece",
    [
        *PIECES,
        *("a@", "a.", "a@b.", "é@", "1 ", "1-", "1.", "+1", "+1 ( ) ( ", "00", "(1", "f:", "f"),
        *("DE89 ", "tel", "secret", "_key", "secret=", "token: ", "x", "AGE-SECRET-KEY-1", "SG."),
        *("AKIA" + "A" * 16 + "a", "eyJ", "1" * 19 + " ", "00:", "dp.pt.", "a" * 64 + "@"),
    ],
)
def test_no_hostile_text_takes_long(piece: str) -> None:
    """In the square of the length these would take minutes; ours take up to two seconds of
    processor time, of a text that is looked through eight times. The limit is far from both."""
    text = piece * (100_000 // len(piece))
    started = time.process_time()

    found(text)

    assert time.process_time() - started < 15


# What is left of a text once things were found in it; what a yes and a signature are bound to.

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

    finding = ScanMatch("name", FindingKind.PERSONAL, 5, 8)

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
