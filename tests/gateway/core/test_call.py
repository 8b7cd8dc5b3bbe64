"""Which of the three doors a tool is called through, and how large an answer is."""

from dataclasses import replace
from datetime import timedelta

from portico.gateway.core.call import (
    MARGIN,
    UNBOUNDED,
    Answer,
    Call,
    CallId,
    CallOutcome,
    Figures,
    Verb,
    claim_of,
    lost,
    verb_for,
)
from portico.gateway.core.tool import ToolRef
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING, SeededEntropy


def test_an_effect_has_one_door_and_what_is_unknown_has_the_last() -> None:
    rows: list[tuple[Effect, Verb]] = [
        (Effect.PURE, Verb.READ),
        (Effect.LOCAL_READ, Verb.READ),
        (Effect.EXTERNAL_READ, Verb.READ),
        (Effect.LOCAL_WRITE, Verb.WRITE),
        (Effect.EXTERNAL_WRITE, Verb.WRITE),
        (Effect.IRREVERSIBLE, Verb.DESTRUCTIVE),
        (Effect.UNKNOWN, Verb.DESTRUCTIVE),
    ]

    for effect, verb in rows:
        assert verb_for(effect) is verb


def test_the_size_of_an_answer_counts_texts_images_and_what_is_embedded() -> None:
    answer = Answer(
        [
            {"type": "text", "text": "four"},
            {"type": "image", "data": "12345678"},
            {"type": "resource", "resource": {"uri": "a:b", "blob": "xy"}},
            {"type": "resource", "resource": "odd"},
        ]
    )

    assert answer.size == 14


def test_nothing_called_has_failed_never() -> None:
    none = timedelta()

    assert Figures("a", 0, 0, none, none, none, None).error_rate == 0
    assert Figures("a", 4, 1, none, none, none, None).error_rate == 0.25


def test_what_its_caller_gave_up_did_not_go_wrong() -> None:
    right = {outcome for outcome in CallOutcome if not outcome.wrong}

    assert right == {CallOutcome.DONE, CallOutcome.CANCELLED}


def test_a_call_is_lost_when_it_must_have_been_given_up_and_nobody_said_so() -> None:
    call = Call(
        id=CallId.mint(BEGINNING, SeededEntropy()),
        principal=a_person().id,
        ref=ToolRef("files", "read"),
        effect=Effect.PURE,
        pin="p",
        arguments={},
        started_at=BEGINNING,
    )
    due = replace(call, due_at=BEGINNING + timedelta(seconds=30))
    moment = timedelta(microseconds=1)

    for each, over in ((call, BEGINNING + UNBOUNDED + MARGIN), (due, due.due_at)):
        assert over is not None
        last = over if each is call else over + MARGIN
        assert not lost(each, last)
        assert lost(each, last + moment)
        assert not lost(replace(each, outcome=CallOutcome.DONE), last + moment)


def test_a_call_of_a_run_is_known_in_every_leg_by_its_first() -> None:
    run = RunId.mint(BEGINNING, SeededEntropy())

    first, third = claim_of(run, "pay", 1), claim_of(run, "pay", 3)

    assert third.first == first.first == first.id
    assert third.id not in third.earlier
    assert claim_of(run, "other", 1).id != first.id
