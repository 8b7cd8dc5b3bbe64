"""A server for as long as something takes ends with it, however often its window is closed."""

import signal
import subprocess
import sys
import time

import pytest

from tests.children import gone

STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
time.sleep(60)
"""
MEANWHILE = f"""
import sys, time
from types import SimpleNamespace
from portico.main import serving_meanwhile as meanwhile

server = [sys.executable, "-c", {STUBBORN!r}]
looks = iter([False])
meanwhile._command = lambda ground: server
meanwhile._ready = lambda ground: next(looks, True)
meanwhile._ENDING = 2.0
popen = meanwhile.subprocess.Popen

def told(*given, **how):
    process = popen(*given, **how)
    print(process.pid, flush=True)
    time.sleep(float(sys.argv[1]))  # as one that is not known to anybody yet
    return process

meanwhile.subprocess.Popen = told
with meanwhile.serving_meanwhile(SimpleNamespace(private_socket="there")):
    time.sleep(60)
"""


@pytest.mark.parametrize("being_started", [0.0, 0.5])
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_nothing_stays(number: signal.Signals, being_started: float) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", MEANWHILE, str(being_started)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        server = int(process.stdout.readline())
        time.sleep(0.3)
        process.send_signal(number)
        time.sleep(0.2)
        process.send_signal(number)
        code = process.wait(30)

    assert code == 128 + number
    assert gone(server, patience=10)
