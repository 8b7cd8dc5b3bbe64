import pytest

from portico.guard.core.errors import (
    BudgetNotFound,
    BudgetTaken,
    IssuerUnavailable,
    LoginUnavailable,
)
from portico.guard.core.secret import SecretsUnavailable
from portico.kernel.errors import PorticoError


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (IssuerUnavailable(), "cannot be fetched"),
        (LoginUnavailable("https://login.example", "it has no metadata"), "it has no metadata"),
        (BudgetNotFound("run 7"), "'run 7'"),
        (BudgetTaken("run 7"), "'run 7'"),
        (SecretsUnavailable("the file is locked", fix="Wait."), "the file is locked"),
    ],
)
def test_a_refusal_says_what_and_why(error: PorticoError, words: str) -> None:
    assert words in str(error)
    assert str(error).endswith(".")
