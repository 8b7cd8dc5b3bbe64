"""What votes weigh, how that is learnt, and from what."""

from dataclasses import replace
from functools import cache
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as some

from portico.debate.core.conduct import conclusion
from portico.debate.core.debates import (
    DebaterAnswer,
    KnownOutcome,
    Outcome,
    Source,
    WholeDebate,
    Why,
)
from portico.debate.core.panel import next_voice, panel_of, settled, standing
from portico.debate.core.questions import Preset, Question, QuestionKind, rules_of
from portico.debate.core.vote_weights import (
    ACROSS,
    HALF_LIFE,
    SAME_FAMILY,
    USUAL,
    Ballots,
    Case,
    Kinship,
    Rule,
    Scales,
    Tally,
    ages,
    among,
    band_of,
    best,
    calibration_of,
    choose_between,
    effective,
    kinship_of,
    known_of,
    least_squares,
    log_odds,
    records_of,
    rightness,
    score,
    shared,
    stretches,
    trusted,
)
from portico.debate.core.votes import (
    ENOUGH,
    OpenAnswerModel,
    Tallied,
    decide,
    kin_of,
    lesson_of,
    number_of,
    shape_of,
    tallied_keys,
)
from portico.testing.memory_store import BEGINNING
from tests.debate.core.tables import TEXT, YES_NO, a_debate, a_table
from tests.debate.core.tables import said as noted
from tests.debate.core.team import NUMBER, known, said, voices


def test_a_vote_weighs_its_log_odds_and_never_less_than_nothing() -> None:
    assert log_odds(0.8, 4) == pytest.approx(log(0.8 * 3 / 0.2))
    assert 0 < log_odds(0.1, 4) < 0.1
    assert log_odds(1.0, 4) == log_odds(0.99, 4)


@given(some.floats(0.3, 0.97), some.integers(2, 9))
def test_a_weight_tells_how_often_its_voice_is_right(q: float, k: int) -> None:
    assert rightness(log_odds(q, k), k) == pytest.approx(max(q, 1 / k + 0.01))


@pytest.mark.parametrize(
    ("choices", "distinct", "k"), [(None, 1, 4), (None, 5, 6), (3, 1, 3), (2, 3, 3)]
)
def test_a_free_question_has_at_least_four_answers(
    choices: int | None, distinct: int, k: int
) -> None:
    assert among(choices, distinct) == k


def test_a_record_is_shrunk_kept_by_topic_and_what_is_older_counts_less() -> None:
    assert records_of([]).rate("v0", "general") == pytest.approx(USUAL)

    past = [known("12", "1", topic="sums") for _ in range(30)]
    records = records_of(past)

    assert records.rate("v0", "sums") > records.rate("v0", "names") > records.rate("v1", "names")
    assert 0.5 < records.rate("v0", "sums") < 1

    weights = ages([known("1", "1")] * (HALF_LIFE + 1))

    assert weights[-1] == 1
    assert weights[0] == pytest.approx(0.5)
    turned = [known("2", "1")] * 200 + [known("1", "1")] * 200
    assert records_of(turned).rate("v0", "general") > 0.55

    assert Tally().plus(True, 1.0).plus(False, 0.5) == Tally(1.0, 1.5)

    few, many = records_of([known("11", "2")]), records_of([known("1" * 9, "2")])

    assert few.rate("other", "general") == pytest.approx(many.rate("other", "general"))


def test_confidence_is_taken_for_what_it_was_worth_in_bands_that_are_closed_below() -> None:
    boast = [known("1", "2", sure=[0.99]) for _ in range(40)]
    doubt = [known("1", "1", sure=[0.6]) for _ in range(40)]
    calibration = calibration_of([*boast, *doubt, known("1", "1")])

    assert calibration.rate("v0", 0.99, 0.5) < 0.3
    assert calibration.rate("v0", 0.6, 0.5) > 0.7
    assert calibration.rate("v0", None, 0.5) == 0.5
    assert calibration.rate("v0", 0.85, 0.5) == 0.5

    assert [band_of(each) for each in (0.0, 0.5, 0.9, 1.0)] == [0, 1, 4, 5]


@given(some.floats(0, 1) | some.none())
def test_confidence_moves_a_vote_by_a_tenth_at_most(confidence: float | None) -> None:
    boast = [known("1", "2", sure=[0.99]) for _ in range(300)]

    stretch = calibration_of(boast).stretch("v0", confidence, 0.7, 4)

    assert 0.9 <= stretch <= 1.1


