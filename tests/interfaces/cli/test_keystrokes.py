"""One key at a time, however many bytes it sends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from portico.interfaces.cli.keystrokes import Inbox, Keyboard


@contextmanager
def typing(text: str) -> Iterator[Keyboard]:
    """A keyboard on which that was typed."""
    master, slave = os.openpty()
    keyboard = Keyboard(slave)
    try:
        with keyboard.open():
            os.write(master, text.encode())
            yield keyboard
    finally:
        os.close(master)
        os.close(slave)


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("ab", ["a", "b"]),
        ("é€😀z", ["é", "€", "😀", "z"]),
        ("\x1b[Aa", ["\x1b", "a"]),
        ("\x1b[1;5Cb", ["\x1b", "b"]),
        ("\x1bOPc", ["\x1b", "c"]),
        ("\x1b", ["\x1b"]),
    ],
)
def test_a_key_is_one_key(typed: str, keys: list[str]) -> None:
    inbox = Inbox[str | int]()
    with typing(typed) as keyboard:
        found = [keyboard.key_within(inbox, 5.0) for _ in keys]
        found.append(keyboard.key_within(inbox, 0.0))

    assert found == [*keys, None]


@pytest.mark.parametrize(
    ("typed", "key", "seen"), [("yes", "y", "Sure? y\n"), ("\n", "\n", "Sure? \n")]
)
def test_a_question_may_be_answered_with_one_key(
    capsys: pytest.CaptureFixture[str], typed: str, key: str, seen: str
) -> None:
    with typing(typed) as keyboard:
        found = keyboard.one_key("Sure? ")

    assert found == key
    assert capsys.readouterr().err == seen


def test_a_question_may_be_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_source: int, _count: int) -> bytes:
        raise KeyboardInterrupt

    with typing("") as keyboard, monkeypatch.context() as patch:
        patch.setattr(os, "read", interrupted)
        assert keyboard.one_key("Sure? ") == ""


@pytest.mark.parametrize(
    ("typed", "line", "seen"),
    [
        ("aste it all\n", "paste it all", "say> paste it all\n"),
        ("\x7fno\r", "no", "say> p\b \bno\n"),
        ("\x7f\x7f\x7f\r", "", "say> p\b \b\n"),
        ("日\x7f!\r", "p!", "say> p日\b \b\b \b!\n"),
        ("ut it\x17off\r", "put off", "say> put it\b \b\b \boff\n"),
        ("ut\x15go\r", "go", "say> put" + "\b \b" * 3 + "go\n"),
        ("a\tb\x1b[A\x01\x04\r", "pa b", "say> pa b\n"),
        ("\x7f\x04", None, "say> p\b \b\n"),
    ],
)
def test_of_a_line_that_is_begun_all_is_seen_and_can_be_erased(
    capsys: pytest.CaptureFixture[str], typed: str, line: str | None, seen: str
) -> None:
    with typing(typed) as keyboard:
        found = keyboard.line("say> ", "p")

    assert found == line
    assert capsys.readouterr().err == seen
