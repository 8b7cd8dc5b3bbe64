"""The parts of an intent, and the values that stand in it."""

from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.search.clauses import whole
from portico.gateway.core.suggest.intent import (
    Kind,
    Span,
    in_general,
    spans,
    sub_steps,
    without_values,
)


def test_values_are_found_as_they_stand() -> None:
    rows: list[tuple[str, list[tuple[Kind, object]]]] = [
        ("send it to ana@example.com.", [(Kind.EMAIL, "ana@example.com")]),
        ("open https://example.com/a?b=1.", [(Kind.URL, "https://example.com/a?b=1")]),
        ("read /srv/data/notes.md, please", [(Kind.PATH, "/srv/data/notes.md")]),
        ("read notes.md and ~/plans", [(Kind.PATH, "notes.md"), (Kind.PATH, "~/plans")]),
        (
            "on 2026-11-20 at 9:30, 3 copies",
            [(Kind.DATE, "2026-11-20"), (Kind.TIME, "9:30"), (Kind.NUMBER, 3)],
        ),
        ("on 10/05/2023 at 9:30 AM", [(Kind.DATE, "10/05/2023"), (Kind.TIME, "9:30 AM")]),
        ("call 991-898-8887 or +15550100", []),
        ("write 'he don't mind'", [(Kind.QUOTED, "he don't mind")]),
        ("at 9 a.m., i.e. early, e.g. soon", [(Kind.NUMBER, 9)]),
        ("warm it by -1.5 degrees", [(Kind.NUMBER, -1.5)]),
        ("issues of octo/hello-world", [(Kind.NAME, "octo/hello-world")]),
        ("describe user_accounts", [(Kind.NAME, "user_accounts")]),
        ("fix BUG-123", [(Kind.NAME, "BUG-123")]),
        ("a hotel in New York.", [(Kind.NAME, "New York")]),
        ('call it "the old one"', [(Kind.QUOTED, "the old one")]),
        ("call it 'old' and `new`", [(Kind.QUOTED, "old"), (Kind.QUOTED, "new")]),
        ('to "ana@example.com"', [(Kind.EMAIL, "ana@example.com")]),
        ('named "Ana"', [(Kind.QUOTED, "Ana")]),
        ("List everything. Then stop", []),
        ("Call Ana. Email John Smith", [(Kind.NAME, "Ana"), (Kind.NAME, "John Smith")]),
        ("what's ana's and it's hers", []),
        ('nothing "   " here', []),
        ("", []),
    ]

    for intent, found in rows:
        assert [(span.kind, span.value) for span in spans(intent)] == found


def test_the_word_before_a_value_is_told() -> None:
    [span] = spans('push to branch "main"')

    assert span == Span(Kind.QUOTED, "main", "main", 15, "branch")


def test_a_value_at_the_very_beginning_has_no_word_before_it() -> None:
    assert [span.before for span in spans("42 is it")] == [""]


def test_at_most_forty_values_are_looked_at() -> None:
    assert len(spans(" ".join(map(str, range(100))))) == 40


def test_in_general_something_stands_for_each_value() -> None:
    assert in_general('Send "10 kg" and  10 more from a/b.md to b@c.de') == (
        'Send "<quoted>" and <number> more from <path> to <email>'
    )


def test_without_values_the_words_are_left() -> None:
    assert without_values("tell the time in Asia/Tokyo at 10:00") == "tell the time in at"


def test_sub_steps_come_in_their_order() -> None:
    assert sub_steps("Read the letter, then send it to Ana") == [
        "Read the letter",
        "send it to Ana",
    ]


@given(st.text(max_size=400))
def test_no_value_is_made_up(intent: str) -> None:
    told = whole(intent)

    assert all(span.text in told for span in spans(intent))
