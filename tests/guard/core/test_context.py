"""Which task somebody is at, and what it has taken in."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.guard.core.act import TaskContext
from portico.guard.core.context import check_opens, context_of, risen
from portico.guard.core.errors import ContextRefused
from portico.kernel.ids import ContextId
from portico.kernel.label import Label, Level
from portico.kernel.principal import PrincipalKind
from portico.testing.guard import a_person, a_space
from portico.testing.kernel import BEGINNING, SeededEntropy

ANA = a_person("ana")
TASK = ContextId.mint(BEGINNING, SeededEntropy("task"))
labels = st.builds(
    Label, st.sampled_from(Level), st.frozensets(st.sampled_from(["hr", "law", "it"]))
)


def test_whoever_names_a_task_is_at_it() -> None:
    assert context_of(replace(ANA, context=TASK, key="one")) == TASK


def test_otherwise_the_task_is_that_of_the_key_and_always_the_same() -> None:
    one, other = replace(ANA, key="one"), replace(ANA, key="other")

    assert context_of(one) == context_of(replace(one, name="renamed"))
    assert len({context_of(one), context_of(other), context_of(ANA)}) == 3
    assert str(context_of(one)).startswith("ctx_")
    assert ContextId.parse(str(context_of(one))) == context_of(one)


def test_no_two_spaces_share_a_task() -> None:
    elsewhere = replace(ANA, space=a_space("acme").id, key="one")

    assert context_of(elsewhere) != context_of(replace(ANA, key="one"))


@given(labels, st.booleans(), labels, st.booleans())
def test_a_task_only_ever_rises(
    before: Label, strangers: bool, label: Label, untrusted: bool
) -> None:
    task = TaskContext(id=TASK, label=before, untrusted=strangers)

    after = risen(task, label, untrusted=untrusted)

    assert after.label.covers(before)
    assert after.label.covers(label)
    assert after.untrusted == (strangers or untrusted)
    assert risen(after, label, untrusted=untrusted) == after


def test_people_and_workers_can_begin_anew_and_nobody_else() -> None:
    refused = set()
    for kind in PrincipalKind:
        try:
            check_opens(replace(ANA, kind=kind))
        except ContextRefused:
            refused.add(kind)

    assert {*PrincipalKind} - refused == {PrincipalKind.PERSON, PrincipalKind.WORKER}


def test_an_agent_is_told_why_it_cannot() -> None:
    with pytest.raises(ContextRefused, match="agent"):
        check_opens(replace(ANA, kind=PrincipalKind.AGENT))
