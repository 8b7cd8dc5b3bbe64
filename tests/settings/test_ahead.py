"""What the user decides about calls that are made before they are asked for."""

from datetime import timedelta
from pathlib import Path

import pytest

from portico.gateway.core.ahead.switches import AheadMode
from portico.gateway.core.ahead.terms import AheadTerms
from portico.settings.ahead import AheadSettings
from portico.settings.errors import InvalidSettings
from portico.settings.load import load


def loaded(folder: Path, text: str) -> AheadSettings:
    file = folder / "portico.toml"
    file.write_text(text)
    return load({}, folder=folder, config=file).settings.ahead


def test_what_is_not_said_is_what_the_room_would_have_decided() -> None:
    assert AheadSettings().terms == AheadTerms()


def test_everything_can_be_said(tmp_path: Path) -> None:
    text = """
        [ahead]
        mode = "shadow"
        external = ["search", "wiki"]
        least_gain_ms = 200
        keep_seconds = 3
        calls_at_once = 1
        calls_a_minute = 10
        seconds = 2.5
        dollars = 0.05
        share = 0.1
        [ahead.prices]
        "search.*" = 0.01
        "wiki.find" = 1
    """

    assert loaded(tmp_path, text).terms == AheadTerms(
        mode=AheadMode.SHADOW,
        external=frozenset({"search", "wiki"}),
        least_gain=timedelta(milliseconds=200),
        keep=timedelta(seconds=3),
        calls_at_once=1,
        calls_a_principal=1,
        calls_a_minute=10,
        longest=timedelta(seconds=2.5),
        dollars=0.05,
        prices={"search.*": 0.01, "wiki.find": 1},
        share=0.1,
    )


@pytest.mark.parametrize(
    "text",
    [
        'mode = "on"',
        'external = ["Not A Name"]',
        "least_gain_ms = -1",
        "keep_seconds = 0",
        "keep_seconds = 61",
        "calls_at_once = 0",
        "calls_a_minute = 0",
        "seconds = 5.1",
        "dollars = 0.11",
        "share = 0.6",
        "share = nan",
        'prices = {"search.*" = -1}',
    ],
)
def test_what_would_do_too_much_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidSettings, match="ahead"):
        loaded(tmp_path, f"[ahead]\n{text}\n")
