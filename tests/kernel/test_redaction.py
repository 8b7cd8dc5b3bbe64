"""Whatever looks like a secret does not come out, and what only looks a little like one does."""

import json
import time
import tracemalloc
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.kernel.json import JsonValue
from portico.kernel.redaction import BLACK, Redaction, blacked_out, forms_in

PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn\n"
    "-----END RSA PRIVATE KEY-----"
)


@pytest.mark.requirement("guard:keys:never-logged")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Bearer ptc_0123456789ab_" + "x" * 49, "Bearer ptc_0123456789ab_********"),
        ("postgresql://app:hunter2@db/portico", "postgresql://app:********@db/portico"),
        ("host=db password=hunter2 user=app", "host=db password=******** user=app"),
        ("host=db password='hunter 2' user=app", "host=db password=******** user=app"),
        ("postgresql://app:hun't@er2@db/portico", "postgresql://app:********@db/portico"),
        ("redis://:hunter2@cache:6379/0", "redis://:********@cache:6379/0"),
        ("PGPASSWORD=hunter2 psql", "PGPASSWORD=******** psql"),
        ("Authorization: Bearer abc.def-123456", "Authorization: ********"),
        ("Authorization: Basic dXNlcjpwYXNz x", "Authorization: ******** x"),
        ("sent bearer 0a1b2c3d4e5f", "sent bearer ********"),
        ("{'authorization': 'Bearer abcd'}", "{'authorization': ********}"),
        ("[(b'authorization', b'Token abcd')]", "[(b'authorization', b********)]"),
        ("(b'x-api-key', b'abcd')", "(b'x-api-key', b********)"),
        ("['portico', '--token', 'abcd', '-v']", "['portico', '--token', ********, '-v']"),
        ("portico --admin-password abcd --json", "portico --admin-password ******** --json"),
        ('{"password": "hunter 2", "n": 1}', '{"password": ********, "n": 1}'),
        (r'"{\"password\": \"hunter 2\", \"n\": 1}"', r'"{\"password\": ********, \"n\": 1}"'),
        ("Login(password='hun\\'t 2', token=abc)", "Login(password=********, token=********"),
        ('{"secret": "abcd"}', '{"secret": ********}'),
        ("?token=abcd&page=2", "?token=********&page=2"),
        ("api_key=abcd&apikey=efgh", "api_key=********&apikey=********"),
        ("refresh_token: abcd", "refresh_token: ********"),
        ("Cookie: session=abcd; theme=dark\nHost: x", "Cookie: ********\nHost: x"),
        ("with sk-proj-" + "a1B2" * 10 + ".", "with ********."),
        ("with sk-ant-api03-" + "a1-_" * 10, "with ********"),
        ("ghp_" + "a1B2" * 9, "********"),
        ("github_pat_" + "a1B2_" * 10, "********"),
        ("xoxb-123456789012-abcdef", "********"),
        ("AKIAIOSFODNN7EXAMPLE", "********"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuvw", "********"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3j", "********"),
        (f"the key:\n{PEM}\nend", "the key:\n********\nend"),
        (PEM.replace("\n", "\\n"), "********"),
        (PEM[:60] + "\ncut off", "********"),
    ],
)
def test_whatever_looks_like_a_secret_is_blacked_out(text: str, shown: str) -> None:
    assert blacked_out(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "nothing to hide",
        "",
        "spc_01jz3k9c2hfx8vq7m4n6r5t0ab and prn_01jz3k9c2hfx8vq7m4n6r5t0ab",
        "0197a3c2-77ab-7c31-9f6e-0a1b2c3d4e5f",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=00f067aa0ba902b7",
        "unexpected token: }",
        "max_tokens=4096 input_tokens: 12, tokens=3",
        "http://127.0.0.1:3100/readyz answered, mail ana@portico.example",
        "https://registry.example:4873/@scope/package",
        "a bearer key stands in front of every face",
        'WWW-Authenticate: Bearer realm="portico"',
        "task-force-of-seventeen-people and risk-adjusted-return-of-x",
        "the password is asked for, and the secret kept",
        "idempotency_key=0197a3c2 key=value",
        "https://portico.example/join#",
    ],
)
def test_what_is_no_secret_stays_readable(text: str) -> None:
    assert blacked_out(text) == text


@pytest.mark.parametrize(
    "value",
    [
        "c4nary-0123456789",
        "with space/and?signs&more",
        'quo"ted\\back\nline',
        "ünïcödé-secret",
        "correcthorsebatterystaple",
    ],
)
def test_a_loaded_secret_is_found_however_it_is_spelt(value: str) -> None:
    redaction = Redaction([value])
    told = [
        f"it is {value}!",
        f"glued{value}together",
        f"https://x/?q={quote(value, safe='')}",
        json.dumps({"a": value}),
        json.dumps({"a": value}, ensure_ascii=False),
        repr({"a": value}),
    ]

    cleaned = [redaction.clean(text) for text in told]

    assert [value in text for text in cleaned] == [False] * len(told)
    assert all(BLACK in text for text in cleaned)


@pytest.mark.parametrize("value", ["", "abc", "1234567", "postgres", "password"])
def test_a_value_that_could_be_a_word_is_known_by_its_place_alone(value: str) -> None:
    redaction = Redaction([value])

    assert redaction.clean("abc 1234567 postgres") == "abc 1234567 postgres"
    assert redaction.clean(f"x://u:{value}1@h") == f"x://u:{BLACK}@h"


def test_the_longer_of_two_secrets_goes_first() -> None:
    redaction = Redaction(["secret-one", "secret-one-and-more"])

    assert redaction.clean("secret-one-and-more") == BLACK


