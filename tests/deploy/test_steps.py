"""Steps are run, counted and judged by their exit codes alone."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.deploy.scripts import script

pytestmark = [pytest.mark.process]

RUN = """
import sys
sys.path.insert(0, {folder!r})
from steps import Step, Steps
steps = Steps()
steps.run(*[[Step(name, command) for name, command in chain] for chain in {chains!r}])
for each in steps.outcomes:
    print(each.name, each.code, each.failed, each.cpu_s is None or each.cpu_s > 0.2)
print("orphans", steps.orphans_s > 0.2)
"""
BURN = "import time\nwhile time.process_time() < 0.4: pass"


def python(program: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program)


def ran(*chains: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """What a process of its own prints: whoever runs steps adopts what they leave behind."""
    program = RUN.format(folder=str(Path(__file__).parents[2] / ".ci"), chains=chains)
    done = subprocess.run(python(program), capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_step_that_fails_stops_nothing_and_a_skipped_one_does_not_fail() -> None:
    said = ran([("one", python("exit(3)")), ("two", python("exit(77)")), ("three", ("true",))])

    assert said[-4:-1] == ["one 3 True False", "two 77 False False", "three 0 False False"]


def test_chains_run_side_by_side_and_the_second_is_shown_when_it_ends() -> None:
    first = [("first", python("print('from first')"))]
    second = [("second", python("print('from second')"))]

    said = ran(first, second)

    assert "from first" in said
    assert said.index("from second") == said.index(next(x for x in said if "== second" in x)) + 1


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are counted on Linux only")
def test_processor_time_is_that_of_everything_a_step_started(tmp_path: Path) -> None:
    burns = f"import subprocess, sys; subprocess.{{}}([sys.executable, '-c', {BURN!r}])"
    pid = tmp_path / "pid"
    leaves = f"{burns.format('Popen')}; open({str(pid)!r}, 'w').write(str(_.pid))"
    waits = (
        "import os, time\n"
        f"while os.path.exists('/proc/' + open({str(pid)!r}).read()): time.sleep(0.05)"
    )

    child = ran([("child", python(burns.format("run")))])
    orphan = ran(
        [
            ("leaves", python(leaves.replace("subprocess.Popen", "_ = subprocess.Popen", 1))),
            ("waits", python(waits)),
        ]
    )

    assert "child 0 False True" in child
    assert orphan[-1] == "orphans True"


def test_the_newest_line_of_a_module_counts(tmp_path: Path) -> None:
    lines = tmp_path / "costs"
    lines.write_text(
        '{"module": "a", "cpu_s": 1}\n{"module": "b", "cpu_s": 5}\n{"module": "a", "cpu_s": 3}\n'
    )

    found = script(".ci/steps.py").costs_of_modules(lines)

    assert {each["module"]: each["cpu_s"] for each in found} == {"a": 3, "b": 5}
