"""What calls made ahead win and waste, session by session, and the figures of many."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from portico.bench import ahead_figures as figures
from portico.bench.ahead_baselines import THRESHOLD, FirstOrder, by_threshold, foretold_of
from portico.bench.ahead_foretold import Foretold, Replayed
from portico.bench.ahead_gates import Lane
from portico.bench.ahead_sessions import Session
from portico.bench.ahead_time import Pace, Spent, all_served, clocked
from tests.bench.small_sessions import (
    LIST,
    READ,
    WRITE,
    foretold,
    looks,
    made,
    session,
    tools,
)


def spent(calls: Session, *foreseen: Sequence[Foretold], pace: Pace | None = None) -> Spent:
    return clocked(Lane(tools()), pace or Pace(1.0), Replayed(calls, foreseen))


def test_the_call_that_comes_next_is_served_and_its_wait_is_saved() -> None:
    calls = looks(1)

    told = spent(calls, [], [foretold(str(calls.calls[1].arguments["path"]))], [])

    assert (told.tried, told.exact, told.served, told.wasted) == (1, 1, 1, 0)
    assert told.ahead < told.asked


def test_a_call_that_nobody_asked_for_is_waste_and_saves_nothing() -> None:
    told = spent(looks(1), [], [foretold("/home/other")], [foretold("/home/after")])

    assert (told.tried, told.exact, told.served, told.wasted) == (2, 0, 0, 2)
    assert told.ahead == pytest.approx(told.asked)


def test_a_server_that_does_one_thing_at_a_time_is_in_the_way() -> None:
    told = spent(looks(1), [], [foretold("/home/other")], [], pace=Pace(9.0, serial=True))

    assert told.ahead > told.asked


def test_what_is_asked_for_later_is_served_but_not_exact_and_a_write_takes_it_away() -> None:
    path = "/home/later"
    reads = session(made(LIST, path="/a"), made(LIST, path="/b"), made(READ, path=path))
    writes = session(
        made(LIST, path="/a"), made(WRITE, path="/b", content="x"), made(READ, path=path)
    )

    later = [spent(each, [], [foretold(path)], [], []) for each in (reads, writes)]

    assert [(each.exact, each.served) for each in later] == [(0, 1), (0, 0)]


def test_what_fails_or_has_waited_too_long_is_not_served() -> None:
    path = "/home/later"
    fails = session(made(LIST, path="/a"), made(READ, path=path, failed=True))
    waits = session(*[made(LIST, path=f"/{each}") for each in range(40)], made(READ, path=path))

    assert spent(fails, [], [foretold(path)]).served == 0
    assert spent(waits, [], [foretold(path)]).served == 0


def test_the_gates_of_the_product_keep_out_what_they_keep_out() -> None:
    shadow = foretold("/home/a")
    not_yet = replace(shadow, wanted=replace(shadow.wanted, proven=False))
    write = foretold_of(tools()[WRITE], {"path": "/a", "content": "b"}, 0.9)
    made_up = replace(shadow, wanted=replace(shadow.wanted, arguments={"path": 3}))

    kept = [spent(looks(1), [], [each], []) for each in (not_yet, write, made_up)]
    quick = spent(looks(1), [], [shadow], [], pace=Pace(None, {READ: 0.002}))
    twice = spent(looks(1), [], [shadow, shadow], [])

    gates = [list(each.kept_out) for each in [*kept, quick, twice]]
    assert gates == [["proven"], ["only_reads"], ["fits_its_schema"], ["worth_it"], gates[4]]
    assert [each.tried for each in [*kept, quick, twice]] == [0, 0, 0, 0, 1]


def test_a_write_that_an_operator_took_for_a_read_would_be_counted_as_unsafe() -> None:
    known = tools()
    fooled = {**known, WRITE: replace(known[WRITE], effect=known[READ].effect)}
    write = foretold_of(known[WRITE], {"path": "/a", "content": "b"}, 0.9)

    told = clocked(Lane(fooled), Pace(1.0), Replayed(looks(1), [[], [write], []]))

    assert told.unsafe == 1


def test_figures_are_shares_of_what_was_asked_and_tried() -> None:
    some = [Spent(calls=10, tried=4, exact=2, served=3, asked=20, ahead=18)]

    assert figures.of(some) == {
        "tried": 4,
        "exact_hit_rate": 0.5,
        "used_rate": 0.75,
        "waste_rate": 0.1,
        "served_share": 0.3,
        "wall_change": -0.1,
    }
    assert figures.interval(some, figures.waste_rate) == [0.1, 0.1]
    assert figures.of([])["wall_change"] == 0.0


def test_reliability_says_how_much_of_what_was_thought_came() -> None:
    calls = looks(1)
    right = foretold(str(calls.calls[1].arguments["path"]))
    once = Replayed(calls, [[], [right, foretold("/home/none")], []])

    told = figures.reliability([once])

    assert told["curve"] == [{"from": 0.9, "times": 2, "thought": 0.9, "came": 0.5}]
    assert told["ece"] == 0.4


def test_of_every_call_it_is_told_why_it_could_be_served_or_not() -> None:
    path = "/home/a"
    calls = [made(LIST, path="/b"), *(made(READ, path=path),) * 3, made(LIST, path="/c")]
    writes = made(WRITE, path=path, content="x")
    live, shadow = foretold(path), replace(foretold(path), live=False)
    foreseen = [[], [foretold("/else")], [shadow], [live], [], [], []]

    told = figures.limits([Replayed(session(*calls, writes), foreseen)])

    assert told == {
        "the first call": 0.1667,
        "its tool foretold, with other arguments": 0.1667,
        "foretold, not surely enough": 0.1667,
        "foretold": 0.1667,
        "not foretold": 0.1667,
        "changes something": 0.1667,
    }


def test_every_call_served_is_the_most_that_can_be_won() -> None:
    told = all_served(tools(), looks(1))

    assert told.ahead < told.asked


def test_first_order_copies_what_the_last_call_was_given() -> None:
    def twice(number: int) -> Session:
        path = f"/home/{number}"
        return session(made(LIST, path=path), made(READ, path=path), number=number)

    baseline = FirstOrder(tools())
    baseline.learn(map(twice, range(20)))
    (foreseen,) = baseline.foretell([twice(99)])
    told = clocked(Lane(tools()), Pace(1.0), foreseen, least=THRESHOLD)

    assert (told.tried, told.exact) == (1, 1)


def test_by_threshold_tries_the_likeliest_alone_whatever_its_record() -> None:
    shadow = replace(foretold("/home/a", sure=0.5), live=False)
    unlikely = replace(foretold("/home/b", sure=0.3), live=False)

    once = by_threshold([Replayed(looks(1), [[shadow, unlikely], [unlikely]])])

    assert [[each.live for each in some] for some in once[0].foretold] == [[True], []]
