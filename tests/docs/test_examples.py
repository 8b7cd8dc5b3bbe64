"""The Python in the docs runs, and prints what it says it prints."""

from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

ROOT = Path(__file__).parents[2]
EXAMPLES = [
    example
    for example in find_examples(ROOT / "README.md", ROOT / "docs")
    if example.prefix == "python"
    and example.path.suffix == ".md"
    and "title" not in example.prefix_settings()
]
"""One with a title is a program of its own, which needs a server: it runs where there is one."""


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_python_block_runs_and_prints_what_it_shows(
    example: CodeExample, eval_example: EvalExample
) -> None:
    eval_example.run_print_check(example)


def test_there_are_python_blocks_to_run() -> None:
    assert EXAMPLES
