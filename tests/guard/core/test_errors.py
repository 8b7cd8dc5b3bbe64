import pytest

from portico.guard.core.errors import (
    BudgetNotFound,
    BudgetTaken,
    IssuerUnavailable,
    LoginUnavailable,
    Refused,
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


def test_a_key_without_the_scope_is_told_to_have_it_and_all_else_to_look_at_the_rules() -> None:
    scope = Refused("mail.send", "default:scope", "the key does not have it", who="clerk")
    rule = Refused("mail.send", "no-mail", "a rule denies it", who="clerk", key="0123")

    assert "a key that has it" in (scope.fix or "")
    assert rule.fix == "See why: portico policy explain key:0123 mail.send"
