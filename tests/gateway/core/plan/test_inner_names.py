"""Names of steps inside of saved workflows."""

from portico.gateway.core.plan.inner_names import inner_name


def test_a_short_name_is_its_own() -> None:
    assert inner_name("read") == "read"
    assert inner_name("a" * 30) == "a" * 30


def test_long_names_are_short_and_stay_apart() -> None:
    one, other = inner_name("a" * 64), inner_name("a" * 63 + "b")

    assert one == inner_name("a" * 64)
    assert one != other
    assert len(one) == len(other) == 30
    assert "#" in one
