"""A call that a run makes once: begun by one, and known to be begun by whoever comes after."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.call import Call, CallClaim, CallOutcome, claim_of
from portico.gateway.core.errors import BegunBefore
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import Doors
from tests.contracts.test_call_history import WRITE, a_call, ended

RUN = RunId.mint(BEGINNING, SeededEntropy("claimed"))
SECRET = Label(Level.CONFIDENTIAL, frozenset({"hr"}))


def begun(caller: Principal, claim: CallClaim, seconds: float = 0) -> Call:
    at = BEGINNING + timedelta(seconds=seconds)
    return replace(a_call(caller, WRITE, at, effect=Effect.LOCAL_WRITE), id=claim.id)


async def test_a_claim_is_used_once_whenever_and_by_whomever(doors: Doors) -> None:
    root = await doors.founded("home")
    claim = claim_of(RUN, "send", 1)
    await doors.calls.begin_once(root, begun(root, claim), claim)

    with pytest.raises(BegunBefore) as again:
        await doors.calls_elsewhere.begin_once(root, begun(root, claim, 60), claim)

    assert again.value.outcome is None
    assert len(await doors.calls.page(root, ref=None, before=None, limit=9)) == 1
    assert await doors.calls_elsewhere.begun(root, [claim]) == {claim.id}


async def test_of_two_at_once_one_begins_it(doors: Doors) -> None:
    root = await doors.founded("home")
    claim = claim_of(RUN, "send", 1)

    tried = await asyncio.gather(
        *(doors.calls.begin_once(root, begun(root, claim, n), claim) for n in range(4)),
        return_exceptions=True,
    )

    assert sum(one is None for one in tried) == 1
    assert sum(isinstance(one, BegunBefore) for one in tried) == 3


@pytest.mark.parametrize("outcome", list(CallOutcome))
async def test_its_own_call_keeps_a_claim_from_being_used_whatever_became_of_it(
    doors: Doors, outcome: CallOutcome
) -> None:
    root = await doors.founded("home")
    claim = claim_of(RUN, "send", 1)
    call = begun(root, claim)
    await doors.calls.begin_once(root, call, claim)
    await doors.calls.record(root, ended(call, outcome))
    await doors.calls.page(root, ref=None, before=None, limit=1)

    with pytest.raises(BegunBefore) as again:
        await doors.calls.begin_once(root, begun(root, claim, 1), claim)

    assert again.value.outcome == outcome


@pytest.mark.parametrize("outcome", [None, *CallOutcome])
async def test_after_a_resumption_only_what_is_known_to_have_failed_is_made_again(
    doors: Doors, outcome: CallOutcome | None
) -> None:
    root = await doors.founded("home")
    first, second = claim_of(RUN, "send", 1), claim_of(RUN, "send", 2)
    call = begun(root, first)
    await doors.calls.begin_once(root, call, first)
    if outcome is not None:
        await doors.calls.record(root, ended(call, outcome))
        await doors.calls.page(root, ref=None, before=None, limit=1)
    known = outcome in {CallOutcome.FAILED, CallOutcome.BROKEN}

    assert (await doors.calls.begun(root, [second]) == set()) is known
    if known:
        await doors.calls.begin_once(root, begun(root, second, 1), second)
    else:
        with pytest.raises(BegunBefore):
            await doors.calls.begin_once(root, begun(root, second, 1), second)


async def test_what_was_labelled_above_its_caller_since_is_begun_all_the_same(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    claim = claim_of(RUN, "send", 1)
    cleared = replace(root, clearance=SECRET)
    call = replace(begun(cleared, claim), label=Label(Level.CONFIDENTIAL))
    await doors.calls.begin_once(cleared, call, claim)

    with pytest.raises(BegunBefore):
        await doors.calls.begin_once(root, begun(root, claim, 1), claim)

    assert await doors.calls.begun(root, [claim]) == {claim.id}


async def test_another_step_and_another_space_are_another_claim(doors: Doors) -> None:
    root, other = await doors.founded("home"), await doors.founded("elsewhere")
    claim = claim_of(RUN, "send", 1)
    await doors.calls.begin_once(root, begun(root, claim), claim)

    await doors.calls.begin_once(other, begun(other, claim), claim)
    next_one = claim_of(RUN, "send~2", 1)
    await doors.calls.begin_once(root, begun(root, next_one, 1), next_one)

    assert await doors.calls.begun(root, [claim, next_one]) == {claim.id, next_one.id}


@pytest.mark.parametrize("how", ["later leg", "over"])
async def test_whoever_does_not_know_that_a_later_leg_is_on_begins_nothing(
    doors: Doors, how: str
) -> None:
    root = await doors.founded("home")
    run = await doors.run_of(root)
    first = claim_of(run, "send", 1)
    await doors.runs.cancel(root, run)
    if how == "later leg":
        await doors.runs.resume(root, run)

    with pytest.raises(BegunBefore):
        await doors.calls.begin_once(root, begun(root, first), first)

    assert not await doors.calls.page(root, ref=None, before=None, limit=9)


async def test_the_leg_that_is_on_begins_what_no_earlier_one_has(doors: Doors) -> None:
    root = await doors.founded("home")
    run = await doors.run_of(root)
    await doors.runs.cancel(root, run)
    await doors.runs.resume(root, run)
    second = claim_of(run, "send", 2)

    await doors.calls.begin_once(root, begun(root, second), second)

    assert await doors.calls.begun(root, [second]) == {second.id}
