"""What an answer says as values, whatever form it came in."""

import json
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.ahead.readings import LONGEST, reading
from portico.kernel.json import JsonValue


def test_values_are_read_from_texts() -> None:
    rows: list[tuple[str, JsonValue]] = [
        ('{"a": 1}', {"a": 1}),
        (
            "[{'id': 1, 'name': \"O'Neil\", 'note': 'it\\'s\\n\\t\\\\'}]",
            [{"id": 1, "name": "O'Neil", "note": "it's\n\t\\"}],
        ),
        ("[('a', None, True, False,)]", [["a", None, True, False]]),
        ('{"a": 1}\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        ('{"a": 1}, {"a": 2}  ', [{"a": 1}, {"a": 2}]),
        ("{'a': }", "{'a': }"),
        ("plain words", "plain words"),
        ("[" * 100_000, "[" * LONGEST),
        ("('" * 9, "('" * 9),
        ("", ""),
    ]

    for text, found in rows:
        assert reading({"json": None, "text": text}) == found


def test_a_text_in_an_envelope_is_a_text() -> None:
    assert reading({"json": {"content": "[1, 2]"}, "text": "x"}) == [1, 2]
    assert reading({"json": "words", "text": "x"}) == "words"
    assert reading({"json": {"id": "abc"}, "text": "x"}) == {"id": "abc"}
    assert reading({"json": {"content": 3}, "text": "x"}) == {"content": 3}
    assert reading({"json": [1], "text": "x"}) == [1]
    assert reading({"json": None, "text": None}) == ""


def test_only_so_many_documents_are_read_one_after_another() -> None:
    read = reading({"json": None, "text": "{}" * 1_000})

    assert isinstance(read, list)
    assert len(read) == 200


@given(st.text(alphabet="[]{}()'\"\\,:truTeFalsN 1\n", max_size=200))
def test_whatever_is_answered_is_read(text: str) -> None:
    assert json.dumps(reading({"json": None, "text": text}))


def test_no_answer_takes_long_to_read() -> None:
    began = process_time()

    reading({"text": "[" + "\\'" * 30_000})
    reading({"text": "[" + '\\"' * 30_000})

    assert process_time() - began < 2
