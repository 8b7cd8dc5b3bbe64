"""Many tasks are drawn as few units, and nothing is lost by that."""

from collections.abc import Sequence
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from portico.faces.web.screens.run.tasks import State, Task
from portico.faces.web.screens.run.units import MOST, Unit, units_of, zoom_of


def task(name: str, *needs: str, tool: str = "box.look", state: State = State.DONE) -> Task:
    return Task(name=name, tool=tool, state=state, needs=needs)


def fan(many: int) -> Sequence[Task]:
    inner = [task(f"read{number}", "list") for number in range(many)]
    return [task("list"), *inner, task("all", *(each.name for each in inner))]


def chain(many: int) -> Sequence[Task]:
    return [task(f"s{at}", *([f"s{at - 1}"] if at else [])) for at in range(many)]


def names(units: Sequence[Unit]) -> list[str]:
    return [task.name for unit in units for task in unit.tasks]


def test_few_are_drawn_one_by_one() -> None:
    units = units_of(fan(10)).units

    assert [unit.key for unit in units] == [each.name for each in fan(10)]
    assert units[-1].needs == tuple(f"read{number}" for number in range(10))


def test_many_that_are_alike_are_one() -> None:
    list_, many, all_ = units_of(fan(998)).units

    assert (list_.key, many.key, all_.key) == ("list", "~1", "all")
    assert len(many.tasks) == 998
    assert many.needs == ("list",)
    assert all_.needs == ("~1",)


def test_one_looks_into_a_unit_and_into_one_of_that() -> None:
    tasks = fan(998)

    inside = units_of(tasks, [1])
    deeper = units_of(tasks, [1, 3])

    assert sorted(names(inside.units)) == sorted(f"read{number}" for number in range(998))
    assert inside.path(inside.units[3]) == "1.3"
    assert names(deeper.units) == names([inside.units[3]])
    assert not any(unit.many for unit in deeper.units)


def test_a_place_that_is_none_is_the_whole() -> None:
    assert units_of(fan(10), [5]).zoom == ()
    assert zoom_of("1.x") == zoom_of("../..") == zoom_of("") == ()
    assert zoom_of("1.20") == (1, 20)


def test_a_chain_that_grows_stays_where_it_was() -> None:
    before, after = units_of(chain(1000)).units, units_of(chain(1010)).units

    assert [unit.tasks for unit in before[:-1]] == [unit.tasks for unit in after[: len(before) - 1]]


@settings(max_examples=20)
@given(st.sampled_from([1, 59, 61, 130, 300]), st.integers())
def test_nothing_is_lost_and_every_unit_waits_for_earlier_ones(many: int, seed: int) -> None:
    pick = Random(seed).randrange
    tasks = [
        task(
            f"s{at}",
            *{f"s{pick(at)}" for _ in range(pick(4))} if at else (),
            tool=f"box.t{pick(3)}",
        )
        for at in range(many)
    ]

    units = units_of(tasks).units

    assert len(units) <= MOST
    assert sorted(names(units)) == sorted(each.name for each in tasks)
    done: set[str] = set()
    left = list(units)
    while left:  # no two wait for each other, however far around
        ready = [unit for unit in left if set(unit.needs) <= done]
        assert ready
        done |= {unit.key for unit in ready}
        left = [unit for unit in left if unit not in ready]


def test_what_is_looked_for_is_found_by_name_tool_and_state() -> None:
    tasks = [*fan(998), task("send", tool="mail.send", state=State.WAITING)]

    by_name = units_of(tasks, find="read97").units
    by_state = units_of(tasks, find="needs APPROVAL").units
    many = units_of(tasks, find="read")

    assert names(by_name) == ["read97", *(f"read97{number}" for number in range(10))]
    assert names(by_state) == ["send"]
    assert len(many.units) == MOST
    assert many.left_out == 998 - MOST


def test_a_unit_of_many_says_the_worst_that_one_of_them_is() -> None:
    states = [State.DONE, State.FAILED, State.RUNNING]
    unit = Unit("~0", tuple(task(f"s{at}", state=state) for at, state in enumerate(states)))
    half = Unit("~1", (task("a"), task("b", state=State.QUEUED)))

    assert unit.state is State.FAILED
    assert (unit.over, unit.failed) == (2, 1)
    assert half.state is State.RUNNING
