"""What stands between a commit and a version that can be given out."""

from pathlib import Path

import pytest

from tests.deploy.scripts import script
from tests.deploy.test_version import commits, git

release = script(".ci/release.py")
audit = script(".ci/audit.py")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PORTICO_VERSION", raising=False)
    git(tmp_path, "init", "-q")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (2026-12-01)\n\nHerons.\n")
    git(tmp_path, "add", ".")
    commits(tmp_path, 1)
    git(tmp_path, "tag", "v0.1.0")
    return tmp_path


def test_a_tagged_commit_with_its_changelog_can_be_built(checkout: Path) -> None:
    assert list(release.before(checkout)) == []


def test_what_is_not_tagged_or_not_told_or_not_committed_cannot(checkout: Path) -> None:
    commits(checkout, 1)
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (not released yet)\n")

    found = list(release.before(checkout))

    assert [each.split(":")[0].split(",")[0] for each in found] == [
        "the tree has changes that are not committed",
        "this is 0.1.1.dev1",
        "CHANGELOG.md begins with '0.1.0 (not released yet)'",
    ]


def test_what_was_built_must_be_of_this_version_and_small(checkout: Path, tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    dist.mkdir()
    (dist / "portico-0.1.0-py3-none-any.whl").write_bytes(b"x" * 5_000_001)

    found = list(release.built(checkout, dist))

    assert [each.split()[0] for each in found] == [
        "portico-0.1.0.tar.gz",
        "portico-0.1.0-py3-none-any.whl",
    ]
    assert "5,000,001 bytes" in found[1]


LOCK = """\
heron==1.2 \\
    --hash=sha256:00
reed==2.0 ; sys_platform == 'win32' \\
    --hash=sha256:00
frog==0.3 ; python_full_version >= '3.11' \\
    --hash=sha256:00
    # via heron
"""


def test_the_lock_of_this_machine_is_what_must_be_looked_at() -> None:
    assert audit.locked(LOCK) == {"heron": "1.2", "frog": "0.3"}


@pytest.mark.requirement("release:audit:counted")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ([{"name": "heron", "version": "1.2", "vulns": []}], ["frog 0.3 was not looked at"]),
        (
            [
                {"name": "heron", "version": "1.1", "vulns": []},
                {"name": "frog", "skip_reason": "not found"},
            ],
            ["heron 1.2 was not looked at", "frog 0.3 was not looked at"],
        ),
        (
            [
                {"name": "heron", "version": "1.2", "vulns": [{"id": "A", "fix_versions": []}]},
                {"name": "frog", "version": "0.3", "vulns": [{"id": "B", "fix_versions": ["1"]}]},
            ],
            ["heron 1.2", "frog 0.3"],
        ),
        (
            [
                {"name": "heron", "version": "1.2", "vulns": []},
                {"name": "frog", "version": "0.3", "vulns": []},
            ],
            [],
        ),
    ],
)
def test_an_audit_that_did_not_look_at_everything_is_none(
    answer: list[dict[str, object]], told: list[str]
) -> None:
    found = audit.problems({"dependencies": answer}, audit.locked(LOCK))

    assert [each.split(":")[0] for each in found] == told


def test_our_own_locks_are_understood_whole() -> None:
    for name in ("run", "image"):
        text = (audit.ROOT / f"requirements/{name}.txt").read_text()

        assert len(audit.locked(text)) > 90
