"""Every requirement has a test that the gate runs, and every test's requirement exists."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.scenarios._requirements import REQUIREMENTS
from tests.selection import QUARANTINE, quarantined

ROOT = Path(__file__).parents[2]


@cache
def modules() -> list[tuple[str, ast.Module]]:
    """Of all tests that show something."""
    return [
        (str(path.relative_to(ROOT)), ast.parse(source))
        for path in (ROOT / "tests").rglob("test_*.py")
        if "requirement(" in (source := path.read_text())
    ]


def shown(*, nightly: bool) -> frozenset[str]:
    """The ids that tests carry, read from their source: a selection of tests hides none."""
    return frozenset(
        each for path, module in modules() for each in carried(module, path, nightly=nightly)
    )


def carried(module: ast.Module, path: str, *, nightly: bool) -> Iterator[str]:
    away = {each.partition("[")[0] for each in quarantined(QUARANTINE.read_text())}
    if _is_nightly(_marks_of(module)) and not nightly:
        return
    yield from _ids(_marks_of(module))
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        runs = not _is_nightly(node.decorator_list) and f"{path}::{node.name}" not in away
        if runs or nightly:
            yield from _ids(node.decorator_list)


def _marks_of(module: ast.Module) -> list[ast.expr]:
    return [
        node.value
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]


def _is_nightly(marks: list[ast.expr]) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in {"nightly", "planted"}
        for mark in marks
        if not (isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith(".parametrize"))
        for node in ast.walk(mark)
    )


def _ids(marks: list[ast.expr]) -> Iterator[str]:
    for mark in marks:
        for node in ast.walk(mark):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "requirement"
                and isinstance(node.args[0], ast.Constant)
            ):
                yield str(node.args[0].value)


def test_the_gate_shows_every_requirement() -> None:
    """None rests on a test that is in quarantine or runs nightly only."""
    assert {row.id for row in REQUIREMENTS} - shown(nightly=False) == set()


def test_no_test_carries_an_id_that_is_no_requirement() -> None:
    assert shown(nightly=True) - {row.id for row in REQUIREMENTS} == set()


def test_every_requirement_is_named_once_and_says_where_it_comes_from() -> None:
    ids = [row.id for row in REQUIREMENTS]

    assert len(ids) == len(set(ids))
    assert all(row.source and row.sentence.endswith(".") for row in REQUIREMENTS)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("pytestmark = pytest.mark.nightly\n{}", []),
        ("pytestmark = [pytest.mark.scenario, pytest.mark.nightly]\n{}", []),
        ("@pytest.mark.nightly\n{}", []),
        ("pytestmark = pytest.mark.scenario\n{}", ["a"]),
        ("@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.nightly)])\n{}", ["a"]),
    ],
)
def test_what_runs_nightly_only_shows_nothing_in_the_gate(source: str, expected: list[str]) -> None:
    module = ast.parse(source.format("@pytest.mark.requirement('a')\ndef test_it(): ..."))

    assert list(carried(module, "tests/test_x.py", nightly=False)) == expected
    assert list(carried(module, "tests/test_x.py", nightly=True)) == ["a"]
