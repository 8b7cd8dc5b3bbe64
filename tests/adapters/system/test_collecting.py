"""How often Python looks for garbage; told by a process of its own, as it holds for all of one."""

import subprocess
import sys

PROGRAM = """
import gc
from portico.adapters.system.collecting import collect_rarely
kept = [[n] for n in range(1000)]
before = gc.get_stats()[2]["collections"]
collect_rarely()
assert gc.get_freeze_count() > 1000
after = gc.get_stats()[2]["collections"]
for _ in range(10):
    page = [{"tool": n} for n in range(50_000)]
print(after - before, gc.get_stats()[2]["collections"] - after, gc.isenabled())
"""


def test_what_is_there_is_looked_through_once_and_pages_cause_no_further_look() -> None:
    command = [sys.executable, "-c", PROGRAM]
    told = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (told.returncode, told.stdout.split()) == (0, ["1", "0", "True"]), told.stderr
