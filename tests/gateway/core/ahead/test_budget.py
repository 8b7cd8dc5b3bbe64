"""How much may be done ahead, and that no bound is passed."""

from portico.gateway.core.ahead.attempt import Use
from portico.gateway.core.ahead.budget import Budget
from portico.gateway.core.ahead.buffer import place_of
from portico.gateway.core.ahead.fair_effort import FairEffort
from portico.gateway.core.ahead.terms import AheadTerms
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


def test_a_call_costs_what_the_dearest_wildcard_says() -> None:
    rows: list[tuple[str, float]] = [
        ("search.web", 0.02),
        ("search.news", 0.01),
        ("files.read", 0),
        ("search", 0),
    ]

    for tool, price in rows:
        terms = AheadTerms(prices={"search.*": 0.01, "*.web": 0.02, "search.web": 0.005})

        assert terms.price_of(tool) == price


def worked(effort: FairEffort, who: str, *, each: float, calls: int, now: float = 0.0) -> int:
    """At one moment, as much as is let."""
    done = 0
    for _ in range(calls):
        if effort.may(who, now):
            effort.spent(who, each)
            done += 1
    return done


def test_whoever_is_alone_may_use_most_of_it_and_all_together_no_more_than_all() -> None:
    effort = FairEffort()
    everybody = [f"p{number}" for number in range(50)]
    for who in everybody:
        worked(effort, who, each=0.01, calls=100)

    alone = together = 0
    for second in range(1, 101):
        alone += worked(effort, "p1", each=0.01, calls=9, now=float(second))
    for second in range(101, 201):
        for who in everybody:
            together += worked(effort, who, each=0.01, calls=9, now=float(second))

    assert 190 <= alone <= 230  # hundredths of a second, of three seconds
    assert 280 <= together <= 330


def test_who_costs_too_much_is_left_out_and_nobody_else() -> None:
    effort, ana, ben = FairEffort(), 0, 0
    for second in range(100):
        ana += worked(effort, "ana", each=0.35, calls=1, now=float(second))
        ben += worked(effort, "ben", each=0.004, calls=1, now=float(second) + 0.5)

    assert ana <= 8
    assert ben == 100


def test_only_the_latest_are_remembered() -> None:
    effort = FairEffort(share=0.0)
    worked(effort, "ana", each=1.0, calls=1)
    assert not effort.may("ana", 0.0)

    for number in range(1_000):
        effort.may(number, 0.0)

    assert effort.may("ana", 0.0)
