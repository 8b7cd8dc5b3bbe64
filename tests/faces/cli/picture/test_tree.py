"""Where steps stand in the tree."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from portico.faces.cli.picture.tree import laid_out, ordered


def drawn(needs: Mapping[str, Sequence[str]]) -> list[str]:
    return ["".join(branch.guides) + branch.step for branch in laid_out(needs)]


def test_what_follows_alone_goes_on_in_the_same_column() -> None:
    assert drawn({"a": [], "b": ["a"], "c": ["b"]}) == ["a", "b", "c"]


def test_branches_hang_below_what_they_come_from() -> None:
    assert drawn({"a": [], "b": ["a"], "c": ["a"], "d": ["b"]}) == ["a", "├ b", "│ d", "└ c"]


def test_what_brings_all_branches_together_comes_back_to_their_column() -> None:
    needs = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["d"]}

    assert drawn(needs) == ["a", "├ b", "└ c", "d", "e"]


def test_several_beginnings_hang_from_the_top() -> None:
    assert drawn({"a": [], "b": [], "c": ["a", "b"]}) == ["├ a", "└ b", "c"]


def test_what_brings_only_some_together_hangs_beside_them() -> None:
    needs = {"a": [], "b": ["a"], "c": ["a"], "d": ["a"], "e": ["b", "c"]}

    assert drawn(needs) == ["a", "├ b", "├ c", "├ d", "└ e"]


def test_what_needs_something_written_later_comes_after_it() -> None:
    assert drawn({"late": ["early"], "early": []}) == ["early", "late"]


def test_what_is_needed_and_not_there_is_left_alone() -> None:
    assert drawn({"a": ["ghost"]}) == ["a"]


def test_a_circle_is_drawn_too() -> None:
    assert sorted(branch.step for branch in laid_out({"a": ["b"], "b": ["a"], "c": []})) == [
        "a",
        "b",
        "c",
    ]


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
