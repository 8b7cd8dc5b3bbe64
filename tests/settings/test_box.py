"""What the user decides about the box."""

import pytest
from pydantic import ValidationError

from portico.box.core.profile import Place
from portico.settings.box import BoxSettings, WebSettings


def test_nothing_runs_unboxed_and_nothing_near_is_reached_unless_somebody_says_so() -> None:
    assert BoxSettings().unboxed == ()
    assert WebSettings().places == ()


def test_what_is_allowed_is_a_place() -> None:
    assert WebSettings(allow=("127.0.0.1:11434",)).places == (Place("127.0.0.1", 11434),)


@pytest.mark.parametrize("text", ["127.0.0.1", "http://localhost:80", "10.0.0.0/8", "*:80", ""])
def test_anything_wider_than_a_place_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="must be host:port"):
        WebSettings(allow=(text,))


def test_an_account_is_a_name() -> None:
    with pytest.raises(ValidationError):
        BoxSettings(run_as="no body")
