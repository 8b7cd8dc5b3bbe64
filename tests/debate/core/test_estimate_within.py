"""No estimate is above its cap."""

from dataclasses import replace
from decimal import Decimal

from portico.debate.core.question import QuestionKind
from portico.debate.core.rules import Cap, Preset
from portico.debate.core.wish import Estimate

DEAR = Estimate(
    voices=(),
    most_tokens=9_000,
    most_money=Decimal(3),
    most_calls=8,
    likely_tokens=6_000,
    likely_calls=4,
    seconds=300,
    preset=Preset.VOTE,
    kind=QuestionKind.YES_NO,
)


def test_it_is_at_most_what_the_cap_lets_through() -> None:
    held = DEAR.within(Cap(tokens=5_000, money=Decimal(1)))

    assert (held.most_tokens, held.likely_tokens, held.most_money) == (5_000, 5_000, Decimal(1))
    assert DEAR.within(Cap()) == DEAR


def test_one_that_cannot_begin_says_what_it_takes() -> None:
    short = replace(DEAR, fits=False)

    assert short.within(Cap(tokens=10)) == short
