"""What past debates teach about free answers."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as some

from portico.debate.core.decision import Why
from portico.debate.core.lesson import ENOUGH, Lesson, Tallied, lesson_of, tallied_keys
from portico.debate.core.outcome import Known
from portico.debate.core.panel import decide, next_voice, panel_of, settled, standing
from portico.debate.core.rules import Preset, rules_of
from portico.debate.core.said import Said
from portico.debate.core.shape import kin_of, number_of, shape_of
from tests.debate.core.team import NUMBER, known, said, voices

PLAIN, LONG = "n:12", "n:123456/78901"


def taught(count: int = 260) -> list[Known]:
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
def _taught_once() -> Lesson:
    found = lesson_of(taught())
    assert found is not None
    return found


@pytest.fixture
def lesson() -> Lesson:
    return _taught_once()


def test_too_few_teach_nothing() -> None:
    assert lesson_of(taught(ENOUGH - 1)) is None
    assert lesson_of([known("11", "1")] * 400) is None
    assert lesson_of([known("1", "1", choices=None)] * 400) is None


def test_a_tie_is_broken_by_looks_which_never_outweigh_a_vote(lesson: Lesson) -> None:
    posterior = lesson.posterior(tallied_keys([LONG, PLAIN], "general"))

    assert posterior.top == PLAIN
    assert posterior.sureness > posterior.runner_up

    posterior = lesson.posterior(tallied_keys([LONG, LONG, PLAIN], "general"))

    assert posterior.top == LONG
    assert posterior.sureness >= posterior.runner_up


def test_a_majority_that_looks_worse_is_no_tie() -> None:
    panel = panel_of(NUMBER, voices(5), taught())
    answers = [
        Said(voice=f"v{at}", round=1, answer=key, key=key, shown=key)
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


def test_asking_on_is_worth_more_where_somebody_may_be_right(lesson: Lesson) -> None:
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
