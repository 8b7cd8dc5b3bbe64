"""Has anything that we lock a known vulnerability? Asks pip-audit, and counts what it looked at.

pip-audit can say that all is well after it has skipped every package. So the answer must name each
package of the lock, with its version, and skip none.

python .ci/audit.py [LOCK …]   requirements/run.txt and image.txt, if none is named
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.markers import Marker

ROOT = Path(__file__).parent.parent
TOOL = "pip-audit==2.10.1"
_LOCKED = re.compile(r"^([a-z0-9._-]+)==([^\s;]+)(?: ; ([^\\\n]+))?", re.MULTILINE)


def locked(text: str) -> Mapping[str, str]:
    """Name and version of what the lock installs on this machine."""
    return {
        name: version
        for name, version, marker in _LOCKED.findall(text)
        if not marker or Marker(marker).evaluate()
    }


def problems(report: Mapping[str, Any], expected: Mapping[str, str]) -> Sequence[str]:
    """Empty if every package was looked at and nothing is known against any."""
    seen = {each["name"]: each for each in report["dependencies"]}
    found = []
    for name, version in expected.items():
        about = seen.get(name)
        if about is None or about.get("version") != version:
            reason = "not in the answer" if about is None else about.get("skip_reason", "skipped")
            found.append(f"{name} {version} was not looked at: {reason}")
        found += [
            f"{name} {version}: {each['id']}, mended in {', '.join(each['fix_versions']) or '-'}"
            for each in (about or {}).get("vulns", [])
        ]
    return found


def audited(lock: Path) -> Mapping[str, Any]:
    """Raises `SystemExit` if nobody could be asked."""
    asked = [
        *("uvx", TOOL, "--strict", "--disable-pip", "--require-hashes"),
        *("--progress-spinner=off", "--format=json", "--requirement", str(lock)),
    ]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    try:
        report: Mapping[str, Any] = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise SystemExit(f"Not audited, pip-audit could not be asked: {said[0][:300]}") from None
    return report


def main(locks: Sequence[str]) -> int:
    wrong = []
    for lock in map(Path, locks or ["requirements/run.txt", "requirements/image.txt"]):
        expected = locked((ROOT / lock).read_text())
        found = problems(audited(ROOT / lock), expected)
        print(f"{lock}: {len(expected)} packages, {len(found)} problems")
        wrong += found
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
