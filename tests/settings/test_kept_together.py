"""How long things are kept that need one another."""

from pathlib import Path

import pytest

from portico.settings.errors import InvalidSettings
from portico.settings.load import load


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"gateway.keep_calls_days": 7}, "gateway.keep_calls_days"),
        ({"workflows.keep_days": 31}, "gateway.keep_calls_days"),
        ({"workflows.keep_days": 1}, "workflows.keep_days"),
        ({"workflows.keep_days": 7, "approvals.expires_minutes": 10_080}, "workflows.keep_days"),
    ],
)
def test_what_a_plan_needs_is_not_forgotten_before_it(
    tmp_path: Path, said: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidSettings) as caught:
        load({"HOME": str(tmp_path)}, folder=tmp_path, flags=said)

    assert [flaw.field for flaw in caught.value.flaws] == [field]


@pytest.mark.parametrize(
    "said",
    [
        {"gateway.keep_calls_days": 8},
        {"workflows.keep_days": 365, "gateway.keep_calls_days": 365},
        {"workflows.keep_days": 2, "approvals.expires_minutes": 1_440},
        {"approvals.expires_minutes": 10_080},
    ],
)
def test_as_long_as_that_is_enough(tmp_path: Path, said: dict[str, object]) -> None:
    settings = load({"HOME": str(tmp_path)}, folder=tmp_path, flags=said).settings

    assert settings.gateway.keep_calls_days >= settings.workflows.keep_days
