"""Messages out of a stream of bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.mcp.lines import Endless, Lines, TooLong


@given(st.lists(st.binary(max_size=9).filter(lambda line: b"\n" not in line)), st.data())
def test_however_it_is_cut_the_same_lines_come_out(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    reading, found = Lines(1_000), []

    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        found += list(reading.feed(stream[:cut]))
        stream = stream[cut:]

    assert found == lines


def test_a_line_that_is_too_long_is_not_kept_but_its_ends_are() -> None:
    reading = Lines(1_000)

    found = [
        *reading.feed(b"begin" + b"x" * 900),
        *reading.feed(b"y" * 900),
        *reading.feed(b"z" * 900 + b"end\nnext\n"),
    ]

    assert isinstance(found[0], TooLong)
    assert found[0].begin.startswith(b"begin")
    assert found[0].end.endswith(b"zend")
    assert len(found[0].begin) + len(found[0].end) <= 400
    assert found[1] == b"next"


def test_a_line_without_an_end_is_noticed() -> None:
    reading = Lines(1_000)

    with pytest.raises(Endless):
        for _ in range(20):
            list(reading.feed(b"x" * 500))
