"""A terminal with a person at it."""

import io

import pytest


class TtyText(io.StringIO):
    def isatty(self) -> bool:
        return True


def a_screen(monkeypatch: pytest.MonkeyPatch) -> TtyText:
    """A person's terminal, without colours; made in the test, since pytest turns its
    own standard output on again after the fixtures."""
    text = TtyText()
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout", text)
    monkeypatch.setattr("sys.stderr", text)
    return text
