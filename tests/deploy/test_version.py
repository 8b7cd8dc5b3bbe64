"""Which version a checkout is, by its tags."""

import subprocess
from pathlib import Path

import pytest

from tests.deploy.scripts import script

version = script(".ci/version.py").version
WHO = ("-c", "user.name=Ana", "-c", "user.email=ana@herons.invalid")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *WHO, *arguments], cwd=folder, check=True, capture_output=True)


def commits(folder: Path, number: int) -> None:
    for _ in range(number):
        git(folder, "commit", "--allow-empty", "-m", "The heron stands")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PORTICO_VERSION", raising=False)
    git(tmp_path, "init", "-q")
    commits(tmp_path, 3)
    return tmp_path


@pytest.mark.requirement("release:version:from-tags")
def test_before_the_first_tag_it_is_the_first_version_in_the_making(checkout: Path) -> None:
    assert version(checkout) == "0.1.0.dev3"


@pytest.mark.requirement("release:version:from-tags")
@pytest.mark.parametrize(
    ("tag", "on_it", "after_it"),
    [
        ("v0.1.0", "0.1.0", "0.1.1.dev2"),
        ("v1.4.9", "1.4.9", "1.4.10.dev2"),
        ("v0.2.0rc1", "0.2.0rc1", "0.2.0.dev2"),
    ],
)
def test_a_tag_says_it_and_what_follows_is_the_next_in_the_making(
    checkout: Path, tag: str, on_it: str, after_it: str
) -> None:
    git(checkout, "tag", tag)
    there = version(checkout)
    commits(checkout, 2)

    assert (there, version(checkout)) == (on_it, after_it)


def test_tags_that_are_no_versions_do_not_count(checkout: Path) -> None:
    git(checkout, "tag", "before-the-move")

    assert version(checkout) == "0.1.0.dev3"


def test_a_tag_that_only_looks_like_a_version_is_refused(checkout: Path) -> None:
    git(checkout, "tag", "v1.x")

    with pytest.raises(SystemExit, match=r"v1\.x is no version"):
        version(checkout)


def test_a_folder_in_somebody_elses_checkout_has_no_version_of_theirs(checkout: Path) -> None:
    inner = checkout / "inner"
    inner.mkdir()

    assert version(inner) == "0.1.0.dev0"


def test_where_there_is_no_git_it_can_be_said(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTICO_VERSION", "0.3.1")

    assert version(checkout) == "0.3.1"
