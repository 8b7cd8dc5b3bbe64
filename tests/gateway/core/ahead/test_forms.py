"""A call without its values, and an edge, each as one text."""

import pytest

from portico.gateway.core.ahead.forms import CallForm, EdgeKey, form_of, learnable, place_of
from tests.gateway.core.ahead.tasks import LIST, READ

FORM = form_of(READ, {"tail": 5, "path": "/a"})


def test_a_form_is_a_tool_and_the_names_of_what_it_is_given() -> None:
    assert CallForm(READ, ("path", "tail")) == FORM
    assert CallForm.parse(str(FORM)) == FORM


def test_an_edge_is_read_back_as_it_was_written() -> None:
    rows: list[EdgeKey] = [
        EdgeKey(None, LIST, failed=False, form=FORM, band=3),
        EdgeKey(LIST, READ, failed=True, form=FORM, band=0),
        EdgeKey(None, None, failed=False, form=FORM, band=4),
    ]

    for edge in rows:
        assert EdgeKey.parse(str(edge)) == edge


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '["x"]', '["srv_x/read"]', '["/"]'])
def test_what_is_no_form_is_told(text: str) -> None:
    with pytest.raises(ValueError):
        CallForm.parse(text)


@pytest.mark.parametrize("text", ["[]", '["start","start","","[]","0"]', '["start","a"]'])
def test_what_is_no_edge_is_told(text: str) -> None:
    with pytest.raises(ValueError):
        EdgeKey.parse(text)


def test_a_place_needs_a_server_and_a_tool() -> None:
    with pytest.raises(ValueError, match="srv_0"):
        place_of("srv_0")


def test_names_that_are_data_are_not_learnt() -> None:
    assert learnable(FORM)
    assert not learnable(form_of(READ, {"call me on 0171 234": 1}))
    assert not learnable(form_of(READ, {f"name_{chr(97 + n)}": n for n in range(17)}))
