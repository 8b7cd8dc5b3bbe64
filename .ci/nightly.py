"""The nightly run: the whole suite at full size, in parts (nightly.toml). `.ci/nightly` starts it.

`nightly.json` keeps, for each part, the commit of its last green run. That run holds for a later
commit if nothing that the part covers has changed in between; when every part's does, the nightly
run is whole.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from steps import SKIPPED, Step, Steps, costs_of_modules, dearest  # beside this file

ROOT = Path(__file__).parent.parent
CHECKOUT = Path(os.environ.get("PORTICO_NIGHTLY_ROOT", ROOT))
"""Where the record is kept: the run itself may be in a copy."""
RECORD = CHECKOUT / ".ci" / "nightly.json"
LONGEST_S = 3600
"""What a part may take. One that took longer is to be divided."""

_KNOWN: Mapping[str, Any] = tomllib.loads((ROOT / ".ci" / "nightly.toml").read_text())
PARTS: Mapping[str, Mapping[str, Any]] = _KNOWN["parts"]


def main() -> int:
    parser = argparse.ArgumentParser(prog=".ci/nightly")
    parser.add_argument("part", nargs="*", choices=[[], *PARTS], metavar="PART")
    parser.add_argument("--due", action="store_true", help="parts without a green run that holds")
    parser.add_argument("--list", action="store_true", help="the parts, and which are due")
    wish = parser.parse_args()
    if wish.list:
        print("\n".join(map(described, PARTS)))
        return 0
    names = wish.part or [name for name in PARTS if not wish.due or is_due(name)]
    runs = [run(name) for name in names]
    print(f"\n{'wall s':>8} {'cpu s':>8} {'cases':>6}  part")
    for each in runs:
        long = "  over an hour: divide it" if each["wall_s"] > LONGEST_S else ""
        print(
            f"{each['wall_s']:8} {each['cpu_s'] or '-':>8} {each['cases']:6}  {each['part']}:"
            f" {each['state']} at {each['commit'][:10]}{long}"
        )
    red = [each["part"] for each in runs if each["state"] == "red"]
    due = [name for name in PARTS if is_due(name)]
    print(json.dumps({"red": red, "due": due, "whole": not due}))
    return 1 if red else 0


def run(name: str) -> dict[str, Any]:
    began, commit = time.time(), _commit()
    os.environ["PATH"] = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    os.environ["PYTHONPATH"] = str(ROOT)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    steps = Steps()
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder, "costs")
        steps.run([*steps_of(name, costs)])
        modules = costs_of_modules(costs)
    print(f"\n{dearest(modules)}\n\n{steps.table()}")
    skipped = any(each.code == SKIPPED for each in steps.outcomes)
    done = {
        "part": name,
        "commit": commit,
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)),
        "state": "red" if steps.failed else "skipped" if skipped else "green",
        "wall_s": round(steps.wall_s),
        "cpu_s": None if steps.cpu_s is None else round(steps.cpu_s),
        "cases": sum(each["cases"] for each in modules),
    }
    if done["state"] == "green" and not commit.endswith("+"):
        RECORD.write_text(json.dumps({**recorded(), name: done}, indent=1, sort_keys=True) + "\n")
    return done


def steps_of(name: str, costs: Path) -> Iterator[Step]:
    part = PARTS[name]
    for command in part.get("commands", ()):
        yield Step(f"{name}: {' '.join(command)}", command)
    if part.get("tests"):
        command = (
            *("pytest", "--nightly", "-n3", "--dist=loadscope", "--no-loadscope-reorder"),
            *("-m", "not planted", f"--costs={costs}"),
            *selected(name),
        )
        yield Step(
            f"{name}: tests", command, {"PORTICO_PROOF": "1"} if part.get("full_size") else {}
        )


def selected(name: str) -> Sequence[str]:
    """The part's tests, without those that another part names more closely."""
    own = tests_of(name)
    others = [each for other in PARTS if other != name for each in tests_of(other)]
    within = [each for each in others if any(each.startswith(f"{folder}/") for folder in own)]
    return (*own, *(f"--ignore={each}" for each in within))


def tests_of(name: str) -> list[str]:
    return [
        str(path.relative_to(ROOT))
        for pattern in PARTS[name].get("tests", ())
        for path in (sorted((ROOT / "tests").glob(pattern)) or [ROOT / "tests" / pattern])
    ]


def is_due(name: str) -> bool:
    """Whether something that the part covers has changed since its last green run."""
    last = recorded().get(name)
    if last is None:
        return True
    compared = _git("diff", "--quiet", last["commit"], "HEAD", "--", *covers(name))
    return compared.returncode != 0


def covers(name: str) -> Sequence[str]:
    return [*dict.fromkeys([*_paths(PARTS[name]["covers"]), *tests_of(name)])]


def _paths(patterns: Sequence[str]) -> Iterator[str]:
    for each in patterns:
        if each.startswith("@"):
            yield from _paths(_KNOWN["groups"][each[1:]])
        else:
            yield each


def described(name: str) -> str:
    last = recorded().get(name)
    told = f"{last['date']}, {last['wall_s']} s, {last['commit'][:10]}" if last else "never"
    due = "  (due)" if is_due(name) else ""
    return f"{name}{due}\n  last green: {told}\n  covers: {' '.join(covers(name))}"


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return found


def _commit() -> str:
    """With a plus where the tree differs from the commit. The record itself does not count."""
    dirty = _git("status", "--porcelain", "--", ".", ":(exclude).ci/nightly.json").stdout.strip()
    return _git("rev-parse", "HEAD").stdout.strip() + ("+" if dirty else "")


def _git(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["git", "-C", str(CHECKOUT), *arguments], capture_output=True, text=True, check=False
    )


if __name__ == "__main__":
    sys.exit(main())
