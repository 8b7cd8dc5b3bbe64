"""What is sent as one line is one line to whoever reads it."""

import json

from hypothesis import given
from hypothesis import strategies as st

from portico.interfaces.http.streaming import one_line


@given(st.text())
def test_a_line_of_json_ends_nowhere_but_at_its_end(text: str) -> None:
    line = one_line(json.dumps({"text": text}, ensure_ascii=False))

    assert line.splitlines() == [line]
    assert json.loads(line) == {"text": text}


def test_line_ends_of_unicode_are_spelt_out() -> None:
    assert one_line('"a\u2028b\u2029c\u0085d"') == r'"a\u2028b\u2029c\u0085d"'
