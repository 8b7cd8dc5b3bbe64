"""Where steps stand in the tree."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.interfaces.cli.workflow_view import laid_out, ordered


def drawn(needs: Mapping[str, Sequence[str]]) -> list[str]:
    return ["".join(branch.guides) + branch.step for branch in laid_out(needs)]


@pytest.mark.parametrize(
    ("needs", "lines"),
    [
        ({"a": [], "b": ["a"], "c": ["b"]}, ["a", "b", "c"]),
        ({"a": [], "b": ["a"], "c": ["a"], "d": ["b"]}, ["a", "├ b", "│ d", "└ c"]),
        (
            {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["d"]},
            ["a", "├ b", "└ c", "d", "e"],
        ),
        ({"a": [], "b": [], "c": ["a", "b"]}, ["├ a", "└ b", "c"]),
        (
            {"a": [], "b": ["a"], "c": ["a"], "d": ["a"], "e": ["b", "c"]},
            ["a", "├ b", "├ c", "├ d", "└ e"],
        ),
        ({"late": ["early"], "early": []}, ["early", "late"]),
        ({"a": ["ghost"]}, ["a"]),
    ],
    ids=[
        "what follows alone goes on in the same column",
        "branches hang below what they come from",
        "what brings all branches together comes back to their column",
        "several beginnings hang from the top",
        "what brings only some together hangs beside them",
        "what needs something written later comes after it",
        "what is needed and not there is left alone",
    ],
)
def test_steps_stand_where_they_come_from(needs: dict[str, list[str]], lines: list[str]) -> None:
    assert drawn(needs) == lines


def test_a_circle_is_drawn_too() -> None:
    circle = laid_out({"a": ["b"], "b": ["a"], "c": []})

    assert sorted(branch.step for branch in circle) == ["a", "b", "c"]


def test_a_chain_of_a_thousand_stays_in_one_column() -> None:
    needs = {f"s{i}": [f"s{i - 1}"] if i else [] for i in range(1_000)}

    assert {len(branch.guides) for branch in laid_out(needs)} == {0}


@st.composite
def plans(draw: st.DrawFn) -> dict[str, list[str]]:
    many = draw(st.integers(1, 15))
    return {
        str(i): [str(j) for j in draw(st.sets(st.integers(0, i - 1), max_size=3))] if i else []
        for i in range(many)
    }


@given(plans())
def test_every_step_is_drawn_once_and_after_what_it_needs(needs: dict[str, list[str]]) -> None:
    steps = ordered(needs)
    shown = [branch.step for branch in laid_out(needs)]

    assert sorted(shown) == sorted(steps) == sorted(needs)
    assert all(
        shown.index(each) < shown.index(step) or len(needs[step]) > 1
        for step in needs
        for each in needs[step]
    )


@given(plans())
def test_a_step_stands_below_its_only_need_or_further_in(needs: dict[str, list[str]]) -> None:
    depth = {branch.step: len(branch.guides) for branch in laid_out(needs)}

    assert all(depth[step] >= depth[each[0]] for step, each in needs.items() if len(each) == 1)
