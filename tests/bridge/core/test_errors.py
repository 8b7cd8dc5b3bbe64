"""What is refused says what it was about."""

from portico.bridge.core.errors import TooManyLabels
from portico.kernel.label import Label, Level


def test_a_label_too_many_is_named() -> None:
    refused = TooManyLabels(Label(Level.RESTRICTED, frozenset({"finance"})))

    assert "restricted+finance" in str(refused)
    assert refused.fix is not None
