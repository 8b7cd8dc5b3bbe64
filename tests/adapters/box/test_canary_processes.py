"""The process that nothing in a box should find: it stays until it is ended, and not longer."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from portico.adapters.box.probing.canary_processes import asleep
from tests.children import gone, lives

pytestmark = [pytest.mark.process, pytest.mark.timeout(60)]
_STARTS_ONE = """
import signal, sys
from pathlib import Path
from portico.adapters.box.probing.canary_processes import asleep
from tests.children import gone, lives
with asleep(Path(sys.argv[1]), "KEY", sys.executable, None) as canary:
    print(canary, flush=True)
    signal.pause()
"""


def test_it_stays_while_somebody_looks(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")

    with asleep(tmp_path, "KEY", sys.executable, None) as canary:
        time.sleep(0.5)
        while_open = lives(canary)

    assert while_open
    assert gone(canary)


def test_it_does_not_outlive_whoever_started_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    with subprocess.Popen(
        [sys.executable, "-c", _STARTS_ONE, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        canary = int(server.stdout.readline())
        before = lives(canary)
        server.send_signal(signal.SIGKILL)

    assert before
    assert gone(canary, patience=30)