def test_voters_that_err_together_count_for_fewer() -> None:
    two = [("v0", "a"), ("v1", "b")]

    assert effective([], Kinship()) == 0
    assert effective(two[:1], Kinship()) == 1
    assert effective(two, Kinship()) == pytest.approx(2 / (1 + ACROSS))
    assert effective([("v0", "a"), ("v1", "a")], Kinship()) == pytest.approx(2 / (1 + SAME_FAMILY))


def test_kinship_is_learnt_from_common_errors() -> None:
    together = kinship_of([known("11", "1"), known("22", "1")] * 100)
    apart = kinship_of([known("12", "1"), known("21", "1")] * 100)
    always = kinship_of([known("11", "1")] * 100)
    one, other = ("v0", "a"), ("v1", "b")

    assert together.of(one, other) > 0.8
    assert apart.of(one, other) == 0
    assert always.of(other, one) == pytest.approx(30 * ACROSS / 130)
    assert together.of(one, ("v2", "a")) == SAME_FAMILY


def test_a_voice_that_only_repeats_another_is_stretched_less() -> None:
    """The first two always agree; the third is as good and knows nothing of them."""
    ballots = []
    for turn in range(200):
        pair, third = turn % 10 < 7, turn * 7 % 10 < 7
        sides: tuple[dict[str, float], dict[str, float]] = ({}, {})
        sides[0 if pair else 1].update({"a": 1.0, "b": 1.0})
        sides[0 if third else 1].update({"c": 1.0})
        ballots.append(Ballots(sides, 2, 0))

    found = stretches(["a", "b", "c"], ballots)

    assert max(found["a"], found["b"]) < found["c"]


def test_stretches_are_never_below_nothing_and_learnt_from_answers_that_nobody_gave() -> None:
    liar = [Ballots(({"a": 2.0},), 1, None) for _ in range(500)]

    assert stretches(["a", "b"], liar) == {"a": 0.0, "b": 1.0}

    found = stretches(["a"], [Ballots(({"a": 2.0},), 3, None)] * 50)

    assert found["a"] < 0.5


def test_signs_are_learnt_by_what_they_come_with_and_nothing_from_no_cases() -> None:
    cases = [Case(({"short": 1.0}, {"long": 1.0}, {"none": 1.0}), 0)] * 60
    cases += [Case(({"short": 1.0}, {"long": 1.0}, {"none": 1.0}), 2)] * 20

    weights = choose_between(cases, 4)

    assert weights["short"] > weights["none"] > weights["long"]
    assert score(weights, {"short": 2.0, "unheard of": 1.0}) == 2 * weights["short"]

    assert choose_between([], 4) == {}
    assert least_squares([], 1.0) == {}

    rows = [({"a": float(a), "b": float(b)}, 2.0 * a - b) for a in range(5) for b in range(5)]

    found = least_squares(rows, 1e-9)

    assert found["a"] == pytest.approx(2)
    assert found["b"] == pytest.approx(-1)


RATES = {"v0": 0.9, "v1": 0.6, "v2": 0.6}


def test_each_rule_weighs_in_its_own_way() -> None:
    cold, fitted = (
        Scales(rates=RATES),
        Scales(rule=Rule.FITTED, rates=RATES, stretches={"v0": 0.5, "v1": 1.5}),
    )
    single, majority = (
        Scales(rule=Rule.BEST_SINGLE, rates=RATES),
        Scales(rule=Rule.MAJORITY, rates=RATES),
    )

    assert cold.weight("v0", 4) == log_odds(0.9, 4)
    assert fitted.weight("v0", 4) == log_odds(0.9, 4) / 2
    assert fitted.weight("v2", 4) == log_odds(0.6, 4)
    assert (single.weight("v0", 4), single.weight("v1", 4)) == (log_odds(0.9, 4), 0)
    assert majority.weight("v0", 4) == majority.weight("v1", 4)
    assert best({"b": 0.5, "a": 0.5}) == "a"

    two = [("v0", "a"), ("v1", "b")]

    assert Scales(rates=RATES).discount(two) == pytest.approx(1 / 1.4)
    assert Scales(rates=RATES).discount([]) == 1
    assert Scales(rule=Rule.FITTED, rates=RATES, stretches={"v0": 1.0}).discount(two) == 1


