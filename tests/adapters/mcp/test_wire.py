"""Messages as they are written and read."""

import json
from typing import Any

import pytest

from portico.adapters.mcp import wire
from portico.adapters.mcp.allowance import Allowance
from portico.adapters.mcp.wire import Asked, Refusal, Spoilt
from portico.kernel.json import NotCanonical


def test_what_is_written_is_one_line_and_reads_the_same() -> None:
    message = {"id": 1, "params": {"text": "zwei\nZeilen, \u2028 und ü", "deep": [1.5, None, True]}}

    data = wire.written(message)

    assert b"\n" not in data
    assert wire.read(data) == message


def test_any_mapping_and_sequence_can_be_written() -> None:
    frozen: Any = {"a": (1, 2), "b": type("M", (dict,), {})(c=1)}

    assert json.loads(wire.written(frozen)) == {"a": [1, 2], "b": {"c": 1}}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_what_is_not_json_is_not_sent(value: Any) -> None:
    with pytest.raises(NotCanonical):
        wire.written({"params": value})


@pytest.mark.parametrize(
    "text", [b"", b"null", b"[1]", b'"x"', b"{", b'{"method": 1}', b"[" * 100_000, b"\xff\xfe"]
)
def test_what_is_no_message_is_not_read(text: bytes) -> None:
    with pytest.raises(ValueError):
        wire.read(text)


def test_halves_of_letters_and_numbers_that_are_none_are_made_good() -> None:
    found = wire.read(rb'{"a": "\ud83d", "b": ["\uD83D\uDE00"], "c": NaN, "\udc00": -Infinity}')

    assert found == {"a": "\ufffd", "b": ["😀"], "c": None, "\ufffd": None}
    json.dumps(found, ensure_ascii=False).encode()


def test_a_request_says_where_to_tell_how_far_it_is() -> None:
    plain = wire.request(7, Asked("m", {"a": 1}))
    told = wire.request(7, Asked("m", {"a": 1, "_meta": {"b": 2}}, progress=True))

    assert plain == {"jsonrpc": "2.0", "id": 7, "method": "m", "params": {"a": 1}}
    assert told["params"] == {"a": 1, "_meta": {"b": 2, "progressToken": 7}}
    assert "params" not in wire.request(7, Asked("m", {}))


def test_an_answer_is_a_result_or_a_refusal_or_none_at_all() -> None:
    assert wire.result_of({"result": {"a": 1}}) == {"a": 1}
    with pytest.raises(Refusal) as refused:
        wire.result_of({"error": {"code": -32602, "message": "no", "data": [1]}})
    assert (refused.value.code, refused.value.message, refused.value.data) == (-32602, "no", [1])
    with pytest.raises(Refusal):
        wire.result_of({"error": {"code": "x"}})
    with pytest.raises(Spoilt):
        wire.result_of({"result": [1]})


def test_whoever_says_more_than_is_good_has_to_wait_in_proportion() -> None:
    allowance = Allowance()

    assert allowance.use(3_000_000, now=100.0) == 0.0
    assert allowance.use(3_000_000, now=100.0) == pytest.approx(2.0)
    assert allowance.use(500_000, now=103.0) == 0.0
    assert allowance.use(4_000_000, now=1_000.0) == 0.0
