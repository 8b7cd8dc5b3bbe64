"""What is learnt of a tool belongs to one definition of it."""

from portico.gateway.core.learnt import SeenShape
from portico.gateway.core.shapes import merged, shape_of

ONE, OTHER = shape_of({"a": 1}), shape_of({"b": 1})


def test_of_the_same_definition_it_adds_up() -> None:
    both = SeenShape("p", 2, ONE).and_then(SeenShape("p", 3, OTHER))

    assert both == SeenShape("p", 5, merged(ONE, OTHER))


def test_with_another_it_begins_anew() -> None:
    assert SeenShape("old", 9, ONE).and_then(SeenShape("new", 1, OTHER)) == (
        SeenShape("new", 1, OTHER)
    )
