"""Which version this is: told by the newest tag, `v0.1.0`; read by the build (pyproject.toml).

On a tag it is the tag's. Past one it is the next patch in the making, numbered by the commits
since: 0.1.1.dev5. Where there is no tag yet it is the first one in the making. A source archive
carries the version that it was made with (PKG-INFO); without that and without git, PORTICO_VERSION
says it.

python .ci/version.py   prints it
"""

import os
import re
import subprocess
from pathlib import Path

FIRST = "0.1.0"
_TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+((?:a|b|rc)\d+)?)")


def version(folder: Path = Path(__file__).parent.parent) -> str:
    if told := os.environ.get("PORTICO_VERSION"):
        return told
    described = _git(folder, "describe", "--tags", "--match=v[0-9]*", "--long")
    if described:
        tag, since, _ = described.rsplit("-", 2)
        return _after(tag, int(since))
    commits = _git(folder, "rev-list", "--count", "HEAD")
    return f"{FIRST}.dev{commits or 0}"


def _after(tag: str, since: int) -> str:
    known = _TAG.fullmatch(tag)
    if known is None:
        raise SystemExit(f"{tag} is no version: tags look like v0.1.0 or v0.1.0rc1")
    if since == 0:
        return tag[1:]
    major, minor, patch, candidate = known.groups()
    number = int(re.match(r"\d+", patch)[0])  # its pattern begins so
    return f"{major}.{minor}.{number if candidate else number + 1}.dev{since}"


def _git(folder: Path, *arguments: str) -> str:
    """Nothing where this is no checkout of its own: a source archive may lie in another's."""
    if not (folder / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    print(version())
