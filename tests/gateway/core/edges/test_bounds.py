"""Of a long plan edges are sought for a part of it, and it is said for which they are not."""

from portico.gateway.core.edges.bounds import MOST_STEPS, bounded
from portico.gateway.core.edges.shape import OutputField, Parameter, StepShape


def a_step(number: int, *, gives: int = 1, wants: int = 0, required: bool = True) -> StepShape:
    return StepShape(
        step=f"s{number}",
        tool="a.b",
        outputs=[OutputField(path=f"json.f{each}") for each in range(gives)],
        wanted=[Parameter(name=f"p{each}", required=required) for each in range(wants)],
    )


def test_a_short_plan_is_left_as_it_is_but_for_what_nobody_could_take() -> None:
    steps = [a_step(0), a_step(1, wants=2), a_step(2)]

    some = bounded(steps)

    assert some.left_out == []
    assert [len(step.wanted) for step in some.steps] == [0, 2, 0]
    assert [len(step.outputs) for step in some.steps] == [1, 0, 0]


def test_who_needs_something_comes_before_who_could_take_something() -> None:
    could = [a_step(number, wants=1, required=False) for number in range(MOST_STEPS)]
    needs = [a_step(MOST_STEPS + number, wants=1) for number in range(2)]

    some = bounded([*could, *needs])

    assert some.left_out == [f"s{MOST_STEPS - 2}", f"s{MOST_STEPS - 1}"]
    assert [step.step for step in some.steps if not step.wanted] == some.left_out


def test_who_wants_too_much_of_too_much_is_left_out_alone() -> None:
    steps = [a_step(0, gives=999), a_step(1, wants=201), a_step(2, wants=200)]

    some = bounded(steps)

    assert some.left_out == ["s1"]
    assert len(some.steps[2].wanted) == 200


def test_what_only_a_step_that_is_left_out_could_take_is_not_looked_at() -> None:
    steps = [a_step(number, gives=1_000) for number in range(60)]
    steps += [a_step(60, wants=100)]

    some = bounded(steps)

    assert some.left_out == ["s60"]
    assert not any(step.outputs for step in some.steps)
