"""What a server wrote last, fit to be shown."""

import pytest

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
