"""The clock and the randomness that tests are given."""

from datetime import timedelta

from portico.testing.memory_store import BEGINNING, SeededEntropy, TickingClock


def test_each_look_at_the_clock_moves_it_on_and_it_can_be_turned() -> None:
    clock = TickingClock(step=timedelta(minutes=1))

    assert [clock.now() - BEGINNING for _ in range(3)] == [timedelta(minutes=m) for m in range(3)]

    clock = TickingClock()

    clock.turn(timedelta(days=1))

    assert clock.now() == BEGINNING + timedelta(days=1)


def test_a_seed_gives_the_same_bytes_again_and_no_bytes_twice() -> None:
    one, same, other = SeededEntropy("a"), SeededEntropy("a"), SeededEntropy("b")

    drawn = [one(32), one(32)]

    assert drawn == [same(32), same(32)]
    assert len({*drawn, other(32)}) == 3
    assert len(one(7)) == 7