def test_a_team_with_one_good_voice_follows_it() -> None:
    past = [known("1222", "1") if turn % 10 else known("2111", "1") for turn in range(60)]

    verdict = trusted(past, ["v0", "v1", "v2", "v3"])

    assert verdict is not None
    assert verdict.right[Rule.MAJORITY] < verdict.right[Rule.BEST_SINGLE]
    assert verdict.rule in (Rule.BEST_SINGLE, Rule.FITTED, Rule.COLD)


def test_too_little_history_fits_nothing_and_what_nobody_got_right_counts_for_no_rule() -> None:
    past = [known("12", "1")] * 19

    assert trusted(past, ["v0", "v1"]) is None
    assert trusted([known("1", "1")] * 100, ["v0", "v1"]) is None
    assert len(shared([known("12", "1")] * 400, ["v0", "v1"])) == 300

    verdict = trusted([known("12", None)] * 40, ["v0", "v1"])

    assert verdict is not None
    assert max(verdict.right.values()) == 0.5


@pytest.mark.parametrize("topic", ["sums", "names"])
def test_one_outcome_moves_a_weight_by_little_and_a_few_dozen_by_much(topic: str) -> None:
    def weight(times: int, right: str) -> float:
        past = [known("11", right, topic="sums")] * times
        return log_odds(records_of(past).rate("v0", topic), 2)

    usual = weight(0, "1")
    assert 0.7 * usual < weight(1, "2") < usual < weight(1, "1") < 1.2 * usual
    assert weight(2, "1") < 1.3 * usual
    assert weight(30, "2") < 0.1
    assert weight(36, "1") > 2 * usual


COLOURS = Question(text="Which?", kind=QuestionKind.CHOICE, choices=("red", "blue", "green"))


def decided(question: Question, *answers: str) -> WholeDebate:
    notes = tuple(
        noted(name, answer) for name, answer in zip(("a:1", "b:1", "c:1"), answers, strict=False)
    )
    debate = a_debate(question)
    decision = conclusion(a_table(debate, *notes), Why.ALL_ASKED)
    return WholeDebate(replace(debate, decision=decision), notes)


def an_outcome(whole: WholeDebate, *, right: str | None = None, so: bool = False) -> Outcome:
    return Outcome(
        debate=whole.debate.id,
        right=right,
        decided_right=so,
        source=Source.PERSON,
        by=whole.debate.started_by,
        at=BEGINNING,
    )


def test_a_decision_that_was_right_says_which_answer_is() -> None:
    whole = decided(TEXT, "Ada", "Ada", "Eve")

    known = known_of(whole, an_outcome(whole, so=True))

    assert known.right == "Ada"
    assert [ballot.key for ballot in known.ballots] == ["Ada", "Ada", "Eve"]


def test_of_two_answers_the_other_one_is_right_where_one_was_wrong() -> None:
    whole = decided(YES_NO, "c:yes", "c:yes", "c:no")

    known = known_of(whole, an_outcome(whole))

    assert known.right == "c:no"
    assert len(known.ballots) == 3


@pytest.mark.parametrize("question", [COLOURS, TEXT])
def test_of_more_answers_only_those_that_were_wrong_are_known(question: Question) -> None:
    whole = decided(question, "c:0", "c:0", "c:1")

    known = known_of(whole, an_outcome(whole))

    assert known.right is None
    assert {ballot.key for ballot in known.ballots} == {"c:0"}


def test_where_nothing_was_decided_nothing_is_known_unless_the_answer_is_said() -> None:
    whole = decided(YES_NO, "c:yes", "c:no")
    without = replace(whole, debate=replace(whole.debate, decision=None))

    assert known_of(whole, an_outcome(whole)).ballots == ()
    assert known_of(without, an_outcome(without)).right is None
    named = known_of(whole, an_outcome(whole, right="c:no"))
    assert (named.right, len(named.ballots)) == ("c:no", 2)


PLAIN, LONG = "n:12", "n:123456/78901"


def taught(count: int = 260) -> list[KnownOutcome]:
    """Plain answers are right, long ones are not; where all are long nobody ever is."""
    past = []
    for turn in range(count):
        match turn % 4:
            case 0:
                past.append(known((PLAIN, LONG, PLAIN), PLAIN, choices=None))
            case 1:
                past.append(known((LONG, PLAIN, PLAIN, "n:7/3"), PLAIN, choices=None))
            case 2:
                past.append(known((LONG, "n:98765/4321", "n:1/99991"), None, choices=None))
            case _:
                past.append(known((PLAIN, PLAIN, LONG), PLAIN, choices=None))
    return past


@cache
def _taught_once() -> OpenAnswerModel:
    found = lesson_of(taught())
    assert found is not None
    return found


