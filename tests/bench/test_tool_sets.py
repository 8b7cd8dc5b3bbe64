"""Reading the published sets."""

from pathlib import Path

from portico.bench.tool_sets import FILES, FIVE, LIVE, MULTI, SEAL, missing_files, read_sets
from tests.bench.small_sets import THINGS, write_sets


def test_all_five_are_read_and_the_one_to_learn_from(tmp_path: Path) -> None:
    sets = read_sets(write_sets(tmp_path) / "tool-search")

    assert set(sets) == {*FIVE, MULTI}
    assert all(len(each.tools) == len(THINGS) for each in sets.values())
    assert all(len(each.questions) == len(each.gold) for each in sets.values())


def test_questions_without_a_tool_of_the_set_are_left_out(tmp_path: Path) -> None:
    sets = read_sets(write_sets(tmp_path) / "tool-search")

    assert "not here" not in sets[SEAL].questions
    assert "nothing" not in sets[LIVE].questions


def test_steps_and_parameters_are_read_as_they_were_written(tmp_path: Path) -> None:
    live = read_sets(write_sets(tmp_path) / "tool-search")[LIVE]

    assert live.steps[0] == ("look at the letter", "do it")
    assert live.tools[0].parameters == (("when", "the day"), ("odd", ""))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    write_sets(tmp_path)
    (tmp_path / "tool-search" / FILES[2]).unlink()

    assert missing_files(tmp_path / "tool-search") == [FILES[2]]
