"""What the pages tell a reader to type works, and shows what they say it shows."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.children import gone
from tests.docs.console import Shell, examples, matches, walk_through

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in [
        ROOT / "README.md",
        ROOT / "examples/README.md",
        *sorted((ROOT / "docs/tutorial").glob("*.md")),
        *sorted((ROOT / "docs/how-to").glob("*.md")),
    ]
    if examples(page.read_text())
]

GATE = "docs/tutorial/first-minute.md"


@pytest.mark.scenario
@pytest.mark.requirement("first-hour:tutorials:as-printed")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name, marks=() if name == GATE else pytest.mark.nightly)
        for page in PAGES
        for name in [str(page.relative_to(ROOT))]
    ],
)
def test_the_commands_of_a_page_do_what_it_says(page: Path) -> None:
    differences = walk_through(page.read_text(), page.parent.glob("*.py"))

    assert not differences, "\n\n".join(differences)


def test_every_tutorial_is_walked_through() -> None:
    tutorials = set((ROOT / "docs/tutorial").glob("*.md"))

    assert tutorials <= set(PAGES)


@pytest.mark.process
def test_what_a_page_leaves_running_ends_with_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path, {"PATH": os.environ["PATH"], "PORTICO_SERVER__PORT": "1"})

    _, shown = shell.run("sleep 600 & echo $!")
    shell.close()

    assert gone(int(shown[0]))


@pytest.mark.process
def test_a_question_is_answered_at_the_keyboard(tmp_path: Path) -> None:
    shell = Shell(tmp_path, {"PATH": os.environ["PATH"], "PORTICO_SERVER__PORT": "1"})

    status, shown = shell.run("read -p 'Sure? [y/N] ' answer; echo $answer", ["y"])
    shell.close()

    assert (status, shown) == (0, ["Sure? [y/N] y", "y", ""])


def test_what_stands_behind_a_question_is_typed() -> None:
    [example] = examples("```console\n$ rm it\nRemove it? [y/N] y\nGone.\n```\n")

    assert example.typed == ["y"]


@pytest.mark.parametrize(
    ("expected", "shown", "same"),
    [
        (["Stopped."], ["Stopped.  ", ""], True),
        (["Stopped."], ["It was not running."], False),
        (["ptc_…"], ["ptc_0F19_x"], True),
        (["a   … c"], ["a b  c"], True),
        (["a … c"], ["a b d"], False),
        (["a", "…", "c"], ["a", "b", "b", "c"], True),
        (["a", "…"], ["a"], True),
        (["a"], ["a", "b"], False),
    ],
)
def test_an_ellipsis_stands_for_what_differs_each_time(
    expected: Sequence[str], shown: Sequence[str], same: bool
) -> None:
    assert matches(expected, shown) is same
