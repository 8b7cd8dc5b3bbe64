"""A request: what its status is worth, who may answer, what an answer makes of it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.guard.core.approvals import (
    FOR_THE_RUN,
    REMEMBERED,
    AnswerKind,
    Outcome,
    Resolution,
    Status,
    answer_kind,
    answered,
    check_answerer,
    check_lasting,
    check_pattern,
    check_waiting,
    resolution,
    rule_of,
)
from portico.guard.core.errors import (
    ApprovalOver,
    InvalidAnswer,
    InvalidRule,
    NotPermitted,
    OwnRequest,
    PersonNeeded,
    Refused,
    RuleAsksOn,
)
from portico.guard.core.principals import Role
from portico.guard.core.rules import Ruling
from portico.kernel.effect import Effect
from portico.kernel.label import Label, Level
from portico.kernel.principal import PrincipalKind
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING
from tests.guard.approvals import HOUR, an_act, an_answer, an_approval, approved

ANA = a_person("ana", roles=[Role.OPERATOR])
BOT = replace(a_person("bot", roles=[Role.MEMBER]), kind=PrincipalKind.AGENT, key="k1")
LATER = BEGINNING + HOUR
TEAM = Label(Level.TEAM)


def test_whatever_it_says_after_its_time_it_is_expired() -> None:
    waiting = an_approval(BOT)
    yes = approved(waiting, ANA)

    assert waiting.status_at(LATER - timedelta(seconds=1)) is Status.WAITING
    assert waiting.status_at(LATER) is Status.EXPIRED
    assert yes.status_at(LATER) is Status.EXPIRED


def test_what_was_used_or_refused_in_time_stays_so() -> None:
    used = replace(approved(an_approval(BOT), ANA), claimed_at=BEGINNING)
    refused = answered(an_approval(BOT), an_answer(ANA, AnswerKind.REJECT), HOUR)

    assert used.used
    assert used.status_at(LATER) is Status.APPROVED
    assert refused.status_at(LATER) is Status.REJECTED


def test_a_yes_is_good_for_a_while_from_when_it_was_said() -> None:
    late = BEGINNING + timedelta(minutes=59)

    yes = approved(an_approval(BOT), ANA, at=late)

    assert yes.expires_at == late + HOUR
    assert yes.ticket.hash == yes.hash
    assert yes.ticket.by == "ana"
    assert an_approval(BOT).ticket.by == ""


@pytest.mark.parametrize(
    ("changes", "answers"),
    [
        ({}, True),
        ({"status": Status.APPROVED}, True),
        ({"status": Status.APPROVED, "collected_at": BEGINNING}, False),
        ({"status": Status.APPROVED, "outcome": Outcome.SKIPPED}, False),
        ({"status": Status.REPLACED}, True),
        ({"status": Status.REPLACED, "collected_at": BEGINNING}, False),
        ({"status": Status.REJECTED}, False),
        ({"status": Status.REJECTED, "answered": an_answer(ANA, AnswerKind.REJECT)}, True),
        ({"status": Status.EXPIRED}, False),
        ({"status": Status.WITHDRAWN}, False),
        ({"expires_at": BEGINNING}, False),
    ],
)
def test_the_same_call_asks_anew_only_when_nothing_answers_for_it(
    changes: dict[str, Any], answers: bool
) -> None:
    assert an_approval(BOT, **changes).answers_for(BEGINNING) is answers


def test_a_no_is_remembered_for_a_while() -> None:
    no = answered(an_approval(BOT), an_answer(ANA, AnswerKind.REJECT), HOUR)

    assert no.answers_for(BEGINNING + REMEMBERED - timedelta(seconds=1))
    assert not no.answers_for(BEGINNING + REMEMBERED)


@pytest.mark.parametrize("effect", list(Effect))
def test_it_says_in_words_what_is_asked(effect: Effect) -> None:
    for reason in ("It cannot be undone.", "it cannot be undone"):
        asked = an_approval(BOT, effect=effect, reason=reason).question

        assert asked.startswith("May bot (agent) use files.delete, ")
        assert asked.endswith("? It cannot be undone.")


@pytest.mark.parametrize(
    "said", ["", "yes", "ONCE", "Once", " once", "approve", "true", "1", "once\n", "rejected"]
)
def test_only_the_exact_word_is_an_answer(said: str) -> None:
    with pytest.raises(InvalidAnswer):
        answer_kind(said)
    with pytest.raises(InvalidAnswer):
        resolution(said)


def test_the_exact_words_are_answers() -> None:
    assert [answer_kind(kind) for kind in AnswerKind] == list(AnswerKind)
    assert [resolution(said) for said in Resolution] == list(Resolution)


def test_a_person_with_the_scope_answers_somebody_elses_request_and_nobody_else_does() -> None:
    asked = an_approval(BOT)
    check_answerer(ANA, asked)
    with pytest.raises(NotPermitted):
        check_answerer(a_person("mia", roles=[Role.MEMBER]), asked)
    with pytest.raises(PersonNeeded):
        check_answerer(replace(ANA, kind=PrincipalKind.AGENT), asked)
    with pytest.raises(OwnRequest):
        check_answerer(ANA, an_approval(ANA))
    with pytest.raises(Refused, match="default:list"):
        check_answerer(replace(ANA, tools=(("mail.*",),)), asked)


@pytest.mark.parametrize(
    ("changes", "ends"),
    [
        ({}, "files.delete --who ana"),
        ({"tainted": True}, "files.delete --who ana --tainted"),
        ({"tainted": True, "label": TEAM}, "files.delete --who ana --tainted --upto team"),
    ],
)
def test_whoever_cannot_answer_their_own_is_told_the_rule_that_would_do(
    changes: dict[str, Any], ends: str
) -> None:
    with pytest.raises(OwnRequest) as told:
        check_answerer(ANA, an_approval(ANA, **changes))

    assert str(told.value.fix).endswith(ends)


def test_a_pattern_stands_for_what_was_asked_and_is_more_than_an_answer() -> None:
    asked, admin = an_approval(BOT), a_person("root", roles=[Role.ADMIN])
    check_pattern(ANA, asked, "files.delete")
    check_pattern(admin, asked, "files.*")

    with pytest.raises(NotPermitted):
        check_pattern(ANA, asked, "files.*")
    with pytest.raises(InvalidRule):
        check_pattern(admin, asked, "mail.*")


def test_what_is_over_is_not_answered() -> None:
    check_waiting(an_approval(BOT), BEGINNING)
    with pytest.raises(ApprovalOver, match="approved by ana"):
        check_waiting(approved(an_approval(BOT), ANA), BEGINNING)
    with pytest.raises(ApprovalOver, match="expired already"):
        check_waiting(an_approval(BOT), LATER)


def test_once_and_no_make_no_rule() -> None:
    for kind in (AnswerKind.ONCE, AnswerKind.REJECT):
        assert rule_of(an_approval(BOT), an_answer(ANA, kind), "files.*") is None


def test_always_makes_a_rule_for_the_asker_that_stays() -> None:
    asked = an_approval(BOT, tainted=True, label=TEAM)

    rule = rule_of(asked, an_answer(ANA, AnswerKind.ALWAYS), "files.*")
    exact = rule_of(asked, an_answer(ANA, AnswerKind.ALWAYS), None)

    assert rule is not None
    assert exact is not None
    assert (rule.ruling, rule.tools, rule.who) == (Ruling.ALLOW, ("files.*",), ("bot",))
    assert exact.tools == ("files.delete",)
    assert rule.effects == {Effect.IRREVERSIBLE}
    assert (rule.tainted, rule.max_label) == (True, TEAM)
    assert rule.context is None
    assert rule.expires_at is None
    assert (rule.made_by, rule.made_at, rule.approval) == ("ana", BEGINNING, asked.id)


def test_for_this_run_makes_a_rule_of_this_tool_in_this_task_that_ends() -> None:
    asked = an_approval(BOT)

    rule = rule_of(asked, an_answer(ANA, AnswerKind.RUN), "*")

    assert rule is not None
    assert rule.tools == ("files.delete",)
    assert rule.context == asked.context
    assert rule.expires_at == BEGINNING + FOR_THE_RUN


def test_a_name_with_a_wildcard_in_it_lets_nobody_else_in() -> None:
    star = replace(BOT, name="bot*")

    rule = rule_of(an_approval(star), an_answer(ANA, AnswerKind.ALWAYS), None)

    assert rule is not None
    assert rule.who == ("key:k1",)
    with pytest.raises(InvalidRule):
        rule_of(an_approval(replace(star, key=None)), an_answer(ANA, AnswerKind.ALWAYS), None)


def test_a_request_is_bound_to_its_arguments_and_to_how_its_server_is_started() -> None:
    act = an_act(BOT)
    moved = replace(act, target=replace(act.target, launch="another"))

    assert len({act.hash, an_act(BOT, path="/b").hash, moved.hash}) == 3


@pytest.mark.parametrize(
    ("changes", "does"),
    [
        ({}, False),
        ({"status": Status.WITHDRAWN}, False),
        ({"status": Status.APPROVED}, True),
        ({"status": Status.REPLACED}, True),
        ({"status": Status.APPROVED, "expires_at": BEGINNING}, False),
        ({"status": Status.APPROVED, "claimed_at": BEGINNING, "ended_at": BEGINNING}, True),
        (
            {
                "status": Status.APPROVED,
                "claimed_at": BEGINNING,
                "ended_at": BEGINNING - timedelta(days=1),
            },
            False,
        ),
    ],
)
def test_a_yes_makes_the_call_and_is_collected_for_a_day(
    changes: dict[str, Any], does: bool
) -> None:
    assert an_approval(BOT, **changes).does_it(BEGINNING) is does


@pytest.mark.parametrize("kind", [AnswerKind.RUN, AnswerKind.ALWAYS])
def test_where_a_rule_asks_nothing_is_answered_for_longer(kind: AnswerKind) -> None:
    ruled = an_approval(BOT, rule="ask-bot")

    with pytest.raises(RuleAsksOn, match="The rule ask-bot asks"):
        check_lasting(ruled, kind)

    assert [*ruled.answers] == [AnswerKind.ONCE, AnswerKind.REJECT]
    assert kind in an_approval(BOT).answers
