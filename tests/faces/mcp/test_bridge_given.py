"""What a model sends to the bridge: read leniently where that is safe, and refused where not."""

from datetime import timedelta

import pytest

from portico.bridge.core.errors import BadBridgeInput
from portico.faces.mcp.bridge.given import Given
from portico.faces.mcp.bridge.tools import BY_NAME, EVERY, schema_of
from portico.kernel.json import JsonObject


def given(tool: str, fields: JsonObject) -> Given:
    return Given.read(BY_NAME[tool], fields)


def flaws(tool: str, fields: JsonObject) -> dict[str, str]:
    with pytest.raises(BadBridgeInput) as refused:
        given(tool, fields)
    return {flaw.field: flaw.message for flaw in refused.value.flaws}


def test_what_is_null_was_left_out() -> None:
    read = given("inbox", {"upto": None})

    assert "upto" not in read
    assert read.upto is None


def test_one_text_is_a_list_and_a_whole_number_a_number() -> None:
    read = given("read", {"conversations": "cnv_1", "limit": 5.0})

    assert read.texts("conversations") == ["cnv_1"]
    assert read.number("limit") == 5


def test_what_is_named_twice_counts_once() -> None:
    read = given("send", {"conversation": "cnv_1", "to": ["ana", "bob", "ana"]})

    assert read.texts("to") == ["ana", "bob"]


def test_every_flaw_is_told_at_once() -> None:
    told = flaws(
        "send", {"body": 5, "labels": "x", "ack": "yes", "to": {"a": 1}, "ack_within": 1.5}
    )

    assert told == {
        "conversation": "is needed",
        "body": "must be a text",
        "labels": "is not known; send takes conversation, body, mentions, to, ack_within, "
        "reply_to, ack, attachments, label, key",
        "ack": "must be true or false",
        "to": "must be a list of texts",
        "ack_within": "must be a whole number",
    }


def test_a_truth_is_no_number() -> None:
    assert flaws("read", {"limit": True}) == {"limit": "must be a whole number"}


def test_a_tool_that_takes_nothing_says_so() -> None:
    assert flaws("whoami", {"who": "me"}) == {"who": "is not known; whoami takes -"}


def test_a_word_must_be_one_of_those_that_are_known() -> None:
    assert flaws("project_set", {"doing": "flying"}) == {
        "doing": "must be one of there, busy, away"
    }


def test_a_value_is_whatever_it_is() -> None:
    read = given("memory_set", {"project": "p", "key": "k", "value": [1, {"a": None}]})

    assert read.value("value") == [1, {"a": None}]


def test_a_time_that_nobody_lives_to_see_is_refused() -> None:
    read = given("lease", {"do": "take", "seconds": 10**30})

    with pytest.raises(BadBridgeInput):
        read.seconds("seconds")
    assert given("lease", {"do": "take", "seconds": 5}).seconds("seconds") == timedelta(seconds=5)


@pytest.mark.parametrize("fields", [{}, {"text": "\ud800"}, {"base64": "%"}, {"base64": "a"}])
def test_a_file_that_cannot_be_read_is_refused(fields: JsonObject) -> None:
    read = given("attach", {"project": "p", "name": "n", **fields})

    with pytest.raises(BadBridgeInput):
        read.content()


def test_the_schema_of_a_tool_names_what_it_needs() -> None:
    assert schema_of("whoami") == {"type": "object", "properties": {}}
    assert (schema_of("inbox") or {})["type"] == "object"
    assert schema_of("nothing") is None
    for tool in EVERY:
        assert set(tool.required) <= set(tool.properties)
