"""What the engine room says when it refuses."""

from portico.engine.core.errors import OwnTopic, PasswordRefused, StoreOutdated


def test_a_refused_password_names_both_ways_out() -> None:
    error = PasswordRefused()

    assert "config show" in str(error.fix)
    assert "db provision --rotate" in str(error.fix)


def test_what_only_a_person_may_answer_says_which_topic_it_is() -> None:
    error = OwnTopic("~uncertain:pay:1")

    assert "'~uncertain:pay:1'" in str(error)
    assert error.topic == "~uncertain:pay:1"


def test_an_older_database_is_told_with_both_ways_out() -> None:
    outdated = StoreOutdated(16, 18)

    assert (outdated.have, outdated.wanted) == (16, 18)
    assert "portico db upgrade" in str(outdated.fix)
    assert "database.version 16" in str(outdated.fix)
