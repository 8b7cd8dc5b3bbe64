"""The list that comes with the package."""

from portico.adapters.system.shipped_effects import shipped_effects


def test_the_list_is_there_whole_and_read_once() -> None:
    listed = shipped_effects().listed

    assert len(listed) == 55
    assert sum(len(pins) for versions in listed.values() for pins in versions.values()) == 937
    assert all(
        len(pin) == 64 for versions in listed.values() for pins in versions.values() for pin in pins
    )
    assert shipped_effects() is shipped_effects()