@pytest.fixture
def lesson() -> OpenAnswerModel:
    return _taught_once()


def test_too_few_teach_nothing() -> None:
    assert lesson_of(taught(ENOUGH - 1)) is None
    assert lesson_of([known("11", "1")] * 400) is None
    assert lesson_of([known("1", "1", choices=None)] * 400) is None


def test_a_tie_is_broken_by_looks_which_never_outweigh_a_vote(lesson: OpenAnswerModel) -> None:
    posterior = lesson.posterior(tallied_keys([LONG, PLAIN], "general"))

    assert posterior.top == PLAIN
    assert posterior.sureness > posterior.runner_up

    posterior = lesson.posterior(tallied_keys([LONG, LONG, PLAIN], "general"))

    assert posterior.top == LONG
    assert posterior.sureness >= posterior.runner_up


def test_a_majority_that_looks_worse_is_no_tie() -> None:
    panel = panel_of(NUMBER, voices(5), taught())
    answers = [
        DebaterAnswer(voice=f"v{at}", round=1, answer=key, key=key, shown=key)
        for at, key in enumerate((LONG, LONG, LONG, PLAIN, PLAIN))
    ]

    decision = decide(panel, answers, rules_of(Preset.VOTE, 0.5), Why.ALL_ASKED)

    assert decision.why is not Why.TIE
    assert decision.options[0].shown == LONG


@given(some.lists(some.sampled_from([PLAIN, LONG, "n:3", "t:so", "f:n:1|n:2|n:3"]), max_size=5))
def test_what_is_learnt_is_a_probability(keys: list[str]) -> None:
    posterior = _taught_once().posterior(tallied_keys(keys, "general"))

    assert sum(posterior.likely.values()) + posterior.other == pytest.approx(1)
    assert len(posterior.likely) == len(set(keys))


def test_asking_on_is_worth_more_where_somebody_may_be_right(lesson: OpenAnswerModel) -> None:
    hopeful = lesson.gain(tallied_keys([PLAIN, LONG], "general"))
    hopeless = lesson.gain(tallied_keys([LONG, "n:98765/4321"], "general"))

    assert hopeful > hopeless
    assert isinstance(lesson.gain(Tallied((), 2, "general")), float)


def test_a_panel_decides_and_stops_by_what_it_was_taught() -> None:
    team = voices(4)
    panel = panel_of(NUMBER, team, taught())
    hopeless = said("ab")
    answers = [
        type(each)(voice=each.voice, round=1, answer=key, key=key, shown=key)
        for each, key in zip(hopeless, (LONG, PLAIN), strict=True)
    ]

    assert standing(panel, answers)[0][0] == PLAIN
    assert (
        decide(panel, answers, rules_of(Preset.VOTE, 0.5), Why.ALL_ASKED).options[0].shown == PLAIN
    )
    assert next_voice(panel, answers, [(team[2], 10)], rules_of(Preset.VOTE, 1.0)) is not None
    assert settled(panel, answers, team[2:], rules_of(Preset.VOTE, 1.0)) is None


@pytest.mark.parametrize(
    ("key", "sign"),
    [
        ("n:12", "digits 2"),
        ("n:-1", "tiny"),
        ("n:-1", "negative"),
        ("n:500", "round"),
        ("n:1/3", "form fraction"),
        ("n:3/8", "decimal"),
        ("n:1.414213562e+00", "form irrational"),
        ("n:1+2i", "form complex"),
        ("t:paris", "form t"),
    ],
)
def test_an_answer_has_signs_of_its_form(key: str, sign: str) -> None:
    assert shape_of(key)[sign] == 1


def test_a_third_is_no_decimal() -> None:
    assert "decimal" not in shape_of("n:1/3")
    assert number_of("t:3") is None


@pytest.mark.parametrize(
    ("one", "other", "kin"),
    [
        ("n:3", "t:3", "other forms"),
        ("t:a", "t:b", "both t"),
        ("n:3", "n:1+2i", "not exact"),
        ("n:3", "n:-3", "negated"),
        ("n:3", "n:4", "off by one"),
        ("n:0", "n:4", "one is nothing"),
        ("n:3", "n:6", "doubled"),
        ("n:3", "n:12", "multiple"),
        ("n:3", "n:4000", "apart 6"),
        ("n:30", "n:31/2", "apart 1"),
    ],
)
def test_answers_that_differ_are_related(one: str, other: str, kin: str) -> None:
    assert kin_of([one, other]) == {f"kin: {kin}": 1.0}
