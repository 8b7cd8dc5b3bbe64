"""Looking ahead for one who makes a lot of work of it leaves enough for the others."""

from portico.gateway.core.ahead.fair_effort import FairEffort


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
