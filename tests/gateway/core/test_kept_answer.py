"""An answer that is kept comes back as it was."""

import pytest

from portico.gateway.core.call import Answer, CallId
from portico.gateway.core.kept_answer import answer_from, answer_kept
from portico.kernel.json import JsonValue, kept
from portico.testing.kernel import BEGINNING, SeededEntropy

CALL = CallId.mint(BEGINNING, SeededEntropy())


@pytest.mark.parametrize(
    "answer",
    [
        Answer([{"type": "text", "text": "hello"}]),
        Answer([], structured={"a": [1, None]}, failed=True, meta={"x": "y"}),
    ],
)
def test_it_comes_back_as_it_was(answer: Answer) -> None:
    assert answer_from(kept(answer_kept(answer, CALL))) == (answer, CALL)


@pytest.mark.parametrize("other", ["a page of text", None, {"content": []}, [1]])
def test_what_was_kept_of_something_else_is_none(other: JsonValue) -> None:
    assert answer_from(other) is None


def test_of_something_bent_the_rest_comes_back() -> None:
    bent: JsonValue = {"call": str(CALL), "content": "no list", "meta": 1}

    assert answer_from(bent) == (Answer([]), CALL)
    assert answer_from({"call": str(CALL), "content": [1, {"type": "text"}]}) == (
        Answer([{"type": "text"}]),
        CALL,
    )
