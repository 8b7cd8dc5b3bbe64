"""What answers come to: probabilities, when to stop, whom to ask, what is decided."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from portico.debate.core.debates import Decision, Verdict, Why
from portico.debate.core.panel import (
    critique_worth,
    next_voice,
    panel_of,
    settled,
    standing,
    unchangeable,
)
from portico.debate.core.questions import Preset, Question, QuestionKind, rules_of
from portico.debate.core.vote_weights import Posterior, Rule, pooled, softmax, unsaid
from portico.debate.core.votes import (
    Outlook,
    Panel,
    decide,
    decide_open,
    expected,
    outlook_of,
    pairs,
    pairs_to_judge,
    settled_pairs,
    strengths,
)
from tests.debate.core.team import CHOICE, NUMBER, again, known, said, voices

VOTE = rules_of(Preset.VOTE, 0.5)
QUICK = rules_of(Preset.VOTE, 0.0)
QUORUM = rules_of(Preset.QUORUM, 0.5)
FIVE = voices(5)


def undecided(decision: Decision) -> Why:
    assert (decision.verdict, decision.answer) == (Verdict.NO_DECISION, None)
    return decision.why


@pytest.fixture
def panel() -> Panel:
    """Five voices that nobody knows, asked for a number."""
    return panel_of(NUMBER, FIVE, [])


def test_nobody_has_said_anything(panel: Panel) -> None:
    assert standing(panel, []) == ()
    assert settled(panel, [], FIVE, VOTE) is None
    assert undecided(decide(panel, [], VOTE, Why.DEADLINE)) is Why.NO_ANSWERS


@given(some.lists(some.sampled_from("1234"), min_size=1, max_size=5))
def test_probabilities_and_what_nobody_said_come_to_one(keys: list[str]) -> None:
    panel = panel_of(NUMBER, FIVE, [])

    likely = [chance for _, chance in standing(panel, said("".join(keys)))]

    assert likely == sorted(likely, reverse=True)
    assert 0 < sum(likely) < 1


@given(some.lists(some.sampled_from("12"), min_size=1, max_size=4))
def test_one_more_for_the_likeliest_never_makes_it_less_likely(keys: list[str]) -> None:
    panel = panel_of(NUMBER, FIVE, [])
    answer, chance = standing(panel, said("".join(keys)))[0]

    again_said = dict(standing(panel, said("".join([*keys, answer]))))

    assert again_said[answer] >= chance - 1e-9 or keys.count(answer) < len(keys)


def test_all_choices_taken_leave_nothing_for_others() -> None:
    yes_no = Question(text="Is it?", kind=QuestionKind.YES_NO)
    panel = panel_of(yes_no, FIVE, [])

    assert sum(chance for _, chance in standing(panel, said("yn"))) == pytest.approx(1)

    assert softmax({}, unsaid(0, 0)) == Posterior({}, 1.0)

    assert expected(Outlook((1.0, 1.0), 0.0, 0), [1.0], 2) > 0.5


def test_two_of_one_family_are_less_convincing_than_two_of_two() -> None:
    same = standing(panel_of(NUMBER, voices(2, "aa"), []), said("11"))[0][1]
    other = standing(panel_of(NUMBER, voices(2, "ab"), []), said("11"))[0][1]

    assert same < other


def test_a_tie_and_what_is_too_unsure_are_no_decision(panel: Panel) -> None:
    unsure = decide(panel, said("11234"), VOTE, Why.ALL_ASKED)

    assert undecided(decide(panel, said("1122"), VOTE, Why.ALL_ASKED)) is Why.TIE
    assert undecided(unsure) is Why.TOO_UNSURE
    assert unsure.probability < 0.5


def test_a_decision_tells_its_dissent_its_weights_and_who_was_asked() -> None:
    decision = decide(panel_of(NUMBER, FIVE, []), said("1112"), VOTE, Why.CERTAIN)

    assert (decision.verdict, decision.why, decision.answer) == (Verdict.DECIDED, Why.CERTAIN, "1")
    assert [each.shown for each in decision.dissent] == ["2"]
    assert decision.options[0].debaters == ("v0", "v1", "v2")
    assert decision.asked == 4
    assert 1 < decision.n_eff < 4
    assert decision.rule == "cold"
    assert [name for name, _ in decision.weights] == ["v0", "v1", "v2", "v3"]


def test_a_change_of_mind_counts_half_and_only_if_an_error_is_named() -> None:
    changed = pooled([*said("12"), again(1, "1", "I forgot the sign")])
    unfounded = pooled([*said("12"), again(1, "1", " ")])
    kept = pooled([*said("12"), again(1, "2", None)])

    assert [(each.key, each.share) for each in changed] == [("1", 1), ("2", 0.5), ("1", 0.5)]
    assert unfounded == kept == pooled(said("12"))


def test_rounds_are_pooled(panel: Panel) -> None:
    decision = decide(panel, [*said("1122"), again(3, "1", "it was doubled")], VOTE, Why.ALL_ASKED)

    assert decision.options[0].shown == "1"
    assert decision.options[0].debaters == ("v0", "v1", "v3")


def test_it_is_settled_by_certainty_or_by_thoroughness(panel: Panel) -> None:
    assert settled(panel, said("1112"), FIVE[4:], VOTE) is Why.CERTAIN
    assert settled(panel, said("112"), FIVE[3:], VOTE) is None
    assert settled(panel, said("1122"), FIVE[4:], VOTE) is None
    assert settled(panel, said("11"), FIVE[2:], QUICK) is Why.LIKELY
    assert settled(panel, said("11"), FIVE[2:], VOTE) is None


def test_a_lead_that_would_no_longer_be_decided_on_is_not_certain() -> None:
    def then(scores: Mapping[str, float]) -> Posterior:
        return softmax(scores, unsaid(4, len(scores)))

    assert not unchangeable({"1": 1.5}, 1.4, then, 0.5)
    assert unchangeable({"1": 9.0}, 1.4, then, 0.5)
    assert unchangeable({}, 0.0, then, 0.5)
    assert not unchangeable({}, 1.0, then, 0.5)


def test_the_blind_pair_is_of_two_families_and_of_the_best_records() -> None:
    team = voices(3, "aab")
    good = [known("212", "1", topic="general")] * 30
    panel = panel_of(NUMBER, team, good)

    first = next_voice(panel, [], [(each, 10) for each in team], VOTE)
    assert first is not None
    left = [(each, 10) for each in team if each is not first.debater]
    second = next_voice(panel, [], left, VOTE)

    assert first.debater.name == "v1"
    assert second is not None
    assert second.debater.name == "v2"
    assert "another family" in second.why
    third = next_voice(panel, [], left[:1], VOTE)
    assert third is not None
    assert "record" in third.why


def test_of_equals_the_cheapest_is_asked(panel: Panel) -> None:
    found = next_voice(panel, said("12"), [(FIVE[2], 900), (FIVE[3], 100)], VOTE)

    assert found is not None
    assert found.debater is FIVE[3]


def test_nobody_is_asked_where_it_adds_too_little(panel: Panel) -> None:
    assert next_voice(panel, said("11"), [], VOTE) is None
    assert next_voice(panel, said("112"), [(each, 10) for each in FIVE[3:]], QUICK) is None
    assert next_voice(panel, said("112"), [(each, 10) for each in FIVE[3:]], VOTE) is not None


@given(
    some.lists(some.floats(0, 4), max_size=4),
    some.lists(some.floats(0.1, 3), min_size=1, max_size=3),
)
def test_another_answer_is_never_expected_to_make_one_less_sure(
    scores: list[float], weights: list[float]
) -> None:
    outlook = outlook_of(scores, unsaid(5, len(scores)), 5 - len(scores))

    assert expected(outlook, weights, 5) >= outlook.sureness - 1e-9


def test_a_critique_is_for_what_is_split(panel: Panel) -> None:
    assert critique_worth(panel, said("12"), 100, VOTE)
    assert not critique_worth(panel, said("11"), 100, VOTE)
    assert not critique_worth(panel, said("12"), 0, VOTE)


def test_a_quorum_is_two_thirds_of_the_registered_weight_and_two_families() -> None:
    three = voices(3)
    panel = panel_of(CHOICE, three, [])

    assert decide(panel, said("11"), QUORUM, Why.ALL_ASKED).verdict is Verdict.DECIDED
    assert decide(panel, said("1"), QUORUM, Why.ALL_ASKED).why is Why.NO_QUORUM
    one_family = panel_of(CHOICE, voices(3, "aaa"), [])
    assert decide(one_family, said("111"), QUORUM, Why.ALL_ASKED).why is Why.NO_QUORUM


def test_a_quorum_is_settled_when_it_is_there_or_out_of_reach() -> None:
    three = voices(3)
    panel = panel_of(CHOICE, three, [])
    vetoing = panel_of(CHOICE, voices(3, specialist=2), [])

    assert settled(panel, [], three, QUORUM) is None
    assert settled(panel, said("1"), three[1:], QUORUM) is None
    assert settled(panel, said("11"), three[2:], QUORUM) is Why.CERTAIN
    assert settled(panel, said("123"), [], QUORUM) is Why.CERTAIN
    assert next_voice(panel, said("1"), [(three[1], 10)], QUORUM) is not None
    assert settled(vetoing, said("11"), voices(3, specialist=2)[2:], QUORUM) is None


def test_a_specialists_veto_with_evidence_escalates() -> None:
    panel = panel_of(CHOICE, voices(3, specialist=2), [])
    answers = said("111")
    without = [*answers[:2], replace(answers[2], veto="it leaks")]
    founded = [*answers[:2], replace(answers[2], veto="it leaks", evidence=("line 3",))]
    amateur = [replace(answers[0], veto="it leaks", evidence=("line 3",)), *answers[1:]]

    assert decide(panel, without, QUORUM, Why.ALL_ASKED).verdict is Verdict.DECIDED
    assert decide(panel, amateur, QUORUM, Why.ALL_ASKED).verdict is Verdict.DECIDED
    vetoed = decide(panel, founded, QUORUM, Why.ALL_ASKED)
    assert (vetoed.verdict, vetoed.why, vetoed.veto) == (Verdict.ESCALATED, Why.VETO, "it leaks")
    assert settled(panel, founded, [], QUORUM) is Why.CERTAIN
    assert decide(panel, founded, VOTE, Why.ALL_ASKED).verdict is Verdict.DECIDED


def test_open_answers_are_decided_by_comparisons_in_both_orders() -> None:
    panel = panel_of(NUMBER, voices(3), [])
    judged = [("v0", "v1", "v1"), ("v1", "v0", "v1"), ("v1", "v2", "v1"), ("v2", "v1", "v2")]
    seen = [*judged, ("v0", "v2", "v2"), ("v2", "v0", "v0")]

    unsure = decide_open(panel, said("abc"), seen, VOTE, Why.ALL_ASKED)
    assert undecided(unsure) is Why.TOO_UNSURE
    assert unsure.probability < 0.5
    better = [("v1", "v2", "v1"), ("v2", "v1", "v1")]
    decision = decide_open(panel, said("abc"), [*judged[:2], *better], VOTE, Why.ALL_ASKED)

    assert (decision.verdict, decision.answer, decision.rule) == (Verdict.DECIDED, "b", "compared")
    assert {each.shown for each in decision.dissent} == {"a", "c"}
    assert sum(each.probability for each in decision.options) == pytest.approx(1)


def test_open_answers_that_nothing_tells_apart_are_a_tie() -> None:
    panel = panel_of(NUMBER, voices(3, specialist=0), [])
    both = [("v0", "v1", "v0"), ("v1", "v0", "v1")]

    assert decide_open(panel, said("ab"), both, VOTE, Why.ALL_ASKED).why is Why.TIE
    assert decide_open(panel, said("a"), [], VOTE, Why.ALL_ASKED).answer == "a"
    assert decide_open(panel, [], [], VOTE, Why.DEADLINE).why is Why.NO_ANSWERS
    objection = [replace(said("a")[0], veto="no", evidence=("here",)), *said("ab")[1:]]
    assert decide_open(panel, objection, both, QUORUM, Why.ALL_ASKED).why is Why.VETO


def test_open_answers_are_compared_in_a_chain_first() -> None:
    panel = panel_of(NUMBER, voices(4), [])

    pairs = pairs_to_judge(panel, said("abcd"), rules_of(Preset.VOTE, 1))

    assert list(pairs)[:3] == [("v0", "v1"), ("v1", "v2"), ("v2", "v3")]
    assert len(pairs) == 6
    assert len(pairs_to_judge(panel, said("abcd"), QUICK)) == 1


def test_the_best_voice_alone_decides_where_history_says_so() -> None:
    past = [known("1222", "1") if turn % 12 else known("2333", "1") for turn in range(80)]
    panel = panel_of(CHOICE, voices(4), past)

    assert standing(panel, said("1222"))[0][0] == "1"
    assert panel.scales.rule is not Rule.MAJORITY


@pytest.mark.parametrize("liars", [1, 2, 3, 4])
def test_liars_at_full_confidence_do_not_outweigh_one_more_honest_voice(liars: int) -> None:
    size = 2 * liars + 1
    boasted = [
        known("1" * size if turn % 2 else "2" * size, "1", sure=[0.99 if turn % 2 else 0.4] * size)
        for turn in range(60)
    ]
    answers = [*said("1" * (liars + 1), 0.4), *said("2" * size, 1.0)[liars + 1 :]]

    for past in ([], boasted):
        panel = panel_of(CHOICE, voices(size), past)
        assert decide(panel, answers, VOTE, Why.ALL_ASKED).options[0].shown == "1"


def test_in_a_quorum_the_best_voice_weighs_no_more_than_its_record() -> None:
    panel = panel_of(CHOICE, voices(9), [])
    rates = {"v0": 0.8, **{f"v{at}": 0.6 for at in range(1, 9)}}
    alone = replace(panel, scales=replace(panel.scales, rule=Rule.BEST_SINGLE, rates=rates))

    assert decide(alone, said("1" * 2 + "2" * 7), QUORUM, Why.ALL_ASKED).answer is None


def test_where_the_best_voice_is_away_the_best_of_the_others_decides() -> None:
    panel = panel_of(CHOICE, voices(4), [known("1222", "1")] * 30)
    alone = replace(panel, scales=replace(panel.scales, rule=Rule.BEST_SINGLE))
    others = said("0222")[1:]

    decision = decide(alone, others, VOTE, Why.ALL_ASKED)

    assert decision.options[0].shown == "2"
    assert decision.probability > 1 / 4
    assert max(weight for _, weight in decision.weights) > 0


def test_a_quorum_that_a_specialist_was_not_heard_on_is_none() -> None:
    panel = panel_of(CHOICE, voices(4, specialist=3), [])

    assert decide(panel, said("111"), QUORUM, Why.BUDGET).why is Why.NO_QUORUM
    assert decide(panel, said("1111"), QUORUM, Why.ALL_ASKED).answer == "1"
    assert decide_open(panel, said("abc"), [], QUORUM, Why.BUDGET).why is Why.NO_QUORUM


def test_an_open_question_has_a_quorum_of_those_who_answered() -> None:
    panel = panel_of(NUMBER, voices(9), [])
    judged = [("v0", "v1", "v0"), ("v1", "v0", "v0")]

    assert decide_open(panel, said("ab"), judged, QUORUM, Why.BUDGET).why is Why.NO_QUORUM
    assert decide_open(panel, said("abaaaba"), judged, QUORUM, Why.ALL_ASKED).answer == "a"
    scattered = decide_open(panel, said("abcdefg"), judged, QUORUM, Why.ALL_ASKED)
    assert scattered.why is Why.TOO_UNSURE


def test_equal_texts_are_one_answer_and_as_strong_as_their_voices() -> None:
    panel = panel_of(NUMBER, voices(3), [])

    alike = decide_open(panel, said("aaa"), [], VOTE, Why.ALL_ASKED)
    assert (alike.verdict, alike.answer, len(alike.options)) == (Verdict.DECIDED, "a", 1)
    assert alike.options[0].debaters == ("v0", "v1", "v2")
    most = decide_open(panel, said("aba"), [("v0", "v2", "v0")], VOTE, Why.ALL_ASKED)
    assert most.answer == "a"
    assert most.probability == pytest.approx(2 / 3)
    assert pairs_to_judge(panel, said("aba"), VOTE) == [("v0", "v1")]
    judged = [("v2", "v1", "v1"), ("v1", "v2", "v1")]
    turned = decide_open(panel, said("aba"), judged, VOTE, Why.ALL_ASKED)
    assert turned.probability < most.probability


def test_a_quorum_says_why_it_asks_each_and_may_ask_everybody() -> None:
    three = voices(3, specialist=2)
    panel = panel_of(CHOICE, three, [])

    found = [next_voice(panel, said("1"), [(three[at], 10)], QUORUM) for at in (1, 2)]

    assert [None if each is None else each.why for each in found] == [
        "a quorum counts everybody",
        "it may veto: it has to be heard",
    ]

    assert QUORUM.voices_most > 14


def test_pairs_are_settled_by_both_orders_and_all_connected_before_any_is_added() -> None:
    assert settled_pairs([("a", "b", "a"), ("b", "a", "b")]) == {("a", "b"): None}
    assert settled_pairs([("a", "b", "a"), ("b", "a", "a")]) == {("a", "b"): "a"}
    assert settled_pairs([("a", "b", None)]) == {("a", "b"): None}
    assert pairs(["a", "b", "c"], 9) == [("a", "b"), ("b", "c"), ("a", "c")]
    assert pairs(["a"], 9) == []


def test_who_wins_more_is_stronger_and_whoever_is_not_in_it_is_left_out() -> None:
    found = strengths(["a", "b", "c"], [("a", "b", "a"), ("b", "c", "b"), ("a", "c", "a")])

    assert found["a"] > found["b"] > found["c"] > 0
    assert sum(found.values()) == pytest.approx(1)

    assert strengths(["a", "b"], [("a", "x", "x"), ("x", "b", "b")]) == {"a": 0.5, "b": 0.5}
    assert strengths([], []) == {}


@given(some.lists(some.sampled_from(["a", "b", None]), max_size=8))
def test_names_make_no_difference(better: list[str | None]) -> None:
    swapped = {"a": "b", "b": "a", None: None}
    one = strengths(["a", "b"], [("a", "b", each) for each in better])
    other = strengths(["a", "b"], [("b", "a", swapped[each]) for each in better])

    assert one["a"] == pytest.approx(other["b"])


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
