"""Reserved before, settled after: a cap is never passed."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)

from portico.kernel.budget import NOTHING, Budget, Cost, OverBudget, ReservationExceeded, Tokens

CAP = Cost(tokens=Tokens(100), money=Decimal("1.00"), time=timedelta(seconds=10), calls=5)


def costs(most: Cost = CAP) -> strategies.SearchStrategy[Cost]:
    """From nothing to twice as much, so that a cap is often in the way."""
    return strategies.builds(
        Cost,
        tokens=strategies.integers(0, most.tokens * 2).map(Tokens),
        money=strategies.decimals(Decimal(0), most.money * 2, places=4),
        time=strategies.timedeltas(timedelta(0), most.time * 2),
        calls=strategies.integers(0, most.calls * 2),
    )


def reserved(budget: Budget | OverBudget) -> Budget:
    assert isinstance(budget, Budget)
    return budget


class Spending(RuleBasedStateMachine):
    """Anybody reserves, settles and releases, in any order, for any amount."""

    names = Bundle("names")

    def __init__(self) -> None:
        super().__init__()
        self.budget = Budget(CAP)
        self.spent = NOTHING
        self.count = 0

    @rule(target=names, amount=costs())
    def reserve(self, amount: Cost) -> str:
        self.count += 1
        name = f"work {self.count}"
        match self.budget.reserve(name, amount):
            case Budget() as budget:
                self.budget = budget
            case OverBudget(dimensions):
                assert dimensions == (self.budget.committed + amount).over(CAP) != ()
        return name

    @rule(name=consumes(names), actual=costs())
    def settle(self, name: str, actual: Cost) -> None:
        if name not in self.budget.reserved:
            return
        if actual.over(self.budget.reserved[name]):
            with pytest.raises(ReservationExceeded):
                self.budget.settle(name, actual)
            self.budget = self.budget.release(name)
        else:
            self.budget = self.budget.settle(name, actual)
            self.spent += actual

    @rule(name=consumes(names))
    def release(self, name: str) -> None:
        if name in self.budget.reserved:
            self.budget = self.budget.release(name)

    @invariant()
    def the_cap_is_not_passed(self) -> None:
        assert self.budget.committed.over(CAP) == ()
        assert self.budget.spent.over(self.budget.committed) == ()

    @invariant()
    def exactly_what_was_settled_is_spent(self) -> None:
        assert self.budget.spent == self.spent


@pytest.mark.requirement("kernel:budget:never-exceeded")
def test_no_sequence_of_reserving_and_settling_passes_the_cap() -> None:
    run_state_machine_as_test(
        Spending, settings=settings(max_examples=50, stateful_step_count=20, deadline=None)
    )


@pytest.mark.parametrize(
    ("more", "dimension"),
    [
        (Cost(tokens=Tokens(101)), "tokens"),
        (Cost(money=Decimal("1.01")), "money"),
        (Cost(time=timedelta(seconds=11)), "time"),
        (Cost(calls=6), "calls"),
    ],
)
@pytest.mark.requirement("kernel:budget:never-exceeded")
def test_a_cap_holds_in_each_dimension_by_itself(more: Cost, dimension: str) -> None:
    assert Budget(CAP).reserve("work", more) == OverBudget((dimension,))


def test_a_reservation_counts_before_it_is_spent_and_what_is_not_used_is_given_back() -> None:
    budget = reserved(Budget(CAP).reserve("work", CAP))

    assert budget.committed == CAP

    budget = reserved(Budget(CAP).reserve("one", Cost(calls=3)))

    assert budget.reserve("other", Cost(calls=3)) == OverBudget(("calls",))
    assert budget.spent == NOTHING

    budget = reserved(Budget(CAP).reserve("one", CAP)).settle("one", Cost(calls=2))

    assert budget.spent == budget.committed == Cost(calls=2)

    assert reserved(Budget(CAP).reserve("one", CAP)).release("one") == Budget(CAP)

    budget = Budget(CAP)

    budget.reserve("one", Cost(calls=1))

    assert budget == Budget(CAP)


def test_what_cannot_be_settled_or_reserved_is_refused_and_says_of_what() -> None:
    budget = reserved(Budget(CAP).reserve("search", Cost(calls=1)))

    with pytest.raises(ReservationExceeded, match="reserved of: money, calls") as caught:
        budget.settle("search", Cost(money=Decimal("0.10"), calls=2))

    assert caught.value.name == "search"
    assert caught.value.dimensions == ("money", "calls")

    budget = reserved(Budget(CAP).reserve("one", Cost(calls=1)))

    with pytest.raises(ValueError, match="'one' is reserved already"):
        budget.reserve("one", NOTHING)

    with pytest.raises(KeyError):
        Budget(CAP).settle("nothing", NOTHING)


@pytest.mark.parametrize(
    "negative",
    [
        partial(Cost, tokens=Tokens(-1)),
        partial(Cost, money=Decimal("-0.01")),
        partial(Cost, time=timedelta(microseconds=-1)),
        partial(Cost, calls=-1),
    ],
)
def test_a_cost_is_never_negative(negative: Callable[[], Cost]) -> None:
    with pytest.raises(ValueError, match="never negative"):
        negative()
