"""A debate as it is drawn: never wider than the screen, whatever letters it has."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from rich.cells import cell_len

from portico.interfaces.cli.debate_view import DebateView, bar, picture, sized
from portico.interfaces.cli.server import ReceivedEvent, parsed
from tests.interfaces.cli.agent_answers import event
from tests.interfaces.cli.debate_answers import (
    BEGAN,
    ONE,
    THREE,
    TWO,
    a_debate,
    answered,
    asked,
    ended,
    failed,
    stands,
)


def a_view(*told: str, **changes: Any) -> DebateView:
    view = DebateView(a_debate(**changes))
    for each in parsed("".join(told).splitlines()):
        view.take(each)
    return view


def lines(view: DebateView, width: int = 70, **how: Any) -> list[str]:
    return [line.plain for line in picture(view, width, **how)]


HALFWAY = (
    BEGAN,
    asked(ONE),
    answered(ONE, "no"),
    failed(TWO, "answered 'elephant', which is none of the choices"),
    stands(("no", 0.8), ("yes", 0.15)),
    asked(THREE),
)


def test_who_takes_no_part_is_drawn_with_why() -> None:
    why = "It is switched off. Switch it on."
    left_out = event("skipped", what="voice:openai:gpt-4", why=why, saved_tokens=0)
    other = event("skipped", what="critique", why="budget", saved_tokens=1_200)

    drawn = lines(a_view(left_out, other, *HALFWAY))

    assert drawn[-1] == f"· openai:gpt-4 is left out: {why}"
    assert drawn[:-1] == lines(a_view(*HALFWAY))


def test_halfway_everything_is_on_one_narrow_screen() -> None:
    assert lines(a_view(*HALFWAY), seconds=3.0) == snapshot(
        [
            "Is 91 a prime number?",
            "…psvgnn · vote · 3 of 3 voices asked · 3.0 s",
            "no              ████████████████████████████████░░░░░░░░  80 %",
            "yes             ██████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  15 %",
            "another answer  ██░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   5 %",
            "█▒░░░░░░░░░░░░░░░░░░░░░  1,000 tokens spent · 900 reserved · of 20,000",
            "✓ ollama:small    no (is 90 % sure)                 500 tokens   1.2 s",
            "✗ openai:gpt-5    answered 'elephant', which is none of the choices",
            "… anthropic:opus  of another family",
        ]
    )


def test_on_a_wide_screen_the_meter_has_a_bar() -> None:
    assert lines(a_view(*HALFWAY), 120)[5] == snapshot(
        "██▒▒░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  1,000 tokens spent · 900 reserved · of 20,000"
    )


PART = event("part.began", debate="dbt_01m7fxv1skfhf86xxtf6psvgnn", question="Is it odd?")
SECOND = event("round.began", round=2, voices=[ONE])
PAID = stands(("no", 1.0), spent_money="0.12", cap_money="0.5", cap_tokens=None)


@pytest.mark.parametrize(
    ("told", "changes", "said", "unsaid"),
    [
        ((BEGAN, ended()), {"guests": 1}, ["was not needed"], "not asked yet"),
        ((stands(("no", 1.0)),), {}, [], "$"),
        ((PAID,), {}, ["$0.1200 of $0.5000"], ""),
        ((SECOND,), {"label": "confidential"}, ["critique round · confidential"], ""),
        ((event("guests.wanted", seats=2),), {},
         ["? 2 seats for guests: join_debate at /mcp/debate; it is over at"], ""),
        ((PART,), {"analysis": True},
         ["analysis · 0 of 1 part over", "├ …psvgnn Is it odd?"], ONE),
        ((BEGAN, asked(ONE), asked(TWO)), {},
         ["0 tokens spent · 1,800 reserved · of 20,000"], ""),
        ((asked(ONE), asked(TWO), failed(ONE, "gone")), {}, ["900 reserved"], "1,800"),
        ((answered("guest:ben", "no"),), {}, ["guest:ben"], ""),
    ],
    ids=["its end", "free", "paid", "a secret one in its second round", "free seats", "an analysis",
         "set aside", "set aside for one", "a guest, once it is heard"],
)  # fmt: skip
def test_what_there_is_to_know_is_told(
    told: tuple[str, ...], changes: dict[str, Any], said: list[str], unsaid: str
) -> None:
    drawn = "\n".join(lines(a_view(*told, **changes), 80))

    assert [words for words in said if words not in drawn] == []
    assert not unsaid or unsaid not in drawn


def test_whoever_speaks_is_seen_to() -> None:
    view = a_view(asked(ONE), event("voice.spoke", voice=ONE, round=1, text="Hello"))

    assert any("says 5 letters" in line for line in lines(view, turn=3))
    assert lines(view, turn=3) != lines(view, turn=4)


def test_each_part_of_an_analysis_shows_how_far_it_is() -> None:
    parts = [
        event("part.began", debate=f"dbt_0000000000000000000000000{number}", question=f"Q{number}?")
        for number in range(4)
    ]
    view = a_view(
        event("voice.asked", voice=ONE, round=0, reserved_tokens=300, why="to cut it"),
        stands(spent_tokens=250, reserved_tokens=0),
        *parts,
        analysis=True,
    )
    in_part(view, 0, asked(ONE))
    in_part(view, 1, asked(ONE), answered(ONE, "yes"))
    in_part(view, 2, answered(ONE, "yes"), stands(("yes", 0.77), spent_tokens=500))
    end = {"status": "decided", "money": "0.01", "seconds": 2}
    decision = {"answer": "blue", "probability": 0.93}
    in_part(view, 3, event("debate.ended", None, decision=decision, tokens=1_000, **end))

    told = lines(view, 80)

    assert told[1].endswith("analysis · 1 of 4 parts over")
    assert "1,750 tokens spent · 900 reserved · of 20,000" in told[2]
    assert [" ".join(line.split()) for line in told[3:]] == [
        f"├ …000000 Q0? {ONE} is asked",
        "├ …000001 Q1? 1 answer so far",
        "├ …000002 Q2? yes 77 % so far",
        "✓ …000003 Q3? blue (93 %)",
    ]
    assert lines(view, 80, turn=1) != lines(view, 80, turn=2)
    assert all(cell_len(line) <= 30 for line in lines(view, 30))


def in_part(view: DebateView, number: int, *told: str) -> None:
    for each in parsed("".join(told).splitlines()):
        view.take(each, f"dbt_0000000000000000000000000{number}")


CHOICES = ["PostgreSQL", "SQLite", "flat files"]


@pytest.mark.parametrize(
    ("kind", "choices", "options", "rest"),
    [
        ("yes_no", [], [("yes", 0.7)], "no"),
        ("choice", CHOICES, [("PostgreSQL", 0.6), ("sqlite", 0.3)], "flat files"),
        ("choice", CHOICES, [("PostgreSQL", 0.6)], "another choice"),
        ("number", [], [("40", 0.6)], "another answer"),
    ],
)
def test_what_nobody_has_said_yet_is_called_what_it_is(
    kind: str, choices: list[str], options: list[tuple[str, float]], rest: str
) -> None:
    question = {"text": "Which?", "kind": kind, "choices": choices}

    drawn = lines(a_view(stands(*options), question=question))

    assert drawn[2 + len(options)].startswith(f"{rest} ")


def test_one_that_fails_in_the_second_round_keeps_its_first_answer() -> None:
    view = a_view(answered(ONE, "no"), failed(ONE, "gone"))

    assert view.debaters[ONE].state == "answered"
    assert view.debaters[ONE].answer == "no"


def test_whoever_judges_keeps_its_own_answer() -> None:
    why = "which of two answers is better"
    judge = event("voice.asked", voice=ONE, round=0, reserved_tokens=9, why=why)
    spoke = event("voice.spoke", voice=ONE, round=0, text="A")
    broke = event("voice.failed", voice=ONE, round=0, code="voice_broke", why="gone")

    view = a_view(answered(ONE, "no"), judge, spoke, broke)

    assert f"… {ONE}: {why}" in lines(view)
    assert lines(view, turn=1) != lines(view, turn=2)
    assert view.debaters[ONE].state == "answered"
    assert not any(why in line for line in lines(a_view(judge, stands(("no", 1.0)))))
    assert not any(why in line for line in lines(a_view(judge, ended())))


def test_what_is_not_known_is_passed_over() -> None:
    view = a_view()
    before = lines(view)

    view.take(ReceivedEvent("something.new", {}))

    assert lines(view) == before


_ANY = st.text(max_size=60)


@given(st.integers(30, 200), _ANY, _ANY, st.lists(st.tuples(_ANY, st.floats(0, 1)), max_size=8))
def test_nothing_is_wider_than_the_screen(
    width: int, name: str, text: str, options: list[tuple[str, float]]
) -> None:
    view = DebateView(a_debate(question={"text": text, "kind": "open", "choices": []}))
    view.take(ReceivedEvent("voice.asked", {"voice": name, "round": 1, "why": text}))
    view.options = options

    assert all(cell_len(line) <= width for line in lines(view, width))


@given(_ANY, st.integers(1, 80))
def test_a_text_is_made_exactly_so_wide(text: str, width: int) -> None:
    assert cell_len(sized(text, width)) == width


@pytest.mark.parametrize(
    ("share", "drawn"),
    [(0.0, "░░░░"), (0.001, "▌░░░"), (0.5, "██░░"), (0.6, "██▌░"), (1.0, "████")],
)
def test_what_is_not_nothing_is_seen(share: float, drawn: str) -> None:
    assert bar(share, 4) == drawn
