"""Help as wide as the terminal."""

import os
import subprocess
import sys
from itertools import pairwise

import pytest

from portico.faces.cli.help_text import unbroken


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("one\ntwo", "one two"),
        ("one\n\ntwo\nthree", "one\n\ntwo three"),
        ("these:\n- one\n- two", "these:\n- one\n- two"),
        ("so:\n    portico init\nthen", "so:\n    portico init then"),
    ],
)
def test_lines_of_a_paragraph_are_one(given: str, shown: str) -> None:
    assert unbroken(given) == shown


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_of_help_ends_early(columns: int) -> None:
    """Where the next word would still have fitted, the source was broken and not the text."""
    told = subprocess.run(
        [sys.executable, "-m", "portico", "init", "--help"],
        env={**os.environ, "COLUMNS": str(columns)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    paragraph = told.split("\n\n")[2].splitlines()
    for line, following in pairwise(paragraph):
        assert len(line.rstrip()) + 1 + len(following.split()[0]) > columns


def test_what_every_command_takes_stands_last() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "portico", "up", "--help"],
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert told.index("--foreground") < told.index("--json")
