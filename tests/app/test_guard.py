"""The webhook of requests, put together from settings."""

import pytest

from portico.app.guard import webhook_to
from portico.settings.guard import ApprovalsSettings
from portico.testing.approvals import MemoryApprovals
from portico.testing.memory_store import InMemoryStore, TickingClock


def test_it_signs_with_what_its_reference_leads_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", "of the house")
    settings = ApprovalsSettings(
        webhook="http://127.0.0.1:9/hook", webhook_secret="env:HOOK_SECRET"
    )
    approvals, clock = MemoryApprovals(InMemoryStore()), TickingClock()

    made = webhook_to(settings, approvals, clock, "http://127.0.0.1:3100")

    assert made is not None
    assert (made.url, made.secret()) == ("http://127.0.0.1:9/hook", "of the house")
    assert webhook_to(ApprovalsSettings(), approvals, clock, "") is None
