"""The gate: what must hold before a change lands. `.ci/run` starts it; all else is `.ci/nightly`.

Every step runs, also after one has failed, and none judges by the clock. At the end it prints what
each step and the most expensive test modules cost; the last line is one JSON object.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from steps import Step, Steps, costs_of_modules, dearest  # beside this file

ROOT = Path(__file__).parent.parent
PROGRAMS = ROOT / ".venv" / "bin"
CORES = (
    "kernel",
    "guard",
    "sandbox",
    "engine",
    "gateway",
    "workflows",
    "learning",
    "agents",
    "bridge",
    "debate",
)
"""Folders whose tests cover every branch of the kernel and the cores. They need no database."""
WHEEL = "installed"
"""The folder of tests that look at the wheel as users install it."""


def main() -> int:
    began = time.monotonic()
    os.environ["PATH"] = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    os.environ["PYTHONPATH"] = str(ROOT)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each process would compile everything anew
    steps = Steps()
    with tempfile.TemporaryDirectory() as folder:
        costs, size = Path(folder, "costs"), Path(folder, "size")
        steps.run([Step("setup", ("bash", ".ci/setup"))])
        if not steps.failed:
            checks(steps, costs, size)
        modules = costs_of_modules(costs)
        sizes = json.loads(size.read_text()) if size.exists() else {}
    print(f"\n== what it cost\n{steps.table()}\n\n{dearest(modules)}\n")
    figures = {
        "gate_wall_s": round(time.monotonic() - began),
        "gate_cpu_s": None if steps.cpu_s is None else round(steps.cpu_s),
        "cases": sum(each["cases"] for each in modules),
        "quarantined": _quarantined(),
        **{name: sizes.get(name) for name in ("test_lines", "src_code_lines", "src_statements")},
        "src_files": sizes.get("src_files"),
    }
    print(json.dumps(figures))
    return 1 if steps.failed else 0


def checks(steps: Steps, costs: Path, size: Path) -> None:
    steps.run([Step("compile", ("python", "-m", "compileall", "-q", "src", "benchmarks", "tests"))])
    covered = ("coverage", "run", "--rcfile=.ci/coverage-cores.toml", "-m")
    cores = [f"tests/{each}" for each in CORES]
    steps.run(
        [
            Step("format", ("ruff", "format", "--check")),
            Step("lint", ("ruff", "check")),
            Step("import contracts", ("lint-imports", "--no-logo")),
            Step("budget", ("python", ".ci/size.py", "--installed", "--check", f"--write={size}")),
            Step("the wheel, installed", pytest(costs, f"tests/{WHEEL}")),
        ],
        [
            Step("types", ("mypy",)),
            Step("kernel and cores", (*covered, *pytest(costs, "-n2", *cores))),
            Step("every branch of them", ("bash", ".ci/branches")),
        ],
    )
    others = [f"--ignore=tests/{each}" for each in (*CORES, WHEEL)]
    steps.run([Step("everything else", pytest(costs, "-n5", *others))])


def pytest(costs: Path, *arguments: str) -> Sequence[str]:
    return (
        *("pytest", "--dist=loadscope", "--no-loadscope-reorder"),
        *("--hypothesis-profile=gate", f"--costs={costs}", *arguments),
    )


def _quarantined() -> int:
    lines = map(str.strip, (ROOT / "tests" / "quarantine.txt").read_text().splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


if __name__ == "__main__":
    sys.exit(main())
