"""Voices are read as they were written."""

import json
from decimal import Decimal

import pytest

from portico.adapters.postgres.debate_rows import voice_from, voice_json
from portico.debate.core.voice import Tariff, Voice
from portico.testing.debate_voices import a_voice


@pytest.mark.parametrize(
    "voice",
    [
        a_voice("a:1"),
        a_voice("a:1", window=16_384, tariff=Tariff(input=Decimal("0.5"), output=Decimal(2))),
        a_voice("a:1", personas=("critic",), specialist=True, bounded=False, most_output=7),
    ],
    ids=["plain", "priced", "specialist"],
)
def test_a_voice_comes_back_as_it_was(voice: Voice) -> None:
    assert voice_from(json.loads(json.dumps(voice_json(voice)))) == voice


def test_a_voice_that_was_written_before_windows_were_known_has_none() -> None:
    old = {key: value for key, value in voice_json(a_voice("a:1")).items() if key != "window"}

    assert voice_from(old).window is None
