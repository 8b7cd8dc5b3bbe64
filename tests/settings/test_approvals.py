"""What the user decides about requests for approval."""

import pytest
from pydantic import ValidationError

from portico.settings.approvals import ApprovalsSettings

HOOK = "https://hooks.example/portico?token=hidden"


def test_nobody_is_told_unless_somebody_says_where() -> None:
    assert ApprovalsSettings().webhook is None


@pytest.mark.parametrize("secret", ["env:HOOK", "file:/etc/hook", "keyring:portico/hook"])
def test_a_webhook_has_a_secret_that_is_kept_elsewhere(secret: str) -> None:
    made = ApprovalsSettings(webhook=HOOK, webhook_secret=secret)

    assert (made.webhook, made.webhook_secret) == (HOOK, secret)


@pytest.mark.parametrize("secret", ["hunter2hunter2", "secret:hook", ""])
def test_a_secret_itself_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ApprovalsSettings(webhook=HOOK, webhook_secret=secret)

    assert "must say where the secret is" in caught.value.errors()[0]["msg"]


def test_what_is_not_signed_is_refused() -> None:
    with pytest.raises(ValidationError, match="webhook needs webhook_secret"):
        ApprovalsSettings(webhook=HOOK)


@pytest.mark.parametrize(
    "address",
    [
        "hooks.example",
        "ftp://hooks.example",
        "https://me:word@hooks.example",
        "https://",
        "https://hooks.example:0/",
        "https://hooks.example:x/",
        "https://hooks.example/#part",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="must be an address"):
        ApprovalsSettings(webhook=address, webhook_secret="env:HOOK")
