"""What the engine room says when it refuses."""

from portico.engine.core.errors import PasswordRefused


def test_a_refused_password_names_both_ways_out() -> None:
    error = PasswordRefused()

    assert "config show" in str(error.fix)
    assert "db provision --rotate" in str(error.fix)
