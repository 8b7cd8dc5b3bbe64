"""A program that does as it is told by what it is given: for what the real ones do rarely."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

if "--version" in sys.argv:
    print("1.0.0")
    sys.exit(0)
if sys.argv[1:] in (["auth", "status"], ["login", "status"]):
    sys.exit(int(Path.home().joinpath("nobody-is-logged-in").exists()))

orders, _, rest = sys.stdin.read().partition("\n")
told = json.loads(orders)
if told.get("report"):
    words = " ".join([*sys.argv, *os.environ.values()])
    files = [Path(found) for found in re.findall(r"/[^ \"=]+\.(?:md|toml|json)", words)]
    seen = {
        "argv": sys.argv[1:],
        "environment": dict(os.environ),
        "cwd": str(Path.cwd()),
        "folder": [str(each) for each in Path().iterdir()],
        "rest": rest,
        "files": {file.name: file.read_text() for file in files if file.is_file()},
    }
    Path(told["report"]).write_text(json.dumps(seen))
if told.get("child"):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(told["child"]).write_text(f"{os.getpid()} {child.pid}")
for line in told.get("lines", ()):
    print(line if isinstance(line, str) else json.dumps(line), flush=True)
if told.get("ignores_signals"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if told.get("complains"):
    sys.stderr.write(told["complains"])
    sys.stderr.flush()
while told.get("endless"):
    sys.stdout.write("x" * 1_000_000)
time.sleep(told.get("sleeps", 0))
sys.exit(told.get("ends", 0))
