"""What a server wrote last, fit to be shown."""

import pytest

from portico.adapters.mcp.breaker import Breaker
from portico.adapters.mcp.last_words import LastWords
from portico.kernel.redaction import Redaction

SECRET = "s3cr3t-t0ken-of-ours"
CLEAN = Redaction([SECRET]).clean


def told(*pieces: bytes) -> tuple[str, ...]:
    words = LastWords()
    for piece in pieces:
        words.hear(piece)
    return words.told(CLEAN)


def test_lines_come_together_from_pieces_and_an_unfinished_one_counts() -> None:
    assert told(b"one\ntw", b"o\n\nthr", b"ee") == ("one", "two", "three")


def test_only_the_last_two_hundred_are_kept() -> None:
    lines = told(b"".join(b"line %d\n" % number for number in range(1000)))

    assert (len(lines), lines[0], lines[-1]) == (200, "line 800", "line 999")


def test_a_line_without_an_end_is_cut() -> None:
    (line,) = told(*[b"x" * 10_000] * 50)

    assert len(line) == 2_000


@pytest.mark.parametrize("before", [0, 1_990, 5_000, 8_180])
def test_a_secret_is_black_wherever_it_stands(before: int) -> None:
    (line,) = told(b"x" * before + b" " + SECRET.encode() + b" x\n")

    assert SECRET[:8] not in line


def test_nothing_steers_the_terminal_it_is_shown_on() -> None:
    assert told(b"\x1b[31mred\x1b[0m\x07 \x1b]0;title\x07\xc2\x9b2Jend\x00\xff\n") == (
        "red 2Jend\ufffd",
    )


def test_what_was_said_before_the_last_start_is_not_the_reason_of_now() -> None:
    words = LastWords()
    words.hear(b"before\n")
    words.begin()

    assert words.last(CLEAN) is None
    assert words.told(CLEAN) == ("before",)

    words.note("in one\nline")

    assert words.last(CLEAN) == "in one line"


def test_the_first_break_is_forgiven_and_then_each_rest_is_twice_the_last() -> None:
    breaker, rests = Breaker(), []

    for _ in range(9):
        breaker.broke(100.0, luck=0.5)
        rests.append(max(0.0, breaker.until - 100.0))

    assert rests == [0, 1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize(("luck", "rest"), [(0.0, 0.8), (1.0, 1.2)])
def test_no_two_come_back_at_the_same_moment(luck: float, rest: float) -> None:
    breaker = Breaker(strikes=1)

    breaker.broke(0.0, luck)

    assert breaker.until == pytest.approx(rest)


def test_it_rests_until_then_and_an_answer_ends_it_all() -> None:
    breaker = Breaker(strikes=5)
    breaker.broke(0.0, 0.5)

    assert breaker.rests(breaker.until - 0.1)
    assert not breaker.rests(breaker.until)

    breaker.answered()

    assert not breaker.rests(0.0)
    assert breaker.strikes == 0


def test_however_often_it_breaks_there_is_a_longest_rest() -> None:
    breaker = Breaker(strikes=100_000)

    breaker.broke(0.0, 1.0)

    assert breaker.until == pytest.approx(72.0)
