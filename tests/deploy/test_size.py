"""What is counted, and what a budget allows."""

import ast
import tomllib

from tests.deploy.dockerfile import ROOT
from tests.deploy.scripts import script

size = script(".ci/size.py")
shape = script(".ci/shape.py")

MODULE = '''"""What it is for,
over two lines."""

# a comment
import os  # counted

NAME = """
text that is used
"""
"""What explains a name."""


class Thing:
    """A thing."""

    def act(self) -> None:
        """It acts."""
        if os:
            return
'''


def test_blank_lines_comments_and_docstrings_are_not_counted() -> None:
    tree = ast.parse(MODULE)

    assert size.code_lines(MODULE, tree) == 8
    assert size.statements(tree) == 6


def test_what_is_above_its_budget_or_has_none_is_named() -> None:
    actual = {"src_files": 11, "packages": 5, "files.guard": 1}

    found = size.excesses(actual, {"src_files": 10, "packages": 5})

    assert found == [
        "src_files is 11, 1 above its budget of 10",
        "files.guard is 1 and has no line in budget.toml",
    ]


def test_every_package_has_a_budget_and_no_budget_is_for_nothing() -> None:
    allowed = set(size.flat(tomllib.loads((ROOT / "budget.toml").read_text())))
    packages = {each.name for each in size.SOURCE.iterdir() if (each / "__init__.py").exists()}
    by_package = {
        f"{name}.{package}" for name in size.PACKAGES for package in {*packages, "portico"}
    }

    assert {each for each in allowed if "." in each} == by_package


def test_modules_that_need_each_other_are_a_circle_unless_they_import_late() -> None:
    late = "def act() -> None:\n    import portico.one"
    texts = {
        "portico.one": "from portico import two",
        "portico.two": "from typing import TYPE_CHECKING\nimport portico.one",
        "portico.three": f"from portico.one import act\n{late}",
        "portico.four": "if TYPE_CHECKING:\n    import portico.five",
        "portico.five": "from portico.four import act",
        "portico.six.__init__": "",
        "portico.six.seven": "from portico.six import act",
    }
    modules = [shape.Module(name, 1, 1, ast.parse(text)) for name, text in texts.items()]

    assert shape.circles_of(modules) == [["portico.one", "portico.two"]]