def test_json_is_cleaned_in_depth_with_its_names() -> None:
    redaction = Redaction(["c4nary-value"])

    cleaned = redaction.clean_json(
        {
            "password": "x",
            "empty": {"password": "", "apiKey": "x", "X-Api-Key": "x", "accessToken": "x"},
            "c4nary-value": ["c4nary-value", 1, None, True, 1.5],
            "tokens": 12,
            "token": 12,
            "note": "password=x",
            "pair": ("a", "b"),
        }
    )

    assert cleaned == {
        "password": BLACK,
        "empty": {"password": "", "apiKey": BLACK, "X-Api-Key": BLACK, "accessToken": BLACK},
        BLACK: [BLACK, 1, None, True, 1.5],
        "tokens": 12,
        "token": 12,
        "note": f"password={BLACK}",
        "pair": ["a", "b"],
    }


def test_what_lies_too_deep_to_be_looked_at_is_black() -> None:
    value: JsonValue = "the bottom"
    for _ in range(5000):
        value = [value]

    cleaned = json.dumps(Redaction().clean_json(value))

    assert BLACK in cleaned
    assert "bottom" not in cleaned


@given(st.text(), st.text())
def test_cleaning_twice_is_cleaning_once(before: str, after: str) -> None:
    redaction = Redaction(["c4nary-value"])

    once = redaction.clean(f"{before}c4nary-value{after}")

    assert "c4nary-value" not in once
    assert redaction.clean(once).count("c4nary") == 0


@pytest.mark.parametrize(
    "piece",
    [
        "eyJ-",
        "eyJaaaaaaaa.",
        "eyJaaaaaaaa.b.",
        "sk-",
        "://a:",
        "://",
        "a:b@",
        "bearer ",
        "bearer x",
        "password=",
        'password="',
        "password='",
        'password="\\',
        '\\"',
        'password=\\"\\',
        "--",
        "--password ",
        "['--",
        "(b'token', ",
        "-----BEGIN PRIVATE KEY-----",
        "-----END A",
        "authorization: ",
        "cookie=",
        "AKIA",
        "\\",
        " ",
        "=",
        "A",
    ],
)
def test_no_hostile_text_takes_long(piece: str) -> None:
    """A pattern that takes time in the square of the length would take minutes for these; ours
    take a tenth of a second of processor time. The limit is far from both."""
    text = piece * (200_000 // len(piece))
    started = time.process_time()

    Redaction(["c4nary-value"]).clean(text)

    assert time.process_time() - started < 2


@pytest.mark.parametrize("piece", [r"\n", r"a\n", r"\\n", "é"])
def test_a_long_text_takes_little_memory(piece: str) -> None:
    """An engine that keeps each of its steps takes fifty bytes for each letter and more."""
    text = '{"password": "' + piece * (500_000 // len(piece)) + '", "n": 1}'
    tracemalloc.start()
    try:
        cleaned = Redaction([]).clean(text)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert cleaned == f'{{"password": {BLACK}, "n": 1}}'
    assert most < 20 * len(text)


def test_only_the_very_values_are_hidden_where_forms_are_what_was_asked_for() -> None:
    redaction = Redaction(["s3cr3t/value", "short", "password"])

    text = 'password=hunter2 "s3cr3t/value" s3cr3t%2Fvalue short sk-0123456789abcdef0123'

    assert redaction.hide(text) == (
        f'password=hunter2 "{BLACK}" {BLACK} short sk-0123456789abcdef0123'
    )


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ('x s3cr3t"1 x', f"x {BLACK} x"),
        (
            {'s3cr3t"1': [1, None, True, {"a": ('s3cr3t"1',)}]},
            {BLACK: [1, None, True, {"a": [BLACK]}]},
        ),
        ([12345678, 2.5, "12345678"], [BLACK, 2.5, BLACK]),
        ('{"inner": "s3cr3t\\"1"}', f'{{"inner": "{BLACK}"}}'),
        ('s3cr3t\ud800 s3cr3t"1', f"s3cr3t\ud800 {BLACK}"),
    ],
    ids=["text", "nested", "number", "written inside", "half a letter"],
)
def test_very_values_are_hidden_however_deep_they_are(value: JsonValue, hidden: JsonValue) -> None:
    assert Redaction(['s3cr3t"1', "12345678"]).hide_json(value) == hidden


@pytest.mark.parametrize("values", [[], ["s3cr3t-1"]])
def test_where_there_is_nothing_to_hide_it_is_the_very_same_object(values: list[str]) -> None:
    value: JsonValue = {"token": ["password=hunter2"]}

    assert Redaction(values).hide_json(value) is value


def test_what_has_the_form_of_a_secret_or_is_known_is_told_by_its_place() -> None:
    token = f"ghp_{'a' * 30}"
    text = f'password="two words" {token} https://u:pw@h https://u:@h -- ptc_abcdefghijkl_XYZ'

    found = {name: text[start:end] for name, start, end in forms_in(text)}

    assert found == {
        "password": '"two words"',
        "github-token": token,
        "password-in-address": "pw",
        "portico-key": "ptc_abcdefghijkl_XYZ",
    }

    assert [*forms_in("Nothing of the kind, and no key either.")] == []

    text = "c4nary-value, and c4nary-value; c4nary"

    assert [*Redaction(["c4nary-value"]).known_in(text)] == [(0, 12), (18, 30)]


@given(st.text())
def test_what_is_told_by_its_place_is_what_is_blacked_out(text: str) -> None:
    assert bool([*forms_in(text)]) >= (blacked_out(text) != text)
