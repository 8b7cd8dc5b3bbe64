"""What a client can be asked for, by what it says of itself."""

from typing import Any

import pytest

from portico.faces.mcp.asking import able, check, missing
from portico.gateway.core.errors import InputUnsupported
from portico.gateway.core.upstream import Question, Wanted


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({}, set()),
        ({"elicitation": {}}, {Wanted.ELICITATION}),
        ({"elicitation": None, "sampling": True}, set()),
        (
            {"roots": {"listChanged": True}, "sampling": {}, "tasks": {}},
            {Wanted.ROOTS, Wanted.SAMPLING},
        ),
    ],
)
def test_a_client_is_able_to_what_it_declares(
    capabilities: dict[str, Any], expected: set[Wanted]
) -> None:
    assert able(capabilities) == expected


@pytest.mark.parametrize(
    ("wanted", "params", "capabilities", "may"),
    [
        (Wanted.ELICITATION, {}, {"elicitation": {}}, True),
        (Wanted.ELICITATION, {}, {"elicitation": {"form": {}}}, True),
        (Wanted.ELICITATION, {}, {"elicitation": {"url": {}}}, False),
        (Wanted.ELICITATION, {"mode": "url"}, {"elicitation": {}}, False),
        (Wanted.ELICITATION, {"mode": "url"}, {"elicitation": {"url": {}}}, True),
        (Wanted.ELICITATION, {}, {"sampling": {}}, False),
        (Wanted.SAMPLING, {}, {"sampling": {}}, True),
        (Wanted.SAMPLING, {"tools": [{}]}, {"sampling": {}}, False),
        (Wanted.SAMPLING, {"tools": [{}]}, {"sampling": {"tools": {}}}, True),
        (Wanted.ROOTS, {}, {"roots": {}}, True),
        (Wanted.ROOTS, {}, {}, False),
    ],
)
def test_it_is_asked_only_in_a_way_that_it_knows(
    wanted: Wanted, params: dict[str, Any], capabilities: dict[str, Any], may: bool
) -> None:
    question = Question(wanted, params)
    if may:
        check(question, capabilities, "box.asks")
        return
    with pytest.raises(InputUnsupported) as refused:
        check(question, capabilities, "box.asks")

    assert set(missing(refused.value)) == {wanted.value.partition("/")[0]}
