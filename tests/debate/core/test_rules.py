"""What a preset and a thoroughness come to."""

from itertools import pairwise

import pytest

from portico.debate.core.rules import Preset, rules_of


@pytest.mark.parametrize("thoroughness", [-0.1, 1.1])
def test_thoroughness_is_from_0_to_1(thoroughness: float) -> None:
    with pytest.raises(ValueError, match=str(thoroughness)):
        rules_of(Preset.VOTE, thoroughness)


@pytest.mark.parametrize("preset", Preset)
def test_who_is_more_thorough_asks_as_many_and_stops_as_late(preset: Preset) -> None:
    for less, more in pairwise(rules_of(preset, tenth / 10) for tenth in range(11)):
        assert less.voices_most <= more.voices_most
        assert less.rounds <= more.rounds
        assert less.stop_at < more.stop_at
        assert less.judge_pairs <= more.judge_pairs


def test_a_vote_has_no_critique_however_thorough() -> None:
    assert {rules_of(Preset.VOTE, tenth / 10).rounds for tenth in range(11)} == {1}
    assert rules_of(Preset.DEBATE, 1).rounds == 2
