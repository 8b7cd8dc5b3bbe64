"""Which form of call comes next: judged by the last two calls, and by signs beside them."""

from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Final

from portico.learning.core.prefetch.layer import FOLLOWS, HINTS, Layer, summed
from portico.learning.core.prefetch.signs import ANYWHERE, Stand

END: Final = "end"
"""In place of a form: nothing came any more."""
_SHRINK: Final = 2.0
"""Calls that what is known of less is worth, beside what was seen."""
_SHARPNESS: Final = 4.0

Counts = Mapping[str, tuple[int, int]]
Shares = Mapping[str, float]


def likely(layers: Sequence[Layer], at: Stand) -> Shares:
    """Of each form, as text, and of the end."""
    near, far = (summed(layers, FOLLOWS, where) for where in (at.near, at.far))
    many = 1 + sum(tried for tried, _ in near.values())
    base = _shrunken(far, {form: tried / many for form, (tried, _) in near.items()})
    rows = (summed(layers, HINTS, hinting(at, sign)) for sign in at.signs)
    return _mixed([base, *(_shrunken(row, base) for row in rows if row)])


def known_share(layers: Sequence[Layer], at: Stand, form: str) -> float:
    """Of the signs, under how many this form was ever called: what is foretold of work that nobody
    has done before looks as sure, and is not."""
    seen = [
        any(form in layer.row(HINTS, hinting(at, sign)) for layer in layers) for sign in at.signs
    ]
    return sum(seen) / len(seen)


def hinting(at: Stand, sign: str) -> str:
    return sign if sign.startswith(ANYWHERE) else f"{at.near}\t{sign}"


def _shrunken(row: Counts, towards: Shares) -> Shares:
    total = _SHRINK + sum(tried for tried, _ in row.values())
    return {
        form: (row.get(form, (0, 0))[0] + _SHRINK * towards.get(form, 0.0)) / total
        for form in {**towards, **row}
    }


def _mixed(told: Sequence[Shares]) -> Shares:
    """Each counts the more the surer it is. That several say the same adds nothing, for they are
    seldom independent."""
    weights = [exp(-_SHARPNESS * _entropy(shares)) for shares in told]
    total = sum(weights)
    mixed: dict[str, float] = {}
    for weight, shares in zip(weights, told, strict=True):
        for form, share in shares.items():
            mixed[form] = mixed.get(form, 0.0) + weight * share / total
    return mixed


def _entropy(shares: Shares) -> float:
    return -sum(share * log(share) for share in shares.values() if share)
