"""Heads and entries as lines, and back."""

import json

import pytest

from portico.guard.core.audit_chain import BEGINNING, Head, Link, linked, verify
from portico.guard.core.audit_heads import (
    head_from,
    head_line,
    link_from,
    link_line,
    verdict_json,
)
from portico.testing.guard import a_space
from portico.testing.kernel import BEGINNING as NOW

SPACE = a_space().id
HEAD = Head(7, bytes(range(32)))


def test_a_head_comes_back_from_its_line() -> None:
    line = head_line(SPACE, HEAD, NOW)

    assert line.endswith("}\n")
    assert head_from(line) == (SPACE, HEAD)


def test_an_entry_comes_back_from_its_line_to_the_byte() -> None:
    link = Link(3, '{"act":{"subject":"é\\u0000\u2028\\n"}}'.encode(), HEAD.hash)

    line = link_line(link)

    assert line.count("\n") == 1
    assert link_from(line.encode()) == link


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "{}",
        "null",
        json.dumps({"space": "spc_x", "number": 1, "hash": "00", "entry": 1}),
        json.dumps({"space": str(SPACE), "number": "1", "hash": "00", "entry": "x"}),
        json.dumps({"space": str(SPACE), "number": True, "hash": "00", "entry": "x"}),
        json.dumps({"space": str(SPACE), "number": 1, "hash": "zz", "entry": "x"}),
        json.dumps({"space": 1, "number": 1, "hash": 1, "entry": "x"}),
    ],
)
def test_what_is_neither_is_neither(line: str) -> None:
    assert head_from(line) is None
    assert link_from(line.encode()) is None


def test_bytes_that_are_no_text_are_no_entry() -> None:
    assert link_from(b"\xff\xfe") is None


def test_a_verdict_is_told_whole() -> None:
    verdict = verify([linked(BEGINNING, b"x")], SPACE)

    told = verdict_json(verdict)

    assert told["sound"] is False
    assert told["findings"] == [
        {"fault": "misplaced", "number": 1, "told": verdict.findings[0].told}
    ]
