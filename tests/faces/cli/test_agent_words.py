"""What is said of agents and their runs, in words for a person."""

import pytest

from portico.faces.cli.agent_words import trace_lines, warning_lines
from tests.faces.cli.agent_answers import TRACE


@pytest.mark.parametrize(
    ("code", "text", "said"),
    [
        (None, "Moved.", "approved"),
        ("no_such_file", "There is none.", "approved"),
        ("approval_rejected", "mail.send was not approved (apr_1): no.", "rejected"),
        ("approval_over", "apr_01 is withdrawn already.", "withdrawn"),
        ("approval_over", "apr_01 is expired already.", "not answered"),
        ("approval_over", "It is too late.", "not approved"),
    ],
)
def test_a_use_that_was_asked_for_says_what_became_of_that(
    code: str | None, text: str, said: str
) -> None:
    use = TRACE["uses"][0] | {
        "approval": "apr_01",
        "code": code,
        "failed": code is not None,
        "text": text,
        "early": False,
    }

    lines = trace_lines({**TRACE, "uses": [use]})

    assert any(line.endswith(f"files.read  0.2 s, {said}") for line in lines), lines


def test_what_may_not_be_meant_is_a_line_each() -> None:
    warned = {"name": "helper", "warnings": [{"field": "tools", "message": "there are none"}]}

    assert warning_lines(warned) == ["! tools: there are none."]
    assert warning_lines({"name": "helper"}) == []
