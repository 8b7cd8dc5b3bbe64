"""Makes attempts to get out of the box that it runs in, and says of each what came of it.

It is handed in as text, so that nothing of Portico need be seen inside (`attempts.py`). Each
attempt is made in a process of its own: it may hang, or be killed for trying.
"""

import errno
import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from portico.adapters.sandbox.probes import host, kernel  # noqa: F401 # each adds its attempts
from portico.adapters.sandbox.probes.runtime import ATTEMPTS, Held, Marks

_PATIENCE: Final = 20.0
_PUNISHED: Final = (signal.SIGSYS, signal.SIGXFSZ, signal.SIGKILL)
"""What is sent to whoever does what it may not."""

Said = Mapping[str, str | bool]


def main(task: Any) -> None:  # noqa: ANN401 # as it came from outside, which is us
    marks = Marks(**task["marks"])
    for name in task["names"]:
        print(json.dumps({"name": name, **tried(name, marks)}), flush=True)


def tried(name: str, marks: Marks) -> Said:
    read, write = os.pipe()
    child = _fork()
    if child == 0:
        os.close(read)
        with suppress(OSError):
            os.setpgid(0, 0)
        os.write(write, json.dumps(_attempted(name, marks)).encode())
        os._exit(0)
    os.close(write)
    try:
        return _heard(read, child)
    finally:
        os.close(read)


def _fork() -> int:
    """Those of the attempt before may still be counted for a moment."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return os.fork()
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def _heard(read: int, child: int) -> Said:
    ready, _, _ = select.select([read], [], [], _PATIENCE)
    heard = os.read(read, 65_536) if ready else b""
    for end in (os.killpg, os.kill):
        with suppress(OSError):
            end(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if heard:
        said: Said = json.loads(heard)
        return said
    return _unheard(-os.waitstatus_to_exitcode(status) if ready else 0)


def _unheard(number: int) -> Said:
    if number in _PUNISHED:
        return _held(f"ended by {signal.Signals(number).name}")
    return _reached(f"nobody knows: it said nothing, ended by signal {number}")


def _attempted(name: str, marks: Marks) -> Said:
    try:
        return _reached(ATTEMPTS[name](marks))
    except (Held, MemoryError) as held:
        return _held(str(held) or "no more memory")
    except OSError as error:
        known = errno.errorcode.get(error.errno or 0)
        return _held(known or type(error).__name__)
    except BaseException as error:  # noqa: BLE001 # an attempt that was not made must not count
        return _reached(f"nobody knows: {type(error).__name__}: {error}"[:200])


def _held(detail: str) -> Said:
    return {"reached": False, "detail": detail}


def _reached(detail: str) -> Said:
    return {"reached": True, "detail": detail}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
