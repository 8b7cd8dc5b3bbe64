"""Does each storm find its planted defect? Applies each patch to a copy and runs the storm on it.

A patch stands beside the storms (tests/scenarios/defects/*.patch). Its first lines say what runs:
`Storm:` and pytest's arguments, and `Defect:` and a sentence. The storm must fail on the copy, at
the size that the gate runs.

python .ci/defects.py [--times N] [NAME …]   every patch, once, if nothing is named
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PATCHES = ROOT / "tests" / "scenarios" / "defects"
_LONGEST_S = 1800
_FAILED = 1
"""What pytest exits with where a test failed; it exits otherwise where none could be run."""


@dataclass(frozen=True)
class Planted:
    patch: Path
    storm: tuple[str, ...]
    defect: str

    @classmethod
    def read(cls, patch: Path) -> "Planted":
        text = patch.read_text(encoding="utf-8")
        found = {name: re.search(rf"^{name}: (.+)$", text, re.MULTILINE) for name in _HEADER}
        missing = [name for name, match in found.items() if match is None]
        if missing:
            raise SystemExit(f"{patch.name} has no line {missing[0]}: …")
        storm, defect = (match[1] for match in found.values() if match)
        return cls(patch, tuple(storm.split()), defect)


_HEADER = ("Storm", "Defect")


def planted() -> list[Planted]:
    return [Planted.read(each) for each in sorted(PATCHES.glob("*.patch"))]


@contextmanager
def with_defect(patch: Path) -> Iterator[Path]:
    """A copy: a run that is stopped half-way leaves no defect in the source."""
    with tempfile.TemporaryDirectory(prefix="portico-defect-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        ignored = shutil.ignore_patterns("__pycache__", ".*", "node_modules", "site")
        for each in ("src", "tests", "docs", "requirements"):
            shutil.copytree(ROOT / each, folder / each, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", folder)
        applied = ["git", "apply", "--unsafe-paths", f"--directory={folder}", str(patch)]
        subprocess.run(applied, cwd="/", check=True)
        yield folder


def is_found(each: Planted, folder: Path) -> bool:
    """Raises `SystemExit` where the storm could not be run."""
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}"}
    environment.pop("PORTICO_PROOF", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--timeout=600", "--nightly", "-x", *each.storm],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=_LONGEST_S,
    )
    if done.returncode not in (0, _FAILED):
        raise SystemExit(f"{each.patch.name}: pytest exits with {done.returncode}\n{done.stdout}")
    if done.returncode == 0:
        print(done.stdout[-2000:])
    return done.returncode == _FAILED


def main() -> int:
    parser = argparse.ArgumentParser(description="Does each storm find its planted defect?")
    parser.add_argument("name", nargs="*", metavar="NAME")
    parser.add_argument("--times", type=int, default=1)
    wish = parser.parse_args()
    missed = []
    for each in planted():
        if wish.name and each.patch.stem not in wish.name:
            continue
        began = time.monotonic()
        with with_defect(each.patch) as folder:
            found = sum(is_found(each, folder) for _ in range(wish.times))
        took = (time.monotonic() - began) / wish.times
        print(f"{found} of {wish.times}  {took:5.0f} s  {each.patch.stem}: {each.defect}")
        if found < wish.times:
            missed.append(each.patch.stem)
    print(json.dumps({"missed": missed}))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
