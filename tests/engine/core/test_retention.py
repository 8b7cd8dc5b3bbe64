"""What was let go of, as a whole."""

from dataclasses import fields

import pytest

from portico.engine.core.retention import Forgotten


def test_nothing_was_forgotten_unless_something_was() -> None:
    assert not Forgotten().anything


@pytest.mark.parametrize("name", [field.name for field in fields(Forgotten)])
def test_one_thing_is_something(name: str) -> None:
    assert Forgotten(**{name: 1}).anything
