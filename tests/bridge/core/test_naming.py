"""Whom a text names."""

import pytest

from portico.bridge.core.naming import names_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@bob could you?", ("bob",)),
        ("Could you, @bob?\n@planner-2.", ("bob", "planner-2")),
        ("(@a.b) [@c_d] <@e> '@f' \"@g\"", ("a.b", "c_d", "e", "f", "g")),
        ("@Änne @bob @Änne", ("Änne", "bob")),
        ("bob@example.org, @ bob, @-x, @@y", ()),
        ("", ()),
    ],
)
def test_a_name_stands_after_an_at_that_stands_by_itself(text: str, names: tuple[str, ...]) -> None:
    assert names_in(text) == names


def test_no_more_are_named_than_can_be_mentioned() -> None:
    assert len(names_in(" ".join(f"@a{number}" for number in range(60)))) == 50
