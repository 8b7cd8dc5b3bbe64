"""When nothing fits."""

import numpy as np
import pytest

from portico.gateway.core.search.abstain import Calibration, Judgement, Signs, confidence


def signs(*top: float) -> Signs:
    values = np.array(top, np.float32)
    return Signs(values, values * 0, values * 0)


def test_most_of_the_background_is_turned_away() -> None:
    background = signs(*range(100))

    scores = Calibration.of(background, Judgement(1.0, 1.0, 1.0)).scores(background)

    assert (scores < 0).sum() == 80


def test_a_score_is_in_terms_of_what_is_usual_for_the_catalogue() -> None:
    judgement = Judgement(2.0, 0.0, 0.0)

    low = Calibration.of(signs(1, 2, 3), judgement).scores(signs(4))
    high = Calibration.of(signs(101, 102, 103), judgement).scores(signs(104))

    assert low == pytest.approx(high, abs=1e-3)


@pytest.mark.parametrize(("score", "sure"), [(0.0, 0.5), (-1e9, 0.0), (1e9, 1.0)])
def test_confidence_is_a_half_where_doubt_begins(score: float, sure: float) -> None:
    assert confidence(score) == pytest.approx(sure)
