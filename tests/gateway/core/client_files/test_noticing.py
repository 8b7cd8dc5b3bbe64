"""When a file counts as changed."""

from portico.gateway.core.client_files.noticing import Noticing


def test_a_change_counts_when_it_has_been_seen_twice() -> None:
    noticing = Noticing({"a": "1", "b": "1"})

    told = [noticing.changed({"a": each, "b": "1"}) for each in ("1", "2", "2", "2")]

    assert told == [set(), set(), {"a"}, set()]


def test_a_file_that_is_still_being_written_is_waited_for() -> None:
    noticing = Noticing({"a": "1"})

    told = [noticing.changed({"a": each}) for each in ("half", "more", "all", "all")]

    assert told == [set(), set(), set(), {"a"}]


def test_a_file_that_comes_back_as_it_was_has_not_changed() -> None:
    noticing = Noticing({"a": "1"})

    told = [noticing.changed({"a": each}) for each in (None, None, "1", None, None, "1")]

    assert told == [set()] * 6


def test_a_file_that_stays_away_has_changed() -> None:
    noticing = Noticing({"a": "1"})

    told = [noticing.changed({"a": None}) for _ in range(4)]

    assert told == [set(), set(), {"a"}, set()]


def test_other_files_may_be_asked_for_from_then_on() -> None:
    noticing = Noticing({"a": "1"})

    told = [noticing.changed({"b": "1"}) for _ in range(3)]
    again = [noticing.changed({"a": "1", "b": "1"}) for _ in range(3)]

    assert told == [set(), {"b"}, set()]
    assert again == [set(), {"a"}, set()]
