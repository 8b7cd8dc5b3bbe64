"""Weights of evidence, learnt."""

import numpy as np

from portico.bench.listwise import Candidates, learn_weights


def lessons(count: int) -> list[Candidates]:
    """The first kind of evidence knows the right tool, the second knows nothing."""
    draw = np.random.default_rng(3)
    found = []
    for number in range(count):
        rows = draw.standard_normal((2, 12)).astype(np.float32)
        rows[0, number % 12] += 2
        found.append(Candidates.of(rows, [number % 12]))
    return found


def test_what_knows_counts_and_what_does_not_hardly() -> None:
    knowing, idle = learn_weights([lessons(60), lessons(20)])

    assert knowing > 0.8
    assert idle < 0.4


def test_the_right_tools_come_first_and_none_is_there_twice() -> None:
    rows = np.arange(400, dtype=np.float32).reshape(2, 200)

    candidates = Candidates.of(rows, [5, 199])

    assert candidates.features[:2].tolist() == [[5, 205], [199, 399]]
    assert candidates.gold.tolist() == [True, True, *[False] * 149]
    assert len(np.unique(candidates.features[:, 0])) == len(candidates.gold)
