"""Which task somebody is at, what it has taken in, and what a refusal says."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.guard.core.access_request import TaintContext
from portico.guard.core.contexts import check_opens, context_of, risen
from portico.guard.core.errors import (
    BudgetNotFound,
    BudgetTaken,
    ContextRefused,
    IssuerUnavailable,
    LoginUnavailable,
    Refused,
)
from portico.guard.core.secrets import SecretsUnavailable
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ContextId
from portico.kernel.label import Label, Level
from portico.kernel.principal import PrincipalKind
from portico.testing.guard import a_person, a_space
from portico.testing.memory_store import BEGINNING, SeededEntropy

ANA = a_person("ana")
TASK = ContextId.mint(BEGINNING, SeededEntropy("task"))
labels = st.builds(
    Label, st.sampled_from(Level), st.frozensets(st.sampled_from(["hr", "law", "it"]))
)


def test_a_task_is_that_which_is_named_or_that_of_the_key_in_its_space() -> None:
    assert context_of(replace(ANA, context=TASK, key="one")) == TASK

    one, other = replace(ANA, key="one"), replace(ANA, key="other")

    assert context_of(one) == context_of(replace(one, name="renamed"))
    assert len({context_of(one), context_of(other), context_of(ANA)}) == 3
    assert str(context_of(one)).startswith("ctx_")
    assert ContextId.parse(str(context_of(one))) == context_of(one)

    elsewhere = replace(ANA, space=a_space("acme").id, key="one")

    assert context_of(elsewhere) != context_of(replace(ANA, key="one"))


@given(labels, st.booleans(), labels, st.booleans())
def test_a_task_only_ever_rises(
    before: Label, strangers: bool, label: Label, untrusted: bool
) -> None:
    task = TaintContext(id=TASK, label=before, untrusted=strangers)

    after = risen(task, label, untrusted=untrusted)

    assert after.label.covers(before)
    assert after.label.covers(label)
    assert after.untrusted == (strangers or untrusted)
    assert risen(after, label, untrusted=untrusted) == after


def test_people_and_workers_can_begin_anew_and_nobody_else_and_an_agent_is_told_why() -> None:
    refused = set()
    for kind in PrincipalKind:
        try:
            check_opens(replace(ANA, kind=kind))
        except ContextRefused:
            refused.add(kind)

    assert {*PrincipalKind} - refused == {PrincipalKind.PERSON, PrincipalKind.WORKER}

    with pytest.raises(ContextRefused, match="agent"):
        check_opens(replace(ANA, kind=PrincipalKind.AGENT))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (IssuerUnavailable(), "cannot be fetched"),
        (LoginUnavailable("https://login.example", "it has no metadata"), "it has no metadata"),
        (BudgetNotFound("run 7"), "'run 7'"),
        (BudgetTaken("run 7"), "'run 7'"),
        (SecretsUnavailable("the file is locked", fix="Wait."), "the file is locked"),
    ],
)
def test_a_refusal_says_what_and_why(error: PorticoError, words: str) -> None:
    assert words in str(error)
    assert str(error).endswith(".")


def test_a_key_without_the_scope_is_told_to_have_it_and_all_else_to_look_at_the_rules() -> None:
    scope = Refused("mail.send", "default:scope", "the key does not have it", who="clerk")
    rule = Refused("mail.send", "no-mail", "a rule denies it", who="clerk", key="0123")

    assert "a key that has it" in (scope.fix or "")
    assert rule.fix == "See why: portico policy explain key:0123 mail.send"
