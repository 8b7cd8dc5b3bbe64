"""From evidence to one list, and when nothing fits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from portico.gateway.core.search.abstain import Calibration, Judgement, Signs, confidence
from portico.gateway.core.search.fusion import (
    Floats,
    Weights,
    any_of,
    log_softmax,
    logits,
    scored,
    standardised,
)

ROWS = arrays(
    np.float32,
    st.tuples(st.integers(1, 5), st.integers(1, 6)),
    elements=st.floats(-50, 50, width=32),
)


@given(ROWS)
def test_probabilities_sum_to_one(rows: Floats) -> None:
    assert np.exp(log_softmax(rows)).sum(axis=1) == pytest.approx(1, rel=1e-3)


@given(ROWS)
def test_answering_any_part_is_as_likely_as_the_likeliest_at_least(rows: Floats) -> None:
    known = log_softmax(rows)

    either = any_of(known)

    assert np.isfinite(either).all()
    assert (either >= known.max(axis=0) - 0.01).all()


@given(ROWS, st.booleans())
def test_scores_are_log_probabilities(rows: Floats, steps: bool) -> None:
    found = scored(rows, steps=steps)

    assert np.exp(found).sum() == pytest.approx(1, rel=1e-3)


def test_the_whole_decides_beside_clauses_and_the_parts_beside_steps() -> None:
    rows = np.array([[6, 0, 0], [0, 5, 0], [0, 0, 5]], np.float32)

    clauses, steps = scored(rows, steps=False), scored(rows, steps=True)

    assert clauses.argmax() == 0
    assert set(np.argsort(-steps)[:2]) == {1, 2}


def test_evidence_is_weighed_and_a_server_that_stands_out_gives_a_nudge() -> None:
    evidence = {
        "lexical": np.array([[2, 0]], np.float32),
        "static": np.array([[0, 1]], np.float32),
    }
    weights = Weights({"lexical": 1.0, "static": 3.0}, server=0.5)

    assert logits(evidence, None, weights).tolist() == [[2, 3]]
    assert logits(evidence, np.array([[1, 0]], np.float32), weights).tolist() == [[2.25, 3]]


def test_what_does_not_differ_says_nothing() -> None:
    assert standardised(np.full((1, 3), 7, np.float32)).tolist() == [[0, 0, 0]]


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


def test_confidence_is_a_half_where_doubt_begins() -> None:
    rows: list[tuple[float, float]] = [(0.0, 0.5), (-1e9, 0.0), (1e9, 1.0)]

    for score, sure in rows:
        assert confidence(score) == pytest.approx(sure)
