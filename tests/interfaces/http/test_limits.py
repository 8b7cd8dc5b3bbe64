"""Whoever calls too often is told when to come back."""

from datetime import timedelta

import pytest

from portico.guard.core.errors import LimitReached
from portico.interfaces.http.problems import problem_response


@pytest.mark.parametrize(("seconds", "told"), [(0.0, "1"), (0.2, "1"), (12.01, "13"), (60, "60")])
def test_a_limit_says_how_many_whole_seconds_to_wait(seconds: float, told: str) -> None:
    limit = LimitReached("calls of github.*", 60, timedelta(seconds=seconds))

    response = problem_response(limit)

    assert response.status_code == 429
    assert response.headers["Retry-After"] == told
    assert b"60 calls of github.* in a minute" in response.body
