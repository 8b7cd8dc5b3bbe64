"""Is this a version that can be given out? Looks, and gives nothing out itself.

python .ci/release.py        the tag, the tree, the changelog
python .ci/release.py dist   what was built: of this version, and small enough
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(Path(__file__).parent))

from version import version  # noqa: E402 # beside this file

LARGEST_WHEEL = 5_000_000


def before(folder: Path) -> Iterator[str]:
    """What stands in the way of building."""
    if _git(folder, "status", "--porcelain"):
        yield "the tree has changes that are not committed"
    this = version(folder)
    if ".dev" in this:
        yield f"this is {this}, on the way to a version: tag the commit, git tag v0.1.0"
    heading = next(iter(re.findall(r"^## (.*)$", _changelog(folder), re.MULTILINE)), "")
    if not re.fullmatch(rf"{re.escape(this)} \(\d{{4}}-\d\d-\d\d\)", heading):
        yield f"CHANGELOG.md begins with {heading!r}, and must with '{this} (YEAR-MONTH-DAY)'"


def built(folder: Path, dist: Path) -> Iterator[str]:
    """What is wrong with what was built."""
    this = version(folder)
    for name in (f"portico-{this}-py3-none-any.whl", f"portico-{this}.tar.gz"):
        if not (dist / name).is_file():
            yield f"{name} is not in {dist}: just build"
    for wheel in dist.glob("*.whl"):
        if wheel.stat().st_size > LARGEST_WHEEL:
            yield f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {LARGEST_WHEEL:,}"


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


def _changelog(folder: Path) -> str:
    return (folder / "CHANGELOG.md").read_text(encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    found = list(built(ROOT, Path(arguments[0])) if arguments else before(ROOT))
    for each in found:
        print(f"✗ {each}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
