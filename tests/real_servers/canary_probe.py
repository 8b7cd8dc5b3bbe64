"""Tries to reach what it was not given, in the place of a server. Only the standard library.

Told by its argument what to look for; prints what it has reached, as a list of names.
"""

import json
import os
import socket
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any


def reached(wanted: dict[str, Any]) -> list[str]:
    found = [f"file {path}" for path in wanted["files"] if holds(path, wanted["secret"])]
    found += [f"listed {path}" for path, name in wanted["folders"] if listed(path, name)]
    found += ["key"] if key(wanted["secret"]) else []
    found += [f"port at {host}" for host in wanted["hosts"] if port(host, wanted["port"])]
    found += [f"port by proxy at {host}" for host in wanted["hosts"] if asked(host, wanted["port"])]
    found += [f"socket {path}" for path in wanted["sockets"] if talks(path)]
    return found


def holds(path: str, secret: str) -> bool:
    """By its name, and by way of every process that is seen."""
    ways = [path, *(f"/proc/{number}/root{path}" for number in processes())]
    return any(secret in read(each) for each in ways)


def read(path: str) -> str:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(1_000_000).decode(errors="replace")
    except OSError:
        return ""


def listed(path: str, name: str) -> bool:
    """A folder on the way to what it was given may be there, and has nothing else in it."""
    with suppress(OSError):
        return any(each.name == name for each in Path(path).iterdir())
    return False


def processes() -> list[str]:
    return [each.name for each in Path("/proc").iterdir() if each.name.isdigit()]


def key(secret: str) -> bool:
    environments = (read(f"/proc/{number}/environ") for number in processes())
    return any(secret in text for text in (json.dumps(dict(os.environ)), *environments))


def port(host: str, number: int) -> bool:
    with suppress(OSError), socket.create_connection((host, number), timeout=3):
        return True
    return False


def asked(host: str, number: int) -> bool:
    """As most programs do, through whatever the environment says."""
    named = f"[{host}]" if ":" in host else host
    with suppress(OSError), urllib.request.urlopen(f"http://{named}:{number}/", timeout=5) as said:
        return b"canary" in said.read()
    return False


def talks(path: str) -> bool:
    with suppress(OSError), socket.socket(socket.AF_UNIX) as way:
        way.settimeout(3)
        way.connect(path)
        return True
    return False


if __name__ == "__main__":
    print(json.dumps(reached(json.loads(sys.argv[1]))))
