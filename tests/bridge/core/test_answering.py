"""When a connected agent answers: a table of reasons, and the law that nothing goes on for ever."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.bridge.core.answering import (
    COOL_DOWN,
    AgentView,
    Decision,
    MessageInfo,
    Reason,
    Rules,
    has_answered,
    heard,
    should_answer,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ME = AgentView(me="helper", since=NOON)
AGENTS = ("helper", "planner", "critic")


def said(name: str, sender: str = "ana", *, to: str = "helper", **more: object) -> MessageInfo:
    message = MessageInfo(
        id=name,
        sender=sender,
        by_person=sender not in AGENTS,
        at=NOON,
        to=frozenset(to.split()),
    )
    return replace(message, **more)  # type: ignore[arg-type] # what a test says besides


def after(*messages: MessageInfo) -> AgentView:
    standing = ME
    for message in messages:
        standing = heard(standing, message)
    return standing


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (said("1"), Reason.ASKED),
        (said("1", "planner"), Reason.ASKED),
        (said("1", "helper"), Reason.OWN),
        (said("1", to="planner"), Reason.NOT_ASKED),
        (said("1", deleted=True), Reason.DELETED),
        (said("1", at=NOON - timedelta(seconds=1)), Reason.BEFORE),
    ],
)
def test_it_answers_whoever_names_it_since_it_came(message: MessageInfo, reason: Reason) -> None:
    decision = should_answer(after(message), message, Rules())

    assert decision == Decision(answers=reason is Reason.ASKED, reason=reason)


def test_what_it_has_answered_it_does_not_answer_again_even_if_it_was_killed() -> None:
    question = said("1")
    standing = has_answered(after(question), question, NOON)

    assert should_answer(standing, question, Rules()).reason is Reason.ANSWERED

    standing = after(question, said("2", "helper", to="", answers="1", thread="1"))

    assert should_answer(standing, question, Rules()).reason is Reason.ANSWERED


def test_after_so_many_answers_it_is_silent() -> None:
    standing = ME
    for number in range(2):
        question = said(str(number))
        standing = has_answered(heard(standing, question), question, NOON)
    more = said("more")

    assert should_answer(heard(standing, more), more, Rules(max_answers=2)).reason is Reason.BUDGET


def test_between_two_answers_to_the_same_sender_there_is_a_pause() -> None:
    first, second, other = said("1"), said("2"), said("3", "ben")
    standing = has_answered(after(first, second, other), first, NOON)

    assert should_answer(standing, second, Rules()).not_before == NOON + COOL_DOWN
    assert should_answer(standing, other, Rules()).not_before is None


def talk_of_two(*, reply: bool) -> list[MessageInfo]:
    """Ana asks, and two agents answer each other from then on."""
    messages = [said("0", to="planner")]
    for number in range(1, 9):
        sender, to = ("planner", "helper") if number % 2 else ("helper", "planner")
        answers = str(number - 1) if reply else None
        thread = "0" if reply else None
        messages.append(said(str(number), sender, to=to, answers=answers, thread=thread))
    return messages


@pytest.mark.parametrize("reply", [True, False])
def test_agents_answer_agents_only_so_often_before_a_person_speaks(reply: bool) -> None:
    messages = talk_of_two(reply=reply)
    standing = replace(after(*messages), answered=frozenset())

    answered = [
        message.id
        for message in messages
        if message.sender == "planner" and should_answer(standing, message, Rules()).answers
    ]

    assert answered == ["1", "3"]


def test_chains_of_agents_are_counted_until_a_person_speaks_there() -> None:
    later = [said("9", to=""), said("10", "planner")]
    standing = after(*talk_of_two(reply=False), *later)

    assert standing.depth(later[1]) == 1
    assert should_answer(standing, later[1], Rules()).answers

    later = [said("9", to=""), said("10", "planner", answers="8", thread="0")]
    standing = after(*talk_of_two(reply=True), *later)

    assert should_answer(standing, later[1], Rules()).reason is Reason.HOPS

    messages = [said("0", to="planner")]
    messages += [said(str(n), "planner", answers="0", thread="0") for n in range(1, 8)]
    standing = after(*messages)

    assert [standing.depth(message) for message in messages] == [*range(8)]

    news = [said(str(n), "planner", to="") for n in range(20)]
    question = said("q", "planner")
    standing = after(*news, question)

    assert standing.depth(question) == 1


def test_with_no_hops_it_answers_people_alone() -> None:
    asked, told = said("1"), said("2", "planner")
    standing = after(asked, told)

    assert should_answer(standing, asked, Rules(hops=0)).answers
    assert should_answer(standing, told, Rules(hops=0)).reason is Reason.HOPS


def test_the_same_message_twice_is_heard_once_and_long_ago_is_forgotten() -> None:
    message = said("1", "planner")

    assert after(message, message) == after(message)

    standing = after(*(said(str(n), "planner") for n in range(600)))

    assert len(standing.depths) == 500
    assert standing.depth(said("0", "planner")) == 1


steps = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=30)
"""Of each message: whether it is said as an answer, and whether always to the first of all."""


@given(
    many=st.integers(2, 3),
    rules=st.builds(Rules, max_answers=st.integers(0, 12), hops=st.integers(0, 6)),
    manners=steps,
    people=st.sets(st.integers(0, 60), max_size=5),
)
def test_agents_that_name_each_other_for_ever_come_to_an_end(
    many: int,
    rules: Rules,
    manners: Sequence[tuple[bool, bool]],
    people: set[int],
) -> None:
    table = _Table(AGENTS[:many], rules, manners)
    table.say("ana", None)

    rounds = 0
    while table.round():
        rounds += 1
        if rounds in people:
            table.say("ana", None)
        assert rounds <= 1000

    assert all(standing.given <= rules.max_answers for standing in table.standings.values())


@given(many=st.integers(2, 3), hops=st.integers(0, 6), to_the_first=st.lists(st.booleans()))
def test_what_one_person_said_is_talked_of_only_so_long(
    many: int, hops: int, to_the_first: Sequence[bool]
) -> None:
    rules = Rules(max_answers=1000, hops=hops)
    manners = [(True, first) for first in [*to_the_first, False]]
    table = _Table(AGENTS[:many], rules, manners)
    table.say("ana", None)

    while table.round():
        assert len(table.messages) <= 100

    assert len(table.messages) - 1 <= many + hops * (many - 1)


class _Table:
    """Each names everybody else in all that it says, as an answer or not."""

    def __init__(
        self, agents: Sequence[str], rules: Rules, manners: Sequence[tuple[bool, bool]]
    ) -> None:
        self.standings = {name: AgentView(me=name, since=NOON) for name in agents}
        self.messages: list[MessageInfo] = []
        self._rules = rules
        self._manners = manners

    def say(self, sender: str, to: MessageInfo | None) -> None:
        others = frozenset(self.standings) - {sender}
        replies, to_the_first = self._manners[len(self.messages) % len(self._manners)]
        target = self.messages[0] if to is not None and to_the_first else to
        said_now = MessageInfo(
            id=str(len(self.messages)),
            sender=sender,
            by_person=sender not in self.standings,
            at=NOON,
            to=others,
            answers=target.id if target is not None and replies else None,
            thread=(target.thread or target.id) if target is not None and replies else None,
        )
        self.messages.append(said_now)
        for name, standing in self.standings.items():
            self.standings[name] = heard(standing, said_now)

    def round(self) -> bool:
        """Whether anybody has said anything."""
        for message in [*self.messages]:
            for name in self.standings:
                if should_answer(self.standings[name], message, self._rules).answers:
                    self.standings[name] = has_answered(self.standings[name], message, NOON)
                    self.say(name, message)
                    return True
        return False
