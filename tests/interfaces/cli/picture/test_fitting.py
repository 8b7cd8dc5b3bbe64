"""What is shown where there is not room for everything."""

from hypothesis import given
from hypothesis import strategies as st

from portico.interfaces.cli.workflow_view import State
from portico.interfaces.cli.workflow_watch import fitted
from tests.interfaces.cli.picture.scenes import a_step, at


def test_if_there_is_room_all_are_shown() -> None:
    assert fitted([a_step("a"), a_step("b")], [1, 2], 3) == {0, 1}


def test_what_needs_somebody_is_shown_first() -> None:
    steps = [
        *(a_step(f"d{i}", ran=(0, i)) for i in range(10)),
        a_step("ask", ran=(0, None), state=State.WAITING),
        *(a_step(f"r{i}", ran=(0, None)) for i in range(10)),
    ]

    assert fitted(steps, [1] * 21, 3) == {10}
    assert 10 in fitted(steps, [1] * 21, 8)


def test_then_what_ended_last_and_what_comes_next() -> None:
    steps = [
        *(a_step(f"d{i}", ran=(0, i)) for i in range(10)),
        *(a_step(f"p{i}") for i in range(10)),
    ]

    assert fitted(steps, [1] * 20, 6) == {8, 9, 10, 11}


def test_what_was_left_out_counts_as_over() -> None:
    steps = [a_step(f"s{i}", state=State.SKIPPED, ended=at(i)) for i in range(9)]

    assert fitted(steps, [1] * 9, 4) == {6, 7, 8}


@given(
    st.lists(st.tuples(st.sampled_from(State), st.integers(1, 4)), max_size=40),
    st.integers(1, 30),
)
def test_it_never_takes_more_lines_than_there_are(
    steps: list[tuple[State, int]], room: int
) -> None:
    views = [a_step(f"s{i}", state=state) for i, (state, _) in enumerate(steps)]
    heights = [height for _, height in steps]

    shown = fitted(views, heights, room)

    hidden = [i for i in range(len(steps)) if i not in shown]
    gaps = sum(i - 1 not in hidden for i in hidden)
    assert sum(heights[i] for i in shown) + gaps <= room
