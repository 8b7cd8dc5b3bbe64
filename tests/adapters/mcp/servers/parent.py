"""A server that has children which do not want to end: one in its group, and one that left it."""

import signal
import subprocess
import sys
from pathlib import Path

from tests.adapters.mcp.servers.speech import Speaker

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def main() -> None:
    stubborn = "stubborn" in sys.argv
    if stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    near = subprocess.Popen([sys.executable, "-S", "-c", STUBBORN])
    far = subprocess.Popen([sys.executable, "-S", "-c", STUBBORN], start_new_session=True)
    Path(sys.argv[1]).write_text(f"{near.pid} {far.pid}")
    Speaker().run()
    if stubborn:
        near.wait()
