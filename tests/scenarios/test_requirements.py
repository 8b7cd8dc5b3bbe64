"""Every requirement has a test, and every test's requirement exists."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.scenarios._requirements import REQUIREMENTS

TESTS = Path(__file__).parent.parent


def carried() -> Iterator[str]:
    """The ids that tests carry, read from their source: a selection of tests hides none."""
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "requirement"
                and isinstance(node.args[0], ast.Constant)
            ):
                yield str(node.args[0].value)


def test_no_requirement_is_without_a_test() -> None:
    assert {row.id for row in REQUIREMENTS} - set(carried()) == set()


def test_no_test_carries_an_id_that_is_no_requirement() -> None:
    assert set(carried()) - {row.id for row in REQUIREMENTS} == set()


def test_every_requirement_is_named_once_and_says_where_it_comes_from() -> None:
    ids = [row.id for row in REQUIREMENTS]

    assert len(ids) == len(set(ids))
    assert all(row.source and row.sentence.endswith(".") for row in REQUIREMENTS)
