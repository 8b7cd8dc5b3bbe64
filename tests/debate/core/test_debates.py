"""What an answer may cost, what it came to, and what a whole debate is estimated at."""

from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from portico.debate.core.debaters import DebaterReply, Tariff
from portico.debate.core.debates import (
    DebaterAnswer,
    Estimate,
    NoteKind,
    RemainingBudget,
    charged,
    charged_at_most,
    left_of,
    reserve_for,
    share_of,
)
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.debate.core.vote_weights import merged, nearness, pair_name
from portico.kernel.budget import NOTHING, Cost, Tokens
from portico.testing.debate_fakes import a_voice
from tests.debate.core.tables import GUEST, note, words

DEAR = a_voice("a:1", tariff=Tariff(input=Decimal(10), output=Decimal(30)))
AMOUNT = st.integers(min_value=-(10**12), max_value=10**12)
MONEY = st.decimals(min_value=0, max_value=10**6, places=4)


@given(AMOUNT, AMOUNT, MONEY, st.text(max_size=50))
def test_a_bounded_voice_is_never_charged_beyond_what_was_reserved(
    prompt: int, output: int, money: Decimal, text: str
) -> None:
    reserve = reserve_for(DEAR, (text, "the question"), 100, words)
    reply = DebaterReply(
        text=text, prompt_tokens=prompt, output_tokens=output, cost=Cost(money=money)
    )

    charge = charged(DEAR, reserve, reply)

    assert not charge.cost.over(reserve.cost)
    assert charge.overrun == 0
    assert charge.cost.tokens >= reserve.counted


def test_other_alphabets_are_reserved_more_for_and_one_foreign_word_is_no_foreign_text() -> None:
    plain = reserve_for(DEAR, ("one two",), 100, words)
    other = reserve_for(DEAR, ("один два",), 100, words)

    assert (plain.prompt, other.prompt) == (3, 6)

    plain = reserve_for(DEAR, ("word " * 1_000,), 100, words)
    dashed = reserve_for(DEAR, ("word " * 999 + "—",), 100, words)

    assert (plain.prompt, dashed.prompt) == (1_500, 1_502)


def test_guests_cost_nothing() -> None:
    reserve = reserve_for(GUEST, ("a question",), 100, words)
    reply = DebaterReply(text="x", prompt_tokens=10**6, output_tokens=10**6)

    assert reserve.cost == charged(GUEST, reserve, reply).cost == NOTHING


def test_a_voice_without_a_maximum_is_charged_with_all_of_it() -> None:
    wild = replace(DEAR, bounded=False)
    reserve = reserve_for(wild, ("a question",), 100, words)
    reply = DebaterReply(text="x", prompt_tokens=1_000, output_tokens=2_000)

    charge = charged(wild, reserve, reply)

    assert charge.cost.tokens == 3_000
    assert charge.overrun == 3_000 - reserve.cost.tokens


def test_what_nobody_knows_the_cost_of_costs_all_that_was_reserved() -> None:
    reserve = reserve_for(DEAR, ("a question",), 100, words)
    much = Cost(tokens=Tokens(10**9), money=Decimal(10**9), calls=4)

    assert charged_at_most(reserve, None) == reserve.cost
    assert not charged_at_most(reserve, much).over(reserve.cost)
    assert charged_at_most(reserve, NOTHING) == NOTHING
    assert charged_at_most(reserve, much, bounded=False) == much


def test_what_is_left_is_never_negative_and_shared_evenly() -> None:
    spent = Cost(tokens=Tokens(150), money=Decimal(3))

    assert left_of(Cap(tokens=100, money=Decimal(2)), spent) == RemainingBudget(0, Decimal(0))
    assert left_of(Cap(), spent) == RemainingBudget()
    assert RemainingBudget(10).least(RemainingBudget(None, Decimal(2))) == RemainingBudget(
        10, Decimal(2)
    )
    assert RemainingBudget(10, Decimal(5)).least(RemainingBudget(3, Decimal(9))) == RemainingBudget(
        3, Decimal(5)
    )
    assert share_of(RemainingBudget(100, Decimal(1)), 4) == Cap(tokens=25, money=Decimal("0.25"))
    assert share_of(RemainingBudget(), 4) == Cap()


def a_said(key: str) -> DebaterAnswer:
    return DebaterAnswer(voice=key, round=1, answer=key, key=key, shown=f"shown {key}")


def test_what_means_the_same_has_one_key_and_a_pair_one_name() -> None:
    pairs = [("b", "a"), ("c", "b"), ("a", "c")]
    notes = [
        note(NoteKind.SAME, f"same:{one}{other}", body={"one": one, "other": other, "same": True})
        for one, other in pairs
    ]
    apart = note(NoteKind.SAME, "same:x", body={"one": "a", "other": "d", "same": False})

    found = merged([a_said(key) for key in "cabd"], [*notes, apart])

    assert [each.key for each in found] == ["a", "a", "a", "d"]
    assert {each.shown for each in found[:3]} == {"shown c"}

    assert nearness("the red house", "The red house.", 0.97) is True
    assert nearness("route 66", "route 67", 0.97) is None
    assert nearness("it is safe", "it is not safe", 0.97) is None
    assert nearness("a house", "a home", 0.8) is None
    assert nearness("a house", "a river", 0.2) is False

    assert pair_name("a", "b", 1) == pair_name("b", "a", 1)
    assert pair_name("a", "b", 1) != pair_name("a", "b", 2)


ESTIMATE = Estimate(
    debaters=(),
    most_tokens=9_000,
    most_money=Decimal(3),
    most_calls=8,
    likely_tokens=6_000,
    likely_calls=4,
    seconds=300,
    preset=Preset.VOTE,
    kind=QuestionKind.YES_NO,
)


def test_no_estimate_is_above_its_cap_unless_it_could_not_begin() -> None:
    held = ESTIMATE.within(Cap(tokens=5_000, money=Decimal(1)))

    assert (held.most_tokens, held.likely_tokens, held.most_money) == (5_000, 5_000, Decimal(1))
    assert ESTIMATE.within(Cap()) == ESTIMATE

    short = replace(ESTIMATE, fits=False)

    assert short.within(Cap(tokens=10)) == short
