"""When nobody else need be asked.

Lossless: whoever is left could neither change the answer nor whether one is given. By
probability: the answer is as likely as was wished for.
"""

from collections.abc import Callable, Mapping

from portico.debate.core.posterior import Posterior


def unchangeable(
    scores: Mapping[str, float],
    left: float,
    then: Callable[[Mapping[str, float]], Posterior],
    decide_at: float,
) -> bool:
    """The first leads the second by more than all that is left, and stays on its side of
    `decide_at`.

    `left` is the most that those who are left weigh together; `then` tells how likely scores are.
    """
    ordered = sorted(scores.values(), reverse=True)
    if not ordered:
        return left <= 0
    second = ordered[1] if len(ordered) > 1 else 0.0
    if ordered[0] - second <= left:
        return False
    top = max(scores, key=lambda key: scores[key])
    against = {**scores, **_rival(scores, top, left)}
    worst, best = then(against), then({**scores, top: scores[top] + left})
    return (worst.likely[top] >= decide_at) == (best.likely[top] >= decide_at)


def _rival(scores: Mapping[str, float], top: str, left: float) -> Mapping[str, float]:
    """All who are left for the strongest other answer, or for a new one."""
    others = {key: score for key, score in scores.items() if key != top}
    rival = max(others, key=lambda key: others[key], default="")
    return {rival: others.get(rival, 0.0) + left}
