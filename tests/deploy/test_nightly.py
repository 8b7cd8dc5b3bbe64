"""Each test belongs to one part of the nightly run; its run holds until its paths change."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.deploy.dockerfile import ROOT
from tests.deploy.scripts import script

nightly = script(".ci/nightly.py")


def test_every_test_module_belongs_to_one_part() -> None:
    found: dict[str, list[str]] = {}
    for name in nightly.PARTS:
        selected = list(map(str, nightly.selected(name)))
        own = [each for each in selected if not each.startswith("--ignore=")]
        without = [each.removeprefix("--ignore=") for each in selected if each not in own]
        for path in modules_below(own) - modules_below(without):
            found.setdefault(path, []).append(name)

    assert {path: names for path, names in found.items() if len(names) > 1} == {}
    assert modules_below(["tests"]) - set(found) == set()


def modules_below(paths: list[str]) -> set[str]:
    return {
        str(module.relative_to(ROOT))
        for each in paths
        for module in ([ROOT / each] if each.endswith(".py") else (ROOT / each).rglob("test_*.py"))
    }


def test_a_part_covers_its_own_tests_and_what_its_groups_stand_for() -> None:
    covered = nightly.covers("storms-bridge")

    assert {"src/portico/bridge", "src/portico/kernel", "pyproject.toml"} <= set(covered)
    assert "tests/scenarios/test_bridge_storm.py" in covered
    assert "src/portico/debate" not in covered


@pytest.mark.process
def test_a_green_run_holds_until_something_that_it_covers_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit(path: str) -> str:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
        git("add", ".")
        git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", path)
        return git("rev-parse", "HEAD")

    def git(*arguments: str) -> str:
        done = ["git", "-C", str(tmp_path), *arguments]
        return subprocess.run(done, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    run = commit("src/portico/bridge/a.py")
    record = tmp_path / "nightly.json"
    record.write_text(json.dumps({"storms-bridge": {"commit": run}}))
    monkeypatch.setattr(nightly, "CHECKOUT", tmp_path)
    monkeypatch.setattr(nightly, "RECORD", record)

    commit("src/portico/debate/b.py")
    before = nightly.is_due("storms-bridge")
    commit("src/portico/bridge/c.py")

    assert not before
    assert nightly.is_due("storms-bridge")
    assert nightly.is_due("storms-debates")
