"""What is done ahead of time is counted when it is begun, and no bound is passed."""

from portico.gateway.core.ahead.attempt import Use
from portico.gateway.core.ahead.budget import Budget
from portico.gateway.core.ahead.buffer import place_of
from portico.testing.guard import a_person

ANA, BOB = place_of(a_person("ana")), place_of(a_person("bob"))


def test_what_is_under_way_counts_until_it_ends() -> None:
    budget = Budget()
    first = budget.begin(ANA, "files", 0.0, 0.0)
    budget.begin(BOB, "files", 0.0, 0.0)
    budget.begin(ANA, "git", 0.0, 0.0)

    assert budget.use(ANA, "files", 1.0) == Use(3, 2, 2, 2, 0.0)
    budget.end(first)
    budget.end(first)

    assert budget.use(ANA, "files", 1.0) == Use(2, 1, 1, 2, 0.0)
    assert budget.use(BOB, "git", 1.0) == Use(2, 1, 1, 1, 0.0)


def test_a_minute_later_it_counts_no_more_and_what_it_cost_for_an_hour() -> None:
    budget = Budget()
    budget.end(budget.begin(ANA, "files", 0.02, 0.0))
    budget.end(budget.begin(ANA, "files", 0.03, 30.0))

    assert budget.use(ANA, "files", 59.0).last_minute == 2
    assert budget.use(ANA, "files", 60.0) == Use(0, 0, 0, 1, 0.05)
    budget.end(budget.begin(ANA, "files", 0.01, 3_601.0))

    assert budget.use(ANA, "files", 3_601.0) == Use(0, 0, 0, 1, 0.04)
    assert budget.use(BOB, "files", 3_601.0).spent == 0.0


def test_however_many_there_are_only_so_many_are_remembered() -> None:
    budget = Budget()
    for number in range(1_100):
        budget.end(budget.begin(place_of(a_person(f"p{number}")), "files", 0.01, 0.0))

    assert budget.remembered == 2_000
